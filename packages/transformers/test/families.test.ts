/**
 * @file What a `config.json` means, and what is said of one that means nothing.
 */
import { describe, expect, it } from 'vitest';
import {
  type DecoderConfig,
  JsonConfig,
  llamaLike,
  readConfig,
  registerFamily,
} from '../src/index.js';
import { GPT2, LLAMA } from './support/tiny-model.js';

describe('readConfig', () => {
  it('reads sizes, and takes heads of keys and the width of heads from what there is', () => {
    const { attention, feedForward, positions, tied, tokens } = readConfig(LLAMA);
    expect(attention).toMatchObject({
      heads: 4,
      kvHeads: 2,
      headDim: 4,
      scale: 0.5,
      softCap: null,
    });
    expect(feedForward).toMatchObject({ width: 24, activation: 'silu', gated: true });
    expect(positions).toMatchObject({ kind: 'rotary', dims: 4, theta: 10_000 });
    expect([tied, tokens]).toEqual([false, { end: [2], pad: 0 }]);
  });

  it('finds rotary scaling in new files and in older ones', () => {
    const rope = {
      rope_type: 'llama3',
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 32,
    };
    const newer = readConfig({ ...LLAMA, rope_parameters: { ...rope, rope_theta: 5e5 } });
    const older = readConfig({ ...LLAMA, rope_theta: 5e5, rope_scaling: rope });
    expect(newer.positions).toEqual(older.positions);
    expect(newer.positions).toMatchObject({ theta: 5e5, scaling: { kind: 'llama3', factor: 8 } });
  });

  it('reads YaRN and LongRoPE with the amplitude that follows from the length', () => {
    const rotary = (rope: object, more: object = {}) =>
      readConfig({ ...LLAMA, rope_scaling: rope, ...more }).positions;
    expect(rotary({ type: 'yarn', factor: 4, original_max_position_embeddings: 16 })).toMatchObject(
      {
        scaling: { kind: 'yarn', factor: 4, fast: 32, slow: 1, originalLength: 16, whole: true },
        amplitude: 0.1 * Math.log(4) + 1,
      },
    );
    // Files of Phi-3 have the length of training outside, and no factor.
    const factors = { short_factor: [1, 1.5], long_factor: [2, 4] };
    const long = { type: 'su', ...factors };
    expect(rotary(long, { original_max_position_embeddings: 16 })).toMatchObject({
      scaling: { kind: 'longrope', short: [1, 1.5], long: [2, 4], originalLength: 16 },
      amplitude: Math.sqrt(1 + Math.log(4) / Math.log(16)),
    });
    expect(rotary({ ...long, attention_factor: 1.25 })).toMatchObject({ amplitude: 1.25 });
    expect(() => rotary({ ...long, long_factor: [2] })).toThrow(/no factor for each pair/);
  });

  it('gives each layer the window of its type', () => {
    const gemma = {
      ...LLAMA,
      model_type: 'gemma2',
      sliding_window: 8,
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30,
    };
    expect(readConfig(gemma).attention.windows).toEqual([8, null]);
    const types = ['full_attention', 'sliding_attention'];
    const other = readConfig({ ...gemma, layer_types: types });
    expect(other.attention).toMatchObject({ windows: [null, 8], softCap: 50 });
    expect(other).toMatchObject({ logitSoftCap: 30, tied: true, embeddingScale: 4 });
    const qwen = { ...LLAMA, model_type: 'qwen2', sliding_window: 8, max_window_layers: 1 };
    expect(readConfig(qwen).attention.windows).toEqual([null, null]);
    const windowed = readConfig({ ...qwen, use_sliding_window: true });
    expect(windowed.attention.windows).toEqual([null, 8]);
  });

  it('reads GPT-2 in its own words', () => {
    const config = readConfig(GPT2);
    expect(config.positions).toEqual({ kind: 'learned' });
    expect(config.feedForward).toMatchObject({ width: 64, activation: 'gelu_tanh', gated: false });
    expect(config.tied).toBe(true);
    expect(config.attention.scaleByDepth).toBe(false);
    const deep = readConfig({ ...GPT2, scale_attn_by_inverse_layer_idx: true });
    expect(deep.attention).toMatchObject({ scale: 0.5, scaleByDepth: true });
  });

  it.each([
    [{ ...LLAMA, model_type: 'lama' }, "There is no model family 'lama' here."],
    [{ ...LLAMA, hidden_act: 'quick' }, "There is no activation 'quick' here."],
    [
      { ...LLAMA, rope_scaling: { type: 'ntk', factor: 4 } },
      "There is no rotary scaling 'ntk' here.",
    ],
    [
      { ...LLAMA, layer_types: ['full_attention', 'chunked_attention'] },
      "There is no layer type 'chunked_attention' here.",
    ],
  ])('refuses what it does not know: model-unsupported', (config, message) => {
    expect(() => readConfig(config)).toThrow(
      expect.objectContaining({
        code: 'model-unsupported',
        message: expect.stringContaining(message),
      }),
    );
  });

  it.each([
    [null, 'config.json is no object.'],
    [
      { ...LLAMA, vocab_size: undefined },
      "'vocab_size' is undefined, not a positive whole number.",
    ],
    [{ ...LLAMA, hidden_size: 1.5 }, "'hidden_size' is 1.5, not a positive whole number."],
    [{ ...LLAMA, rms_norm_eps: '1e-6' }, '\'rms_norm_eps\' is "1e-6", not a number.'],
    [{ ...LLAMA, tie_word_embeddings: 1 }, "'tie_word_embeddings' is 1, not true or false."],
    [{ ...LLAMA, eos_token_id: ['a'] }, '\'eos_token_id\' is ["a"], not token numbers.'],
    [{ ...LLAMA, rope_parameters: [1] }, "'rope_parameters' is [1], not an object."],
    [{ ...LLAMA, layer_types: 'full' }, '\'layer_types\' is "full", not a list of texts.'],
    [
      { ...LLAMA, layer_types: ['full_attention'] },
      "'layer_types' has 1 entries; there are 2 layers.",
    ],
  ])('refuses fields of another kind: model-invalid', (config, message) => {
    expect(() => readConfig(config)).toThrow(
      expect.objectContaining({ code: 'model-invalid', message: expect.stringContaining(message) }),
    );
  });

  it.each([
    [{ ...LLAMA, head_dim: null, num_attention_heads: 7 }, "'num_attention_heads' is 7, which"],
    [{ ...LLAMA, num_key_value_heads: 3 }, "'num_key_value_heads' is 3, which does not divide"],
    [{ ...LLAMA, vocab_size: 0 }, "'vocab_size' is 0, not a positive whole number."],
    [{ ...LLAMA, hidden_size: -8 }, "'hidden_size' is -8, not a positive whole number."],
    [{ ...LLAMA, head_dim: 5 }, "'head_dim' is 5, an odd number, and rotary positions turn pairs."],
    [{ ...LLAMA, rms_norm_eps: Number.NaN }, "'rms_norm_eps' is NaN, not a number."],
    [{ ...LLAMA, rms_norm_eps: 0 }, "'rms_norm_eps' is 0, not a number above 0."],
    [
      { ...LLAMA, model_type: 'phi3', head_dim: 10, partial_rotary_factor: 0.5 },
      "'partial_rotary_factor' is 0.5, which turns 5 of 10 elements, and not pairs of them.",
    ],
    [
      { ...LLAMA, model_type: 'phi3', partial_rotary_factor: 2 },
      "'partial_rotary_factor' is 2, which turns more than there is of a head.",
    ],
    [
      { ...LLAMA, model_type: 'gemma2', attn_logit_softcapping: 0 },
      "'attn_logit_softcapping' is 0",
    ],
    [
      { ...LLAMA, model_type: 'mixtral', num_local_experts: 2, num_experts_per_tok: 3 },
      "'num_experts_per_tok' is 3, more than 'num_local_experts', 2.",
    ],
    [{ ...GPT2, n_head: 5 }, "'n_head' is 5, which does not divide 'n_embd'"],
    [{ ...GPT2, layer_norm_epsilon: -1 }, "'layer_norm_epsilon' is -1, not a number above 0."],
  ])('refuses what no model can be, by the name of the field: model-invalid', (config, message) => {
    expect(() => readConfig(config)).toThrow(
      expect.objectContaining({ code: 'model-invalid', message: expect.stringContaining(message) }),
    );
  });

  it('takes families from outside', () => {
    registerFamily('my_llama', { config: (json) => ({ ...llamaLike(json), logitSoftCap: 3 }) });
    const config = { ...LLAMA, model_type: 'my_llama' };
    expect(readConfig(config)).toMatchObject({ family: 'my_llama', logitSoftCap: 3, layers: 2 });
    expect(new JsonConfig(config).size('vocab_size')).toBe(37);
  });
});

describe('fields that are left out', () => {
  const sizes = {
    vocab_size: 37,
    hidden_size: 64,
    intermediate_size: 24,
    num_hidden_layers: 2,
    num_attention_heads: 32,
  };
  const read = (model_type: string, more = {}): DecoderConfig =>
    readConfig({ model_type, ...sizes, ...more });

  it.each([
    ['llama', [2], null],
    ['qwen2', [], null],
    ['qwen3', [], null],
    ['mistral', [2], null],
    ['gemma2', [1], 0],
    ['phi3', [32_000], 32_000],
    ['gpt2', [50_256], null],
    ['gpt_neox', [2], null],
    ['olmo2', [50_279], 1],
    ['mixtral', [2], null],
  ])(
    'give %s the tokens that end and pad in transformers, and null gives none',
    (name, end, pad) => {
      expect(read(name, { vocab_size: 60_000 }).tokens).toEqual({ end, pad });
      const none = read(name, { eos_token_id: null, pad_token_id: null });
      expect(none.tokens).toEqual({ end: [], pad: null });
    },
  );

  it.each([-1, 37])('a token %i, which is not in the vocabulary, pads nothing', (pad_token_id) => {
    expect(read('llama', { pad_token_id }).tokens.pad).toBe(null);
  });

  it.each(['mistral', 'phi3', 'mixtral'])('%s has its window in all layers', (name) => {
    const layer_types = ['full_attention', 'sliding_attention'];
    const { windows } = read(name, { sliding_window: 8, layer_types }).attention;
    expect(windows).toEqual([8, 8]);
  });

  it('mean what they mean in transformers', () => {
    const told = (name: string): unknown[] => {
      const { attention, norm, maxPositions, positions, logitSoftCap, tied } = read(name);
      const { kvHeads, headDim, windows, softCap } = attention;
      const theta = positions.kind === 'rotary' ? positions.theta : null;
      return [
        kvHeads,
        headDim,
        windows[0],
        softCap,
        logitSoftCap,
        norm.eps,
        maxPositions,
        theta,
        tied,
      ];
    };
    expect(told('llama')).toEqual([32, 2, null, null, null, 1e-6, 2048, 1e4, false]);
    expect(told('mistral')).toEqual([8, 2, 4096, null, null, 1e-6, 131_072, 1e4, false]);
    expect(told('mixtral')).toEqual([8, 2, null, null, null, 1e-5, 131_072, 1e6, false]);
    expect(told('qwen2')).toEqual([32, 2, null, null, null, 1e-6, 32_768, 1e4, false]);
    expect(told('qwen3')).toEqual([32, 128, null, null, null, 1e-6, 32_768, 1e4, false]);
    expect(told('gemma2')).toEqual([4, 256, 4096, 50, 30, 1e-6, 8192, 1e4, true]);
    expect(told('phi3')).toEqual([32, 2, null, null, null, 1e-5, 4096, 1e4, false]);
    expect(told('olmo2')).toEqual([32, 2, null, null, null, 1e-5, 2048, 1e4, false]);
    expect(read('mixtral').feedForward.experts).toEqual({ count: 8, perToken: 2 });
    expect(readConfig({ model_type: 'gpt2', vocab_size: 37 })).toMatchObject({
      width: 768,
      layers: 12,
      maxPositions: 1024,
      attention: { heads: 12 },
    });
  });

  it('null is no window and no cap, and heads of keys as many as of queries', () => {
    expect(read('mistral', { sliding_window: null }).attention.windows).toEqual([null, null]);
    expect(read('gemma2', { attn_logit_softcapping: null }).attention.softCap).toBeNull();
    expect(read('mistral', { num_key_value_heads: null }).attention.kvHeads).toBe(32);
  });
});

describe('shares of a head that are turned', () => {
  const dims = (model_type: string, fields: object): unknown => {
    const { positions } = readConfig({ ...LLAMA, model_type, hidden_size: 64, ...fields });
    return positions.kind === 'rotary' && positions.dims;
  };
  const half = { partial_rotary_factor: 0.5 };

  it('are those of the families that have one, as in transformers', () => {
    expect(dims('phi3', half)).toBe(8);
    expect(dims('gpt_neox', { rope_parameters: half })).toBe(8);
    expect(dims('gpt_neox', half)).toBe(4);
    expect(dims('gpt_neox', { rotary_pct: 0.5 })).toBe(8);
    expect(dims('gpt_neox', {})).toBe(4);
    for (const family of ['llama', 'mistral', 'olmo2']) expect(dims(family, half)).toBe(16);
  });
});

it.each([
  { num_hidden_layers: 1e9 },
  { model_type: 'mixtral', num_local_experts: 1e9 },
  { rms_norm_eps: -1 },
  { rope_theta: 0 },
  { rope_scaling: { type: 'linear', factor: 0 } },
])('numbers that cannot be are refused before memory is taken: %o', (fields) => {
  expect(() => readConfig({ ...LLAMA, ...fields })).toThrow(/config\.json: '.*' is .*, not/);
});
