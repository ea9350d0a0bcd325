/**
 * @file Folders of adapters as the PEFT library writes them: what it says of how much they count is heeded, and kinds
 * that compute something else are refused.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Tensor,
  manualSeed,
  noGrad,
  ones,
  randn,
  saveCheckpoint,
  tensor,
} from '@tessera/tensor';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CausalLM, LoraLinear, addLora, loadLora, saveLora } from '../src/index.js';
import { tinyModel } from './support/tiny-model.js';

const PREFIX = 'base_model.model.model.layers';
const ids = tensor([[1, 2, 3, 4, 5, 6, 7, 8]], { dtype: 'int64' });
const logits = (model: CausalLM): Tensor => noGrad(() => model.call(ids));
const far = (a: Tensor, b: Tensor): number => a.sub(b).abs().max().item() as number;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'adapters-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Adapters of rank 4 for query and value of the first layer, of rank 2 for the query of the second. */
function weights(): Record<string, Tensor> {
  manualSeed(4);
  const pair = (name: string, rank: number, out: number): [string, Tensor][] => [
    [`${PREFIX}.${name}.lora_A.weight`, randn([rank, 16])],
    [`${PREFIX}.${name}.lora_B.weight`, randn([out, rank])],
  ];
  return Object.fromEntries([
    ...pair('0.self_attn.q_proj', 4, 16),
    ...pair('0.self_attn.v_proj', 4, 8),
    ...pair('1.self_attn.q_proj', 2, 16),
  ]);
}

async function write(config: Readonly<Record<string, unknown>>, more = {}): Promise<void> {
  await saveCheckpoint(join(folder, 'adapter_model.safetensors'), { ...weights(), ...more });
  const plain = { peft_type: 'LORA', r: 4, lora_alpha: 8, target_modules: 'all-linear' };
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify({ ...plain, ...config }));
}

/** How much each adapter counts, by the layer's name. */
async function scales(): Promise<Record<string, number>> {
  const model = tinyModel();
  await loadLora(model, folder);
  return Object.fromEntries(
    model
      .namedModules()
      .flatMap(([name, layer]) =>
        layer instanceof LoraLinear ? [[name.slice(13), layer.alpha / layer.rank] as const] : [],
      ),
  );
}

describe('loadLora', () => {
  it('takes layers and their ranks from the weights', async () => {
    await write({});
    expect(await scales()).toEqual({
      '0.self_attn.q_proj': 2,
      '0.self_attn.v_proj': 2,
      '1.self_attn.q_proj': 4,
    });
  });

  it('counts adapters by the root of the rank where that is written', async () => {
    await write({ use_rslora: true });
    const found = await scales();
    expect(found['0.self_attn.q_proj']).toBeCloseTo(8 / Math.sqrt(4), 12);
    expect(found['1.self_attn.q_proj']).toBeCloseTo(8 / Math.sqrt(2), 12);
  });

  it('heeds an alpha of its own, by the end of a name or the whole one', async () => {
    await write({ alpha_pattern: { v_proj: 12, '^model.layers.1.self_attn.q_proj': 6 } });
    expect(await scales()).toEqual({
      '0.self_attn.q_proj': 2,
      '0.self_attn.v_proj': 3,
      '1.self_attn.q_proj': 3,
    });
  });

  it('an alpha that is left out is 8, as in PEFT', async () => {
    await write({ lora_alpha: undefined });
    expect((await scales())['0.self_attn.v_proj']).toBe(2);
  });

  it.each([
    ['DoRA', { use_dora: true }, {}, "'use_dora'"],
    ['another method', { peft_type: 'IA3' }, {}, "the type 'IA3'"],
    ['whole layers', {}, { 'base_model.model.lm_head.weight': ones([37, 16]) }, 'lm_head.weight'],
    ['a bias', {}, { [`${PREFIX}.0.self_attn.q_proj.lora_B.bias`]: ones([16]) }, 'lora_B.bias'],
    ['an expression', { alpha_pattern: { '(a+)+$': 3 } }, {}, '(a+)+$'],
  ])('refuses %s: model-unsupported', async (_kind, config, more, what) => {
    await write(config, more);
    const model = tinyModel();
    await expect(loadLora(model, folder)).rejects.toThrow(what);
    await expect(loadLora(model, folder)).rejects.toMatchObject({ code: 'model-unsupported' });
    expect(addLora(model).length).toBeGreaterThan(0);
  });

  it('says that a model has adapters already', async () => {
    await write({});
    const model = tinyModel();
    addLora(model);
    await expect(loadLora(model, folder)).rejects.toThrow('loadLora: the model has adapters');
  });
});

it('saveLora writes ranks and alphas that differ, and the same model is read again', async () => {
  await write({ alpha_pattern: { v_proj: 12 } });
  const model = tinyModel();
  await loadLora(model, folder);
  await saveLora(model, folder);
  const config: unknown = JSON.parse(readFileSync(join(folder, 'adapter_config.json'), 'utf8'));
  expect(config).toMatchObject({
    r: 4,
    lora_alpha: 8,
    rank_pattern: { 'model.layers.1.self_attn.q_proj': 2 },
    alpha_pattern: { 'model.layers.0.self_attn.v_proj': 12 },
  });
  const again = tinyModel();
  await loadLora(again, folder);
  expect(far(logits(again), logits(model))).toBe(0);
});

it('addLora refuses options that it does not have: invalid-argument', () => {
  expect(() => addLora(tinyModel(), { r: 4 } as object)).toThrow("addLora has no option 'r'");
  expect(() => addLora(tinyModel(), { targets: 'q_proj' as never })).toThrow('no list of names');
  expect(() => addLora(tinyModel(), { alpha: NaN })).toThrow('alpha is NaN');
});
