/**
 * @file Weights in a family's own names and shapes, there and back.
 */
import { type Linear, functional } from '@tessera/nn';
import { type Tensor, cat, equal, noGrad, randn, stack, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { familyOf } from '../src/config/families.js';
import { CausalLM, JsonConfig, makeCausalLM, readConfig, saveCausalLM } from '../src/index.js';
import type { MixtureOfExperts } from '../src/model/feed-forward.js';
import { toCheckpointWeights, toModelWeights } from '../src/weights/convert-weights.js';
import { GPT2, LLAMA } from './support/tiny-model.js';

const { silu, softmax } = functional;

const FAMILIES = {
  gpt2: GPT2,
  gpt_neox: { ...LLAMA, model_type: 'gpt_neox', num_key_value_heads: 4, rotary_pct: 0.5 },
  phi3: { ...LLAMA, model_type: 'phi3' },
  mixtral: { ...LLAMA, model_type: 'mixtral', num_local_experts: 3, num_experts_per_tok: 2 },
};

const shapes = (tensors: Readonly<Record<string, Tensor>>): Record<string, readonly number[]> =>
  Object.fromEntries(Object.entries(tensors).map(([name, { sizes }]) => [name, sizes]));

describe.each(Object.entries(FAMILIES))('weights of %s', (_name, config) => {
  const family = familyOf(JsonConfig.of(config));
  const read = readConfig(config);
  const state = new CausalLM(read).stateDict();

  it('come back as they were', () => {
    const saved = toCheckpointWeights(state, family, read);
    // Takes over what it is given, which may be the model's own memory.
    const own = Object.entries(saved).map(([name, value]) => [name, value.clone()]);
    const again = toModelWeights(Object.fromEntries(own), family, read);
    expect(shapes(again)).toEqual(shapes(state));
    for (const [name, value] of Object.entries(state))
      expect(equal(again[name]!, value)).toBe(true);
  });
});

describe('checkpoints', () => {
  const gpt2 = familyOf(JsonConfig.of(GPT2));
  const config = readConfig(GPT2);
  const saved = (): Record<string, Tensor> =>
    toCheckpointWeights(new CausalLM(config).stateDict(), gpt2, config);

  it('have the names and shapes of their family', () => {
    const first = Object.keys(saved()).filter((name) => name.includes('h.0.attn'));
    expect(first.sort()).toEqual([
      'transformer.h.0.attn.c_attn.bias',
      'transformer.h.0.attn.c_attn.weight',
      'transformer.h.0.attn.c_proj.bias',
      'transformer.h.0.attn.c_proj.weight',
    ]);
    expect(saved()['transformer.h.0.attn.c_attn.weight']!.sizes).toEqual([16, 48]);
  });

  it('may be of the bare model, with masks beside the weights', () => {
    const bare = Object.fromEntries(
      Object.entries(saved()).map(([name, value]) => [name.replace('transformer.', ''), value]),
    );
    bare['h.0.attn.bias'] = randn([1, 1, 64, 64]);
    expect(makeCausalLM(bare, GPT2).config.family).toBe('gpt2');
  });

  it('with missing weights are refused: model-invalid', () => {
    const { 'transformer.ln_f.weight': _missing, ...rest } = saved();
    expect(() => makeCausalLM(rest, GPT2)).toThrow(
      expect.objectContaining({
        code: 'model-invalid',
        message: expect.stringContaining('model.norm.weight'),
      }),
    );
  });
});

describe('the experts of a layer', () => {
  const json = { ...FAMILIES.mixtral, intermediate_size: 8 };
  const model = new CausalLM(readConfig(json)).eval();

  it('are a tensor each in published checkpoints, and may be in one', () => {
    const state = toCheckpointWeights(
      model.stateDict(),
      familyOf(JsonConfig.of(json)),
      model.config,
    );
    const ids = tensor([[1, 2, 3]], { dtype: 'int64' });
    const wanted = noGrad(() => model.call(ids));
    const own: Record<string, Tensor> = {};
    const single = /^(.*)\.block_sparse_moe\.experts\.(\d)\.w(\d)\.weight$/;
    for (const [name, value] of Object.entries(state))
      if (!single.test(name)) own[name] = value.clone();
    for (let layer = 0; layer < 2; layer++) {
      const of = (e: number, w: number): Tensor =>
        state[`model.layers.${layer}.block_sparse_moe.experts.${e}.w${w}.weight`]!;
      expect([of(2, 1).sizes, of(2, 2).sizes]).toEqual([
        [8, 16],
        [16, 8],
      ]);
      const experts = `model.layers.${layer}.mlp.experts`;
      own[`${experts}.gate_up_proj`] = stack([0, 1, 2].map((e) => cat([of(e, 1), of(e, 3)])));
      own[`${experts}.down_proj`] = stack([0, 1, 2].map((e) => of(e, 2)));
    }
    const again = noGrad(() => makeCausalLM(own, json).call(ids));
    expect(equal(again, wanted)).toBe(true);
  });

  it('give what each picked one gives, by its weight', () => {
    const mixture = model.model.layers.at(0).mlp as MixtureOfExperts;
    const x = randn([5, 16]);
    const scores = softmax(mixture.gate.call(x), -1);
    const [best, picked] = scores.topk(2);
    const rows = Array.from({ length: 5 }, (_, row) => {
      const token = x.narrow(0, row, 1);
      const parts = [0, 1].map((i) => {
        const e = picked.select(0, row).select(0, i).item() as number;
        const of = (map: Linear, dim: number): Tensor => map.weight.narrow(dim, 8 * e, 8);
        const { gate_proj: gate, up_proj: up, down_proj: down } = mixture.experts;
        const inner = silu(token.matmul(of(gate!, 0).t())).mul(token.matmul(of(up, 0).t()));
        return inner.matmul(of(down, 1).t()).mul(best.select(0, row).select(0, i));
      });
      return parts[0]!.add(parts[1]!).div(best.select(0, row).sum());
    });
    expect(mixture.call(x).sub(cat(rows)).abs().max().item()).toBeLessThan(1e-6);
  });
});

describe('a head beside the table of tied weights', () => {
  const tied = { ...LLAMA, tie_word_embeddings: true };
  const table = 'model.embed_tokens.weight';
  const saved = (): Record<string, Tensor> =>
    Object.fromEntries(
      Object.entries(new CausalLM(readConfig(tied)).stateDict()).map(([name, value]) => [
        name,
        value.detach().clone(),
      ]),
    );

  it('is left out where it is the table again', () => {
    const weights = saved();
    const model = makeCausalLM({ ...weights, 'lm_head.weight': weights[table]!.clone() }, tied);
    expect(model.lm_head).toBeNull();
    expect(model.config.tied).toBe(true);
  });

  it('counts where it is another, also after saving', async () => {
    const head = randn([37, 16]);
    const model = makeCausalLM({ ...saved(), 'lm_head.weight': head.clone() }, tied);
    expect(model.config.tied).toBe(false);
    expect(equal(model.lm_head!.weight, head)).toBe(true);
    let config = '';
    await saveCausalLM(
      model,
      (name, content) => void (name === 'config.json' && (config = content as string)),
      tied,
    );
    expect(JSON.parse(config)).toMatchObject({ tie_word_embeddings: false });
  });

  it('is the table where that is missing', () => {
    const { [table]: only, ...rest } = saved();
    const model = makeCausalLM({ ...rest, 'lm_head.weight': only!.clone() }, tied);
    expect(equal(model.model.embed_tokens.weight, only!)).toBe(true);
    expect(model.lm_head).toBeNull();
  });
});
