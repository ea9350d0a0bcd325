/**
 * @file Models from folders: whole, in shards, over HTTP, and broken.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { equal, noGrad, saveCheckpoint, tensor } from '@tessera/tensor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadCausalLM, makeCausalLM, saveCausalLM } from '../src/index.js';
import { GPT2, LLAMA, tinyModel } from './support/tiny-model.js';

const folder = mkdtempSync(join(tmpdir(), 'tessera-model-'));
const model = tinyModel();
const ids = tensor([[1, 2, 3]], { dtype: 'int64' });
let server: Server;

beforeAll(async () => {
  const write = (name: string, value: unknown): void =>
    writeFileSync(join(folder, name), JSON.stringify(value));
  write('config.json', LLAMA);
  write('generation_config.json', { eos_token_id: [2, 9] });
  await saveCheckpoint(join(folder, 'model.safetensors'), model.stateDict());
  server = createServer((request, response) => {
    const path = join(folder, basename(request.url!));
    try {
      response.end(readFileSync(path));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((started) => server.listen(0, '127.0.0.1', started));
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

function gives(loaded: typeof model): boolean {
  return noGrad(() => equal(loaded.call(ids), model.call(ids)));
}

describe('loadCausalLM', () => {
  it('takes end tokens from generation_config.json, where it names some', () => {
    const ends = (generation: unknown): readonly number[] =>
      makeCausalLM(tinyModel().stateDict(), LLAMA, generation).config.tokens.end;
    expect(ends({ eos_token_id: [5, 6] })).toEqual([5, 6]);
    expect(ends({ eos_token_id: 5 })).toEqual([5]);
    expect(ends({ bos_token_id: 1 })).toEqual([2]);
    expect(ends(null)).toEqual([2]);
  });

  it('loads a folder, with the end tokens for generation', async () => {
    const loaded = await loadCausalLM(folder);
    expect(gives(loaded)).toBe(true);
    expect(loaded.training).toBe(false);
    expect(loaded.config.tokens.end).toEqual([2, 9]);
  });

  it('loads from an address', async () => {
    const { port } = server.address() as AddressInfo;
    expect(gives(await loadCausalLM(new URL(`http://127.0.0.1:${port}/model`)))).toBe(true);
  });

  it('converts to another type while loading', async () => {
    const loaded = await loadCausalLM(folder, { dtype: 'bfloat16' });
    expect(new Set(loaded.parameters().map(({ dtype }) => dtype))).toEqual(new Set(['bfloat16']));
    const difference = noGrad(() =>
      loaded.call(ids).to('float32').sub(model.call(ids)).abs().max(),
    );
    const largest = noGrad(() => model.call(ids).abs().max());
    expect(difference.item() as number).toBeLessThan(0.05 * (largest.item() as number));
  });

  it('loads what was saved in shards, in the names of the family', async () => {
    const shards = join(folder, 'shards');
    const gpt2 = tinyModel(GPT2);
    await saveCausalLM(gpt2, shards, GPT2, { maxShardBytes: 8192 });
    const { weight_map: map } = JSON.parse(
      readFileSync(join(shards, 'model.safetensors.index.json'), 'utf8'),
    ) as { weight_map: Record<string, string> };
    expect(Object.keys(map)).toContain('transformer.h.1.attn.c_attn.weight');
    expect(new Set(Object.values(map)).size).toBeGreaterThan(2);
    const loaded = await loadCausalLM(shards);
    expect(noGrad(() => equal(loaded.call(ids), gpt2.call(ids)))).toBe(true);
  });

  it('says what is missing or broken', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'tessera-empty-'));
    await expect(loadCausalLM(empty)).rejects.toThrow(
      expect.objectContaining({
        code: 'model-invalid',
        message: expect.stringContaining('no config.json'),
      }),
    );
    writeFileSync(join(empty, 'config.json'), '{');
    await expect(loadCausalLM(empty)).rejects.toMatchObject({ code: 'model-invalid' });
    writeFileSync(join(empty, 'config.json'), JSON.stringify(LLAMA));
    await expect(loadCausalLM(empty)).rejects.toMatchObject({
      code: 'source-unreadable',
      message: expect.stringMatching(/model\.safetensors.*pytorch_model\.bin/s),
    });
    rmSync(empty, { recursive: true });
  });

  it('speaks of the folder where weights and configuration do not fit, and refuses options that nobody has', async () => {
    const weights = model.stateDict();
    const wide = { ...LLAMA, vocab_size: 38 };
    const error: unknown = await Promise.resolve()
      .then(() => makeCausalLM(weights, wide))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'model-invalid',
      message: expect.stringMatching(
        /size mismatch.*\n→ Take weights and config\.json from one folder\./s,
      ),
    });
    expect((error as Error).message).not.toContain('strict');
    expect(() => makeCausalLM({ x: null as never }, LLAMA)).toThrow("'x' is no tensor");
    await expect(loadCausalLM(folder, { torch_dtype: 'float16' } as object)).rejects.toThrow(
      "loadCausalLM has no option 'torch_dtype'",
    );
  });

  it('reads a config.json that begins with a mark of the byte order', async () => {
    const marked = mkdtempSync(join(tmpdir(), 'tessera-marked-'));
    await saveCheckpoint(join(marked, 'model.safetensors'), model.stateDict());
    writeFileSync(join(marked, 'config.json'), `\uFEFF${JSON.stringify(LLAMA)}`);
    expect(gives(await loadCausalLM(marked))).toBe(true);
    rmSync(marked, { recursive: true });
  });

  it('ends when the signal is aborted', async () => {
    const signal = AbortSignal.abort(new Error('left'));
    await expect(loadCausalLM(folder, { signal })).rejects.toThrow('left');
  });
});
