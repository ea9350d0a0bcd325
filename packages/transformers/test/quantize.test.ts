/**
 * @file Weights of 8 and 4 bits: products, gradients, models, memory.
 */
import { compile, initWebGpu, observeCompilations } from '@tessera/compile';
import { Embedding, Linear, type Module, Sequential } from '@tessera/nn';
import {
  type Tensor,
  loadCheckpoint,
  manualSeed,
  noGrad,
  randn,
  serializeSafetensors,
  tensor,
} from '@tessera/tensor';
import { weightInt4packMm, weightInt8packMm } from '@tessera/tensor/internal';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type QuantizedEmbedding,
  QuantizedLinear,
  TextGenerator,
  addLora,
  makeCausalLM,
  makeQuantized,
  quantize,
  saveCausalLM,
} from '../src/index.js';
import { type QuantizeFormat, packWeight } from '../src/quantize/pack-weight.js';
import { LLAMA, tinyModel } from './support/tiny-model.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

beforeEach(() => void manualSeed(5));

const FORMATS: readonly QuantizeFormat[] = [
  { bits: 8 },
  { bits: 8, group: 16 },
  { bits: 8, group: 64 },
  { bits: 4, group: 32 },
  { bits: 4, group: 64 },
];

const far = (a: Tensor, b: Tensor): number => a.sub(b).abs().max().item() as number;

/** What the words stand for, written out one by one. */
function dequantized(words: Tensor, scales: Tensor, format: QuantizeFormat, K: number): Tensor {
  const [rows, packed] = [words.size(0), words.toArray() as number[][]];
  const steps = scales.toArray() as unknown;
  const value = (n: number, k: number): number => {
    if (format.bits === 8) {
      const byte = (packed[n]![k >> 2]! >>> (8 * (k % 4))) & 255;
      const scale =
        format.group === undefined
          ? (steps as number[])[n]!
          : (steps as number[][])[Math.floor(k / format.group)]![n]!;
      return (byte > 127 ? byte - 256 : byte) * scale;
    }
    const nibble = (packed[n]![k >> 3]! >>> (4 * (k % 8))) & 15;
    const [scale, zero] = (steps as number[][][])[Math.floor(k / format.group)]![n]!;
    return (nibble - 8) * scale! + zero!;
  };
  return tensor(
    Array.from({ length: rows }, (_, n) => Array.from({ length: K }, (_, k) => value(n, k))),
  );
}

const product = (x: Tensor, words: Tensor, scales: Tensor, format: QuantizeFormat): Tensor =>
  format.bits === 8
    ? weightInt8packMm(x, words, scales)
    : weightInt4packMm(x, words, format.group, scales);

describe.each(FORMATS)('%j', (format) => {
  it.each([1, 5, 33])(
    'multiplies %d rows by what the words stand for, eager and compiled',
    async (rows) => {
      const weight = randn([24, 128]);
      const { words, scales, error } = await packWeight(weight, format);
      const back = dequantized(words, scales, format, 128);
      expect(back.sub(weight).norm().div(weight.norm()).item()).toBeCloseTo(error, 5);
      expect(error).toBeLessThan(format.bits === 8 ? 0.02 : 0.12);
      const x = randn([rows, 128]);
      const wanted = x.matmul(back.t());
      expect(far(product(x, words, scales, format), wanted)).toBeLessThan(1e-4);
      const fast = compile((input: Tensor) => product(input, words, scales, format), {
        fullgraph: true,
      });
      expect(far(fast(x), wanted)).toBeLessThan(1e-4);
    },
  );

  it('gives x the gradient of the float product, eager and compiled', async () => {
    const { words, scales } = await packWeight(randn([24, 128]), format);
    const back = dequantized(words, scales, format, 128);
    const wanted = randn([5, 24]);
    const gradient = (fn: (x: Tensor) => Tensor): Tensor => {
      manualSeed(1);
      const x = randn([5, 128]).requiresGrad_(true);
      fn(x).mul(wanted).sum().backward();
      return x.grad!;
    };
    const own = (x: Tensor): Tensor => product(x, words, scales, format);
    const float = gradient((x) => x.matmul(back.t()));
    expect(far(gradient(own), float)).toBeLessThan(1e-4);
    expect(far(gradient(compile(own) as typeof own), float)).toBeLessThan(1e-4);
  });

  it.each([1, 33])(
    'takes words apart in the kernel of the product: no float copy of the weight (%d rows)',
    async (rows) => {
      const { words, scales } = await packWeight(randn([64, 256]), format);
      let largest = 0;
      const stop = observeCompilations((_graph, { plan }) => {
        for (const { numel } of plan.buffers) largest = Math.max(largest, numel);
      });
      compile((x: Tensor) => product(x, words, scales, format).relu())(randn([rows, 256]));
      stop();
      expect(largest).toBeGreaterThan(0);
      expect(largest).toBeLessThan(64 * 256);
    },
  );
});

describe.skipIf(!wantsGpu)('on WebGPU', () => {
  it.each(FORMATS)('%j: multiplies by what the words stand for', async (format) => {
    await initWebGpu();
    const weight = randn([24, 128]);
    const { words, scales } = await packWeight(weight, format);
    const back = dequantized(words, scales, format, 128);
    const [there, steps] = [words.to('wgpu'), scales.to('wgpu')];
    for (const rows of [1, 5, 33]) {
      const x = randn([rows, 128]);
      const y = product(x.to('wgpu'), there, steps, format);
      const values = tensor((await y.toArray()) as number[][]);
      expect(far(values, x.matmul(back.t()))).toBeLessThan(1e-4);
    }
  });
});

it('packs widths that fill no word', async () => {
  const format = { bits: 8 } as const;
  const weight = randn([3, 6]);
  const { words, scales } = await packWeight(weight, format);
  expect(words.sizes).toEqual([3, 2]);
  const x = randn([4, 6]);
  const wanted = x.matmul(dequantized(words, scales, format, 6).t());
  expect(far(weightInt8packMm(x, words, scales), wanted)).toBeLessThan(1e-5);
});

it('refuses weights that do not fit: shape-mismatch, dtype-mismatch', async () => {
  const { words, scales } = await packWeight(randn([3, 8]), { bits: 8 });
  expect(() => weightInt8packMm(randn([2, 12]), words, scales)).toThrow('do not fit');
  expect(() => weightInt8packMm(randn([2, 8]), words.to('int64'), scales)).toThrow('int32 words');
  expect(() => weightInt8packMm(randn([2, 8]), words, scales.narrow(0, 0, 2))).toThrow(
    'a scale for each row',
  );
  expect(() => weightInt4packMm(randn([2, 8]), words, 32, scales)).toThrow('for each group of 32');
});

describe('quantize', () => {
  const wide = { ...LLAMA, hidden_size: 64, intermediate_size: 96 };

  it.each(FORMATS)(
    '%j: a model keeps its answers nearly, in less memory, and says how nearly',
    async (format) => {
      const [model, float] = [tinyModel(wide), tinyModel(wide)];
      const { layers, skipped } = await quantize(model, format);
      expect(layers.length + skipped.length).toBe(2 * 7 + 1);
      // 96 columns are no whole groups of 64.
      expect(skipped.length).toBe(format.group === 64 ? 2 : 0);
      for (const { error, bytesBefore, bytesAfter } of layers) {
        expect(error).toBeGreaterThan(0);
        expect(error).toBeLessThan(format.bits === 8 ? 0.02 : 0.12);
        expect(bytesAfter).toBeLessThan(bytesBefore / (format.bits === 8 ? 3.1 : 4.5));
      }
      const ids = tensor([[1, 2, 3, 4, 5, 6, 7, 8]], { dtype: 'int64' });
      const [own, wanted] = noGrad(() => [model.call(ids), float.call(ids)]) as [Tensor, Tensor];
      const error = own.sub(wanted).norm().div(wanted.norm()).item();
      expect(error).toBeLessThan(format.bits === 8 ? 0.1 : 0.8);
      const generator = new TextGenerator(model, { maxLength: 32, chunk: 8 });
      const eager = new TextGenerator(model, { maxLength: 32, chunk: 8, compile: false });
      const options = { maxNewTokens: 8, endTokens: [] };
      expect(await generator.generate([1, 2, 3], options)).toEqual(
        await eager.generate([1, 2, 3], options),
      );
    },
  );

  it.each(FORMATS)(
    '%j: its state is saved, and loaded into a model made for it',
    async (format) => {
      const model = tinyModel(wide);
      await quantize(model, format);
      const bytes = serializeSafetensors(model.stateDict());
      const other = tinyModel(wide);
      makeQuantized(other, format);
      other.loadStateDict(await loadCheckpoint(bytes));
      const ids = tensor([[1, 2, 3]], { dtype: 'int64' });
      expect(far(other.call(ids), model.call(ids))).toBe(0);
    },
  );

  it.each([
    [{ bits: 8 }, 3.5],
    [{ bits: 8, group: 16 }, 3.1],
    [{ bits: 4, group: 32 }, 5],
  ] as const)(
    'tables as %j: rows and the last map of tied weights are those of the rounded table, which is kept once',
    async (format, smaller) => {
      const tied = { ...wide, tie_word_embeddings: true };
      const [model, float] = [tinyModel(tied), tinyModel(tied)];
      const options = { bits: 8, embeddings: format, filter: (name: string) => /embed/.test(name) };
      const { layers } = await quantize(model, options as never);
      expect(layers.map(({ name }) => name)).toEqual(['model.embed_tokens']);
      const [{ bytesBefore, bytesAfter }] = layers as [(typeof layers)[0]];
      expect(bytesAfter).toBeLessThan(bytesBefore / smaller);
      const table = model.model.embed_tokens as QuantizedEmbedding;
      const rounded = dequantized(table.weight, table.scales, format, 64);
      noGrad(() => float.model.embed_tokens.weight.copy_(rounded));
      expect(model.parameters().length + 1).toBe(float.parameters().length);
      const ids = tensor([[1, 2, 3, 36, 0, 6, 7, 8]], { dtype: 'int64' });
      const run = compile((x: Tensor) => model.call(x), { fullgraph: true });
      const wanted = noGrad(() => float.call(ids));
      for (const own of [noGrad(() => model.call(ids)), noGrad(() => run(ids))])
        expect(far(own, wanted)).toBeLessThan(1e-3);
      expect(() => model.call(tensor([[37]], { dtype: 'int64' }))).toThrow(
        expect.objectContaining({ code: 'index-out-of-range' }),
      );
    },
  );

  it.each([{ bits: 8 }, { bits: 4, group: 32 }] as const)(
    '%j: takes the experts of a mixture as well, saved and loaded, and beside adapters',
    async (format) => {
      const experts = { model_type: 'mixtral', num_local_experts: 4, num_experts_per_tok: 2 };
      const [model, float] = [
        tinyModel({ ...wide, ...experts }),
        tinyModel({ ...wide, ...experts }),
      ];
      const { layers } = await quantize(model, {
        ...format,
        filter: (name) => !name.endsWith('gate'),
      });
      expect(layers.map(({ name }) => name)).toContain('model.layers.1.mlp.experts.down_proj');
      const kept = model.parameters().reduce((sum, { numel }) => sum + numel, 0);
      const all = float.parameters().reduce((sum, { numel }) => sum + numel, 0);
      expect(kept).toBeLessThan(all / 10);
      const ids = tensor([[1, 2, 3, 4, 5, 6, 7, 8]], { dtype: 'int64' });
      const [own, wanted] = noGrad(() => [model.call(ids), float.call(ids)]) as [Tensor, Tensor];
      expect(own.sub(wanted).norm().div(wanted.norm()).item()).toBeLessThan(
        format.bits === 8 ? 0.1 : 0.8,
      );
      const run = compile((x: Tensor) => model.call(x), { fullgraph: true });
      expect(
        far(
          noGrad(() => run(ids)),
          own,
        ),
      ).toBeLessThan(1e-3);
      const files: Record<string, unknown> = {};
      await saveCausalLM(model, (name, content) => void (files[name] = content), {
        ...wide,
        ...experts,
      });
      const again = makeCausalLM(
        await loadCheckpoint(serializeSafetensors(model.stateDict())),
        JSON.parse(files['config.json'] as string),
      );
      expect(far(again.call(ids), own)).toBe(0);
      expect(addLora(model, { targets: ['down_proj'] })).toContain(
        'model.layers.0.mlp.experts.down_proj',
      );
      expect(far(model.call(ids), own)).toBe(0);
    },
  );

  it('keeps a weight that another layer shares', async () => {
    const table = new Embedding(9, 32);
    const map = new Linear(32, 9, { bias: false });
    map.weight = table.weight;
    const model: Module = new Sequential(table, map);
    await quantize(model, { bits: 8 });
    expect(table.call(tensor([1], { dtype: 'int64' })).sizes).toEqual([1, 32]);
  });

  it('quantizes what the filter names, also in a list', async () => {
    const model: Module = new Sequential(new Linear(32, 8), new Linear(8, 4));
    const { layers } = await quantize(model, { bits: 8, filter: (name) => name === '0' });
    expect(layers.map(({ name }) => name)).toEqual(['0']);
    expect(model.getSubmodule('0')).toBeInstanceOf(QuantizedLinear);
    expect(model.getSubmodule('1')).toBeInstanceOf(Linear);
    expect((model as Sequential).call(randn([2, 32])).sizes).toEqual([2, 4]);
  });

  it.each([
    { bits: 3 },
    { bits: 4, group: 16 },
    { bits: 4 },
    { bits: 8, group: 24 },
    { bits: 8, embeddings: { bits: 4 } },
  ])('refuses %j', async (format) => {
    await expect(quantize(tinyModel(), format as QuantizeFormat)).rejects.toThrow('is no format');
  });
});
