/**
 * @file What loading costs in memory: the size of the file and little more, float and quantized.
 */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuHeap, equal, noGrad, tensor } from '@tessera/tensor';
import { reclaimNow } from '@tessera/tensor/internal';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type CausalLM,
  QuantizedLinear,
  addLora,
  loadCausalLM,
  makeCausalLM,
  quantize,
  saveCausalLM,
} from '../src/index.js';
import { GPT2, LLAMA, tinyModel } from './support/tiny-model.js';

const folder = mkdtempSync(join(tmpdir(), 'tessera-memory-'));
afterAll(() => rmSync(folder, { recursive: true }));

const ids = tensor([[1, 2, 3, 30, 20, 10]], { dtype: 'int64' });
const same = (a: CausalLM, b: CausalLM): boolean => noGrad(() => equal(a.call(ids), b.call(ids)));

/** A few megabytes, in layers of which each is a small part. */
const SIZES = {
  llama: { ...LLAMA, hidden_size: 256, intermediate_size: 512, num_hidden_layers: 8 },
  gpt2: { ...GPT2, n_embd: 256, n_layer: 8 },
  gpt_neox: {
    ...LLAMA,
    model_type: 'gpt_neox',
    hidden_size: 256,
    intermediate_size: 512,
    num_hidden_layers: 8,
    num_key_value_heads: 4,
  },
  phi3: {
    ...LLAMA,
    model_type: 'phi3',
    hidden_size: 256,
    intermediate_size: 512,
    num_hidden_layers: 8,
  },
};

/** The model, the most bytes that were in use beside what was there before, and those of the file. */
async function counted(path: string): Promise<{ model: CausalLM; peak: number; disk: number }> {
  const heap = cpuHeap();
  // No sweep comes on the way then: what is not given back at once counts.
  reclaimNow();
  const before = heap.stats().liveBytes;
  heap.resetPeak();
  const model = await loadCausalLM(path);
  const peak = heap.stats().peakBytes - before;
  return { model, peak, disk: statSync(join(path, 'model.safetensors')).size };
}

describe('loading', () => {
  it.each(Object.entries(SIZES))(
    '%s takes the size of the file and one layer',
    async (name, config) => {
      const path = join(folder, name);
      const saved = tinyModel(config);
      await saveCausalLM(saved, path, config);
      const { model, peak, disk } = await counted(path);
      expect(disk).toBeGreaterThan(8e6);
      expect(peak - disk).toBeLessThan(disk / 4);
      expect(same(model, saved)).toBe(true);
    },
  );

  it('shards take no more', async () => {
    const path = join(folder, 'shards');
    await saveCausalLM(tinyModel(SIZES.llama), path, SIZES.llama, { maxShardBytes: 2e6 });
    cpuHeap().resetPeak();
    const before = cpuHeap().stats().liveBytes;
    const model = await loadCausalLM(path);
    const bytes = model.parameters().reduce((sum, { numel }) => sum + 4 * numel, 0);
    expect(cpuHeap().stats().peakBytes - before - bytes).toBeLessThan(bytes / 10);
  });
});

describe('quantized folders', () => {
  it.each([
    ['llama', 'int8', { bits: 8 }],
    ['gpt2', 'int4', { bits: 4, group: 64 }],
  ] as const)('of %s as %s go round, and never become floats', async (family, name, format) => {
    const config = SIZES[family];
    const path = join(folder, name);
    const saved = tinyModel(config);
    await quantize(saved, format);
    await saveCausalLM(saved, path, { ...config, quantization_config: { quant_method: 'old' } });
    const json = JSON.parse(readFileSync(join(path, 'config.json'), 'utf8')) as object;
    expect(json).toMatchObject({
      quantization_config: { quant_method: 'tessera', formats: [format] },
    });
    const { model, peak, disk } = await counted(path);
    expect(peak - disk).toBeLessThan(100_000);
    expect(same(model, saved)).toBe(true);
    const layers = (of: CausalLM): string[] =>
      of.namedModules().flatMap(([at, layer]) => (layer instanceof QuantizedLinear ? [at] : []));
    expect(layers(model)).toEqual(layers(saved));
    // The other way round: a plain model with the old field in its configuration.
    await saveCausalLM(tinyModel(config), path, json as Record<string, unknown>);
    expect(readFileSync(join(path, 'config.json'), 'utf8')).not.toContain('quantization_config');
  });

  it('hold layers of several formats, and those that were left out', async () => {
    const path = join(folder, 'mixed');
    const saved = tinyModel(SIZES.llama);
    await quantize(saved, { bits: 8, filter: (name) => name.includes('mlp') });
    await quantize(saved, { bits: 4, group: 32, filter: (name) => name.endsWith('q_proj') });
    await saveCausalLM(saved, path, SIZES.llama);
    const model = await loadCausalLM(path, { dtype: 'bfloat16' });
    expect(same(model, saved)).toBe(true);
  });

  it('of other methods are refused: model-unsupported', () => {
    const config = { ...LLAMA, quantization_config: { quant_method: 'gptq', bits: 4 } };
    expect(() => makeCausalLM({}, config)).toThrow(
      expect.objectContaining({
        code: 'model-unsupported',
        message: expect.stringContaining("quantized by 'gptq'"),
      }),
    );
  });
});

it('a model with adapters is not saved as a folder: invalid-argument', async () => {
  const model = tinyModel();
  addLora(model);
  await expect(saveCausalLM(model, folder, LLAMA)).rejects.toThrow('has adapters');
});
