/**
 * @file Adapters: what trains, what they compute, merging, files, and training over quantized weights.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, explain } from '@tessera/compile';
import { functional as F } from '@tessera/nn';
import { AdamW } from '@tessera/nn/optim';
import { type Tensor, loadCheckpoint, manualSeed, noGrad, randn, tensor } from '@tessera/tensor';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type CausalLM,
  addLora,
  loadLora,
  loraState,
  mergeLora,
  quantize,
  removeLora,
  saveLora,
  unmergeLora,
} from '../src/index.js';
import { LLAMA, tinyModel } from './support/tiny-model.js';

const far = (a: Tensor, b: Tensor): number => a.sub(b).abs().max().item() as number;
const ids = tensor([[1, 2, 3, 4, 5, 6, 7, 8]], { dtype: 'int64' });
const logits = (model: CausalLM): Tensor => noGrad(() => model.call(ids));

/** A model with adapters that do something. */
function adapted(): CausalLM {
  const model = tinyModel();
  addLora(model, { rank: 4, alpha: 8 });
  manualSeed(2);
  noGrad(() => {
    for (const [name, weight] of Object.entries(loraState(model)))
      if (name.includes('lora_B')) weight.copy_(randn(weight.sizes).mul(0.3));
  });
  return model;
}

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lora-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('changes nothing at first, and freezes all but the adapters', () => {
  const model = tinyModel();
  const before = logits(model);
  const names = addLora(model, { rank: 2, targets: ['q_proj', 'mlp.down_proj'] });
  expect(names).toEqual(
    [0, 1].flatMap((i) => [
      `model.layers.${i}.self_attn.q_proj`,
      `model.layers.${i}.mlp.down_proj`,
    ]),
  );
  expect(far(logits(model), before)).toBe(0);
  const trained = model.namedParameters().filter(([, { requiresGrad }]) => requiresGrad);
  expect(trained.map(([name]) => name)).toEqual(
    names.flatMap((name) => [`${name}.lora_A.weight`, `${name}.lora_B.weight`]),
  );
});

it.each([
  ['float weights', null],
  ['weights of 8 bits', { bits: 8 } as const],
  ['weights of 4 bits', { bits: 4, group: 32 } as const],
])('trains over %s, the whole step one graph; the base stays', async (_kind, format) => {
  const model = tinyModel({ ...LLAMA, hidden_size: 32, intermediate_size: 64 });
  if (format !== null) await quantize(model, format);
  addLora(model, { rank: 4, targets: ['q_proj', 'v_proj', 'o_proj', 'down_proj'] });
  const frozen = (): [string, Tensor][] =>
    Object.entries(model.stateDict()).filter(([name]) => !name.includes('lora_'));
  const before = frozen().map(([, value]) => value.clone());
  const optimizer = new AdamW(
    model.parameters().filter(({ requiresGrad }) => requiresGrad),
    { lr: 2e-2 },
  );
  const targets = tensor([[2, 3, 4, 5, 6, 7, 8, 9]], { dtype: 'int64' });
  const step = compile(
    () => {
      optimizer.zeroGrad();
      const out = model.call(ids);
      const loss = F.crossEntropy(out.reshape([-1, 37]), targets.reshape([-1]));
      loss.backward();
      optimizer.step();
      return loss.detach();
    },
    { fullgraph: true },
  );
  const losses = Array.from({ length: 15 }, () => step().item() as number);
  expect(losses.at(-1)!).toBeLessThan(losses[0]! / 4);
  expect(explain(step)().graphCount).toBeLessThanOrEqual(2);
  frozen().forEach(([name, value], i) => expect(far(value, before[i]!), name).toBe(0));
});

describe('merging', () => {
  it('computes the same without the adapters, and goes back', () => {
    const model = adapted();
    const [plain, with_] = [logits(tinyModel()), logits(model)];
    expect(far(with_, plain)).toBeGreaterThan(0.01);
    mergeLora(model);
    mergeLora(model);
    expect(far(logits(model), with_)).toBeLessThan(1e-4);
    unmergeLora(model);
    expect(far(logits(model), with_)).toBeLessThan(1e-4);
    mergeLora(model);
    removeLora(model);
    expect(far(logits(model), with_)).toBeLessThan(1e-4);
    // The names of the plain model, with the change in its weights.
    expect(Object.keys(model.stateDict())).toEqual(Object.keys(tinyModel().stateDict()));
  });

  it('leaves nothing behind if they are taken out unmerged', () => {
    const model = adapted();
    removeLora(model);
    expect(far(logits(model), logits(tinyModel()))).toBe(0);
  });

  it('is refused over quantized weights: invalid-argument', async () => {
    const model = tinyModel();
    await quantize(model, { bits: 8 });
    addLora(model);
    expect(() => mergeLora(model)).toThrow('A quantized weight cannot take in a change');
  });
});

describe('files', () => {
  it("have PEFT's names, and make the same model of another", async () => {
    const model = adapted();
    await saveLora(model, folder);
    const saved = await loadCheckpoint(join(folder, 'adapter_model.safetensors'));
    expect(Object.keys(saved)).toContain(
      'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight',
    );
    const config: unknown = JSON.parse(readFileSync(join(folder, 'adapter_config.json'), 'utf8'));
    expect(config).toMatchObject({
      peft_type: 'LORA',
      r: 4,
      lora_alpha: 8,
      target_modules: ['q_proj', 'v_proj'],
    });
    const other = tinyModel();
    await loadLora(other, folder);
    expect(far(logits(other), logits(model))).toBe(0);
  });

  it('name whole layers where others of that name have no adapter', async () => {
    const model = tinyModel();
    addLora(model, { rank: 4, targets: ['layers.1.self_attn.q_proj', 'v_proj'] });
    await saveLora(model, folder);
    const config: unknown = JSON.parse(readFileSync(join(folder, 'adapter_config.json'), 'utf8'));
    expect(config).toMatchObject({
      target_modules: ['v_proj', 'model.layers.1.self_attn.q_proj'],
    });
    const other = tinyModel();
    await loadLora(other, folder);
    expect(far(logits(other), logits(model))).toBe(0);
  });

  it('of another model, or none, are refused: model-invalid', async () => {
    await expect(loadLora(tinyModel(), folder)).rejects.toThrow('no adapter_config.json');
    await saveLora(adapted(), folder);
    const wide = tinyModel({ ...LLAMA, hidden_size: 32 });
    await expect(loadLora(wide, folder)).rejects.toThrow('do not fit the model');
    writeFileSync(join(folder, 'adapter_config.json'), '{"lora_alpha": "all"}');
    await expect(loadLora(tinyModel(), folder)).rejects.toThrow(
      "adapter_config.json: 'lora_alpha' is",
    );
  });
});

it('refuses what it cannot do: invalid-argument', async () => {
  expect(() => addLora(tinyModel(), { rank: 0 })).toThrow('rank is 0');
  expect(() => addLora(tinyModel(), { targets: ['nothing'] })).toThrow('There are: q_proj');
  expect(() => addLora(adapted())).toThrow('has adapters already');
  await expect(saveLora(tinyModel(), folder)).rejects.toThrow('has no adapters');
});
