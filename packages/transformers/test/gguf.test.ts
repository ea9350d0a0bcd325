/**
 * @file Models from GGUF files: every architecture and element type, and broken files.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gguf } from '@huggingface/gguf';
import { Linear } from '@tessera/nn';
import { cpuHeap, loadCheckpoint, noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GGUF_TYPES } from '../src/gguf/block-formats.js';
import {
  type CausalLM,
  QuantizedLinear,
  TextGenerator,
  loadCausalLM,
  makeCausalLM,
  readGgufMetadata,
  saveCausalLM,
} from '../src/index.js';
import { ggufOf } from './support/gguf-models.js';
import { type Value, type Written, f32, writeGguf } from './support/gguf-writer.js';
import { GPT2, LLAMA, tinyModel } from './support/tiny-model.js';

const ids = tensor([[1, 2, 3, 30, 20, 10]], { dtype: 'int64' });

function difference(a: CausalLM, b: CausalLM): number {
  return noGrad(() => a.call(ids).to('float32').sub(b.call(ids)).abs().max()).item() as number;
}

const biased = (config: Readonly<Record<string, unknown>>): CausalLM => {
  const model = tinyModel(config);
  for (const parameter of model.parameters())
    if (parameter.ndim === 1)
      parameter
        .detach()
        .copy_(tensor(Array.from({ length: parameter.numel }, (_, i) => 1 + i / 50)));
  return model;
};

describe('GGUF files', () => {
  it.each([
    ['llama', LLAMA, {}],
    [
      'llama',
      { ...LLAMA, model_type: 'mixtral', num_local_experts: 3, num_experts_per_tok: 2 },
      {},
    ],
    ['qwen2', { ...LLAMA, model_type: 'qwen2', tie_word_embeddings: true }, {}],
    ['qwen3', { ...LLAMA, model_type: 'qwen3', head_dim: 8 }, {}],
    [
      'gemma2',
      {
        ...LLAMA,
        model_type: 'gemma2',
        head_dim: 4,
        query_pre_attn_scalar: 4,
        sliding_window: 3,
        attn_logit_softcapping: 50,
        final_logit_softcapping: 30,
      },
      { 'gemma2.attention.sliding_window': 3 },
    ],
    ['phi3', { ...LLAMA, model_type: 'phi3' }, {}],
    ['olmo2', { ...LLAMA, model_type: 'olmo2' }, {}],
    ['gpt2', GPT2, {}],
    ['gptneox', { ...LLAMA, model_type: 'gpt_neox', num_key_value_heads: 4, rotary_pct: 0.5 }, {}],
  ] as const)(
    '%s gives the logits of the model it was written from (%j)',
    async (architecture, config, more) => {
      const model = biased(config);
      const loaded = await loadCausalLM(ggufOf(model, architecture, more));
      expect(loaded.config).toEqual({
        ...model.config,
        tokens: loaded.config.tokens,
        norm: { ...model.config.norm, eps: Math.fround(model.config.norm.eps) },
      });
      expect(loaded.config.tokens.end).toEqual([2]);
      expect(difference(loaded, model)).toBeLessThan(1e-4);
    },
  );

  describe('of several files', () => {
    const model = biased(LLAMA);
    const parts = 3;

    /** The model's files, with changes to what each says; gives the first one's path. */
    function written(
      change: (metadata: Record<string, Value>, i: number) => void = () => {},
    ): string {
      const folder = mkdtempSync(join(tmpdir(), 'tessera-gguf-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      let all: Record<string, Written> = {};
      ggufOf(model, 'llama', {}, (tensors) => (all = { ...tensors }));
      const names = Object.keys(all);
      const path = (i: number): string => join(folder, `m-0000${i + 1}-of-0000${parts}.gguf`);
      for (let i = 0; i < parts; i++) {
        const own = names.filter((_, n) => n % parts === i);
        const split: Record<string, Value> = {
          'split.no': i,
          'split.count': parts,
          'split.tensors.count': names.length,
        };
        change(split, i);
        const keep = (tensors: Record<string, Written>): void => {
          for (const name of names) if (!own.includes(name)) delete tensors[name];
        };
        const bytes =
          i === 0
            ? ggufOf(model, 'llama', split, keep)
            : writeGguf(split, Object.fromEntries(own.map((name) => [name, all[name]!])));
        writeFileSync(path(i), bytes);
      }
      return path(0);
    }

    it('are one model by the path or the address of the first', async () => {
      const first = written();
      for (const source of [first, pathToFileURL(first)]) {
        const loaded = await loadCausalLM(source);
        expect(difference(loaded, model)).toBeLessThan(1e-4);
      }
    });

    it('are refused where the others cannot be known, or are of another model', async () => {
      const first = written();
      await expect(loadCausalLM(readFileSync(first))).rejects.toMatchObject({
        code: 'model-unsupported',
      });
      const second = first.replace('-00001-', '-00002-');
      await expect(loadCausalLM(second)).rejects.toMatchObject({ code: 'model-unsupported' });
      const changes: ((metadata: Record<string, Value>, i: number) => void)[] = [
        (metadata, i) => i === 1 && (metadata['split.no'] = 2),
        (metadata, i) => i === 2 && (metadata['split.count'] = 4),
        (metadata) => (metadata['split.tensors.count'] = 5),
      ];
      for (const change of changes)
        await expect(loadCausalLM(written(change))).rejects.toMatchObject({ code: 'gguf-invalid' });
    });
  });

  it("recognises Llama 3's stretching by its factors, and refuses others", async () => {
    const rope_scaling = {
      rope_type: 'llama3',
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 8192,
    };
    const model = tinyModel({ ...LLAMA, head_dim: 16, rope_theta: 500000, rope_scaling });
    const factors = Array.from({ length: 8 }, (_, i) => {
      const wavelength = 2 * Math.PI * 500000 ** (i / 8);
      if (wavelength < 8192 / 4) return 1;
      if (wavelength > 8192) return 8;
      const smooth = (8192 / wavelength - 1) / 3;
      return 1 / ((1 - smooth) / 8 + smooth);
    });
    const write = (values: number[]) =>
      ggufOf(model, 'llama', {}, (tensors) => (tensors['rope_freqs.weight'] = f32([8], values)));
    const loaded = await loadCausalLM(write(factors));
    expect(loaded.config.positions).toEqual(model.config.positions);
    const others = loadCausalLM(write(factors.map((factor) => factor + 1)));
    await expect(others).rejects.toMatchObject({ code: 'model-unsupported' });
  });

  it('reads YaRN from its values, and two lists of factors from tensors', async () => {
    const yarn = tinyModel({
      ...LLAMA,
      rope_scaling: { type: 'yarn', factor: 4, original_max_position_embeddings: 16 },
    });
    const yarnFile = ggufOf(yarn, 'llama', {
      'llama.rope.scaling.type': 'yarn',
      'llama.rope.scaling.factor': 4,
      'llama.rope.scaling.original_context_length': 16,
    });
    const loaded = await loadCausalLM(yarnFile);
    expect(loaded.config.positions).toEqual(yarn.config.positions);
    expect(difference(loaded, yarn)).toBeLessThan(1e-4);
    const factors = { short_factor: [1, 1.5], long_factor: [2, 4] };
    const phi = tinyModel({
      ...LLAMA,
      model_type: 'phi3',
      original_max_position_embeddings: 16,
      rope_scaling: { type: 'longrope', ...factors },
    });
    const amplitude = Math.sqrt(1 + Math.log(4) / Math.log(16));
    const phiFile = (lists: Record<string, number[]>): Uint8Array =>
      ggufOf(
        phi,
        'phi3',
        {
          'phi3.rope.scaling.attn_factor': { f32: amplitude },
          'phi3.rope.scaling.original_context_length': 16,
        },
        (tensors) => {
          for (const [name, values] of Object.entries(lists))
            tensors[`rope_factors_${name}.weight`] = f32([values.length], values);
        },
      );
    const both = { short: factors.short_factor, long: factors.long_factor };
    const long = await loadCausalLM(phiFile(both));
    expect(difference(long, phi)).toBeLessThan(1e-4);
    expect(long.config.positions).toMatchObject({ scaling: { long: [2, 4] } });
    await expect(loadCausalLM(phiFile({ short: [1, 1.5] }))).rejects.toMatchObject({
      code: 'model-invalid',
    });
  });

  it.each(
    Object.entries(
      JSON.parse(
        readFileSync(new URL('fixtures/ggml-blocks.json', import.meta.url), 'utf8'),
      ) as Record<string, { code: number; bytes: string; values: string }>,
    ),
  )("%s: numbers are those of ggml's own reader", (name, { code, bytes, values }) => {
    const type = GGUF_TYPES.get(code)!;
    expect(type.name).toBe(name);
    const expected = new Float32Array(Uint8Array.from(Buffer.from(values, 'base64')).buffer);
    const out = new Float32Array(expected.length);
    type.format.decode(Uint8Array.from(Buffer.from(bytes, 'base64')), out);
    expect(out).toEqual(expected);
  });
});

/** A file of one matrix in Q8_0 with each row of one scale, the rest in F32. */
function rounded(model: CausalLM): { file: Uint8Array<ArrayBuffer>; rounded: CausalLM } {
  const same = tinyModel(WIDE);
  const weight = same.model.layers.at(0)!.mlp.stateDict()['up_proj.weight']!;
  const file = ggufOf(model, 'llama', {}, (tensors) => {
    const before = tensors['blk.0.ffn_up.weight']!;
    const values = new Float32Array(before.bytes.buffer);
    const blocks = values.length / 32;
    const bytes = new Uint8Array(34 * blocks);
    const back = values.map((value, i) => {
      const word = Math.max(-127, Math.min(127, Math.round(value * 64)));
      // 1/64 as a half.
      bytes.set([0x00, 0x24], 34 * Math.floor(i / 32));
      bytes[34 * Math.floor(i / 32) + 2 + (i % 32)] = word;
      return word / 64;
    });
    noGrad(() => weight.copy_(tensor([...back]).reshape(weight.sizes)));
    tensors['blk.0.ffn_up.weight'] = { code: 8, sizes: before.sizes, bytes };
  });
  return { file, rounded: same };
}

const WIDE = { ...LLAMA, hidden_size: 32 };

describe('rounded matrices that stay packed', () => {
  /** Numbers of types in files, and where a block has scales: halves. */
  const types = {
    Q4_0: [2, [0]],
    Q4_1: [3, [0, 2]],
    Q5_0: [6, [0]],
    Q8_0: [8, [0]],
    Q2_K: [10, [80, 82]],
    Q3_K: [11, [108]],
    Q4_K: [12, [0, 2]],
    Q5_K: [13, [0, 2]],
    Q6_K: [14, [208]],
    IQ4_NL: [20, [0]],
    IQ4_XS: [23, [0]],
  } as const;

  /** A file whose matrices are of a type, of random bits with scales that are fit for weights. */
  function written(
    config: Readonly<Record<string, unknown>>,
    architecture: string,
    name: keyof typeof types,
  ) {
    const model = biased({ ...config, hidden_size: 256, intermediate_size: 512, n_embd: 256 });
    const [code, scaleAt] = types[name];
    const { format } = GGUF_TYPES.get(code)!;
    let state = 99;
    const random = (): number => (state = (state * 1103515245 + 12345) % 2 ** 31) >> 16;
    // About 2^-8; of super-blocks, whose scales have factors, 2^-14.
    const upper = format.elements === 256 ? 0x04 : 0x1c;
    return ggufOf(model, architecture, {}, (tensors) => {
      for (const [key, tensor] of Object.entries(tensors)) {
        if (tensor.sizes.length !== 2 || key === 'position_embd.weight') continue;
        const count = tensor.sizes[0]! * tensor.sizes[1]!;
        const bytes = Uint8Array.from({ length: (count / format.elements) * format.bytes }, random);
        for (let block = 0; block < bytes.length; block += format.bytes)
          for (const at of scaleAt) bytes.set([random() & 255, upper], block + at);
        tensors[key] = { code, sizes: tensor.sizes, bytes };
      }
    });
  }

  it.each([
    ['Q4_0', 'llama', LLAMA, 6],
    ['Q8_0', 'qwen2', { ...LLAMA, model_type: 'qwen2', tie_word_embeddings: true }, 9],
    ['Q4_K', 'phi3', { ...LLAMA, model_type: 'phi3' }, 6],
    ['Q4_K', 'gpt2', GPT2, 6],
    ['Q6_K', 'llama', LLAMA, 10],
    ['Q4_1', 'llama', LLAMA, 6],
    ['Q5_0', 'llama', LLAMA, 9],
    ['Q3_K', 'llama', LLAMA, 10],
    ['IQ4_NL', 'llama', LLAMA, 9],
    ['IQ4_XS', 'llama', LLAMA, 9],
  ] as const)(
    '%s (%s): logits are those of the weights as floats, %d bits a weight',
    async (name, architecture, config, bits) => {
      const file = written(config, architecture, name);
      const heap = cpuHeap();
      const before = heap.stats().liveBytes;
      heap.resetPeak();
      const packed = await loadCausalLM(file, { packed: true });
      const taken = heap.stats().peakBytes - before;
      const float = await loadCausalLM(file);
      const matrices = float.parameters().filter(({ ndim }) => ndim === 2);
      const weights = matrices.reduce((sum, { numel }) => sum + numel, 0);
      const rest =
        [...float.parameters()].reduce((sum, { numel }) => sum + 4 * numel, 0) - 4 * weights;
      // Rows of one layer are sorted or cut apart while it loads; positions of GPT-2 stay floats.
      expect(taken).toBeLessThan((weights * bits) / 8 + rest + 4 * 64 * 256 + 0.25 * weights);
      expect(packed.modules().filter((module) => module instanceof QuantizedLinear).length).toBe(
        float.modules().filter((module) => module instanceof Linear).length,
      );
      const wanted = noGrad(() => float.call(ids));
      const error = noGrad(() => packed.call(ids))
        .sub(wanted)
        .abs()
        .max()
        .item() as number;
      expect(error / (wanted.abs().max().item() as number)).toBeLessThan(1e-4);
      const options = { maxNewTokens: 6, endTokens: [] };
      expect(
        await new TextGenerator(packed, { maxLength: 32, chunk: 8 }).generate([1, 2, 3], options),
      ).toEqual(
        await new TextGenerator(float, { maxLength: 32, chunk: 8 }).generate([1, 2, 3], options),
      );
    },
  );

  it.each(['Q2_K', 'Q5_K'] as const)('of %s are floats: something is taken off', async (name) => {
    const file = written(LLAMA, 'llama', name);
    const packed = await loadCausalLM(file, { packed: true });
    expect(packed.modules().some((module) => module instanceof QuantizedLinear)).toBe(false);
    expect(difference(packed, await loadCausalLM(file))).toBe(0);
  });

  it('give tokens and a cache of the asked type, and are saved as a quantized folder', async () => {
    const packed = await loadCausalLM(written(LLAMA, 'llama', 'Q4_0'), {
      packed: true,
      dtype: 'bfloat16',
    });
    expect([packed.dtype, packed.model.norm.weight!.dtype]).toEqual(['bfloat16', 'bfloat16']);
    expect(noGrad(() => packed.call(ids)).dtype).toBe('bfloat16');
    const files = new Map<string, Uint8Array | string>();
    const config = { ...LLAMA, hidden_size: 256, intermediate_size: 512 };
    await saveCausalLM(packed, (name, content) => void files.set(name, content), config);
    const json = JSON.parse(files.get('config.json') as string) as Record<string, unknown>;
    const back = makeCausalLM(
      await loadCheckpoint(files.get('model.safetensors') as Uint8Array),
      json,
    );
    expect(back.dtype).toBe('bfloat16');
    expect(difference(back, packed)).toBe(0);
  });
});

describe('loading a GGUF file', () => {
  const model = tinyModel(WIDE);
  const { file, rounded: expected } = rounded(model);

  it('from a path, an address, a Blob and bytes, with words as floats of the asked type', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tessera-gguf-'));
    const path = join(folder, 'model.gguf');
    writeFileSync(path, file);
    const server = createServer((_request, response) => response.end(file));
    await new Promise<void>((started) => server.listen(0, '127.0.0.1', started));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model.gguf?download=1`;
    const counts: number[] = [];
    for (const source of [path, url, new URL(url), new Blob([file]), file, file.buffer]) {
      const onProgress = ({ loaded }: { loaded: number }): number => counts.push(loaded);
      expect(difference(await loadCausalLM(source, { onProgress }), expected)).toBeLessThan(1e-4);
      expect(Math.max(...counts.splice(0))).toBeGreaterThan(file.length - 64);
    }
    const half = await loadCausalLM(path, { dtype: 'bfloat16' });
    expect(new Set(half.parameters().map(({ dtype }) => dtype))).toEqual(new Set(['bfloat16']));
    expect(difference(half, expected)).toBeLessThan(2);
    expect((await readGgufMetadata(path)).get('general.architecture')).toBe('llama');
    const { metadata } = await gguf(path, { allowLocalFile: true });
    for (const [name, value] of await readGgufMetadata(file))
      expect(value).toEqual(metadata[name as never]);
    server.close();
    rmSync(folder, { recursive: true });
  });

  it('takes the memory of the weights and little more', async () => {
    const big = tinyModel({
      ...LLAMA,
      hidden_size: 128,
      intermediate_size: 256,
      num_hidden_layers: 6,
    });
    const bytes = ggufOf(big, 'llama');
    const heap = cpuHeap();
    const before = heap.stats().liveBytes;
    heap.resetPeak();
    const loaded = await loadCausalLM(bytes);
    const weights = loaded.parameters().reduce((sum, { numel }) => sum + 4 * numel, 0);
    expect(heap.stats().peakBytes - before - weights).toBeLessThan(weights / 4);
  });

  it('ends when the signal is aborted', async () => {
    const signal = AbortSignal.abort(new Error('left'));
    await expect(loadCausalLM(file, { signal })).rejects.toThrow('left');
  });

  const one = { token_embd: f32([2, 4], [1, 2, 3, 4, 5, 6, 7, 8]) };
  const q8 = { code: 8, sizes: [2, 16], bytes: new Uint8Array(34) };
  it.each([
    ['bytes of something else', new TextEncoder().encode('no model'), 'begin with "GGUF"'],
    ['nothing', new Uint8Array(0), 'begin with "GGUF"'],
    ['an early end', file.slice(0, file.length - 4096), "behind the file's end"],
    ['an early end in the header', file.slice(0, 200), 'too short|ends after'],
    [
      'two tensors in one place',
      writeGguf({}, { ...one, other: { ...one.token_embd, at: 0 } }),
      'lies over',
    ],
    ['a crooked offset', writeGguf({}, { a: { ...one.token_embd, at: 7 } }), 'no multiple of 32'],
    ['sizes that blocks do not have', writeGguf({}, { a: q8 }), 'which Q8_0 cannot have'],
    ['five dimensions', writeGguf({}, { a: f32([1, 1, 1, 1, 1], [0]) }), '5 dimensions'],
    ['sizes of zero', writeGguf({}, { a: f32([0], []) }), 'cannot have'],
    [
      'sizes beyond the file',
      writeGguf({}, { a: { ...one.token_embd, sizes: [2 ** 40, 2 ** 40] } }),
      "behind the file's end",
    ],
    ['an alignment of three', writeGguf({ 'general.alignment': 3 }, one), 'no power of two'],
    ['no architecture', writeGguf({}, one), 'general.architecture'],
    [
      'a text for a number',
      writeGguf({ 'general.architecture': 'llama', 'llama.block_count': 'x' }, one),
      'is no number',
    ],
  ])('refuses %s: gguf-invalid', async (_what, bytes, message) => {
    await expect(loadCausalLM(bytes)).rejects.toThrow(
      expect.objectContaining({ code: 'gguf-invalid', message: expect.stringMatching(message) }),
    );
  });

  it.each([
    [
      'an architecture',
      writeGguf({ 'general.architecture': 'bert' }, one),
      "no architecture 'bert'",
    ],
    [
      'a type of elements',
      writeGguf({}, { a: { ...one.token_embd, code: 16 } }),
      "'a' is of ggml's type IQ2_XXS (16)",
    ],
    [
      'a type of elements without a name',
      writeGguf({}, { a: { ...one.token_embd, code: 99 } }),
      "'a' is of ggml's type 99",
    ],
  ])('says of %s that it is not known: model-unsupported', async (_what, bytes, message) => {
    await expect(loadCausalLM(bytes)).rejects.toThrow(
      expect.objectContaining({
        code: 'model-unsupported',
        message: expect.stringContaining(message),
      }),
    );
  });

  it('refuses damaged headers with an error of its own, whatever byte is wrong', async () => {
    const small = writeGguf(
      {
        'general.architecture': 'llama',
        'llama.block_count': 1,
        'tokenizer.ggml.tokens': ['a', 'b'],
      },
      one,
    );
    const before = cpuHeap().stats().liveBytes;
    let state = 12345;
    const random = (below: number): number =>
      (state = (state * 1103515245 + 12345) % 2 ** 31) % below;
    for (let round = 0; round < 400; round++) {
      const bytes = small.slice();
      for (let i = 0; i <= random(3); i++)
        bytes[random(bytes.length)] = [0, 1, 127, 128, 255][random(5)]!;
      const failed = await loadCausalLM(bytes).then(
        () => null,
        (error: unknown) => error,
      );
      expect(failed).toMatchObject({ code: expect.stringMatching(/^(gguf-invalid|model-)/) });
    }
    expect(cpuHeap().stats().liveBytes - before).toBeLessThan(1e6);
  });
});
