/**
 * @file Angles of stretched positions beside those of `transformers` 5.18, and where attention uses them.
 */
import { compile } from '@tessera/compile';
import { type Tensor, arange, noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import type { Positions } from '../src/config/decoder-config.js';
import {
  BeamSearch,
  SpeculativeGenerator,
  StaticCache,
  TextGenerator,
  readConfig,
} from '../src/index.js';
import { RotaryTable } from '../src/model/rotary.js';
import { GPT2, LLAMA, tinyModel } from './support/tiny-model.js';

/** Frequencies of 8 pairs, and what is turned is multiplied by. */
function angles(rope: object, length: number): { frequencies: number[]; amplitude: number } {
  const config = { ...LLAMA, head_dim: 16, max_position_embeddings: 128, rope_parameters: rope };
  const rotary = readConfig(config).positions as Extract<Positions, { kind: 'rotary' }>;
  const { cos, sin } = new RotaryTable(rotary).rotation(tensor([[1]]), length);
  const [x, y] = [cos, sin].map((t) => t.flatten().slice(0, 0, 8).toArray() as number[]);
  return {
    frequencies: x!.map((value, i) => Math.atan2(y![i]!, value)),
    amplitude: Math.hypot(x![0]!, y![0]!),
  };
}

const LONG = {
  rope_type: 'longrope',
  rope_theta: 10000,
  short_factor: [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
  long_factor: [1.5, 2, 3, 4, 5, 6, 7, 8],
  original_max_position_embeddings: 32,
};

describe('angles of stretched positions', () => {
  it.each([
    [
      'yarn',
      { rope_type: 'yarn', factor: 4, rope_theta: 10000, original_max_position_embeddings: 32 },
      32,
      [1, 0.197642356, 0.025, 0.007905695, 0.0025, 0.000790569, 0.00025, 7.9057e-5],
      1.138629436,
    ],
    [
      'yarn with a ramp between pairs',
      {
        rope_type: 'yarn',
        factor: 8,
        rope_theta: 5000,
        original_max_position_embeddings: 16,
        mscale: 1,
        mscale_all_dim: 0.5,
        beta_fast: 2,
        beta_slow: 1,
        truncate: false,
      },
      32,
      [1, 0.043106105, 0.014865089, 0.005126209, 0.001767767, 0.000609612, 0.000210224, 7.2496e-5],
      1.094179988,
    ],
    [
      'dynamic within the length of training',
      { rope_type: 'dynamic', factor: 4, rope_theta: 10000 },
      128,
      [1, 0.316227764, 0.1, 0.0316227786, 0.01, 0.00316227786, 0.001, 0.000316227786],
      1,
    ],
    [
      'dynamic beyond it',
      { rope_type: 'dynamic', factor: 4, rope_theta: 10000 },
      200,
      [1, 0.267223001, 0.0714081228, 0.0190818924, 0.00509912, 0.001362602, 0.000364119, 9.7301e-5],
      1,
    ],
    [
      'longrope within the length of training',
      LONG,
      32,
      [1, 0.287479758, 0.083333336, 0.024325214, 0.007142857, 0.002108185, 0.000625, 0.000186016],
      1.183215957,
    ],
    [
      'longrope beyond it',
      LONG,
      33,
      [
        0.666666687, 0.158113882, 0.033333335, 0.007905695, 0.002, 0.000527046, 0.000142857,
        3.9528e-5,
      ],
      1.183215957,
    ],
  ])('%s', (_name, rope, length, expected, amplitude) => {
    const found = angles(rope, length);
    for (const [i, value] of found.frequencies.entries())
      expect(Math.abs(value / expected[i]! - 1)).toBeLessThan(1e-4);
    expect(found.amplitude).toBeCloseTo(amplitude, 5);
  });

  it('are those of the cache that keys go to, however few there are', () => {
    const model = tinyModel({
      ...LLAMA,
      rope_parameters: { ...LONG, short_factor: [1, 1], long_factor: [3, 5] },
    });
    const ids = tensor([[5, 6, 7, 8, 9]], { dtype: 'int64' });
    const logits = (length: number) =>
      noGrad(() => model.call(ids, { cache: new StaticCache(model.config, length, { batch: 1 }) }));
    const plain = noGrad(() => model.call(ids));
    const apart = (length: number): number =>
      logits(length).sub(plain).abs().max().item() as number;
    expect(apart(32)).toBeLessThan(1e-5);
    expect(apart(40)).toBeGreaterThan(1e-3);
    const positions = arange(5).unsqueeze(0);
    expect(noGrad(() => model.call(ids, { positions })).equal(plain)).toBe(true);
  });
});

describe.each([
  ['dynamic', { rope_type: 'dynamic', factor: 4 }],
  ['longrope', { ...LONG, short_factor: [1, 1.3], long_factor: [4, 7] }],
])('a generator of a model with %s positions', (_kind, rope) => {
  const config = {
    ...LLAMA,
    max_position_embeddings: rope.rope_type === 'dynamic' ? 20 : 64,
    rope_parameters: { ...rope, original_max_position_embeddings: 20 },
  };
  const model = tinyModel(config);
  const prompt = [5, 6, 7, 8, 9];

  it('stretches them for its texts, not for the places that fill up its chunks', async () => {
    const text = [...prompt];
    while (text.length < 20)
      noGrad(() => {
        const logits = model.call(tensor([text], { dtype: 'int64' })).select(1, -1);
        text.push(logits.argmax(-1).item() as number);
      });
    const options = { maxNewTokens: 15, endTokens: [] };
    const sizes = { maxLength: 20, chunk: 16, compile: false };
    const [answer] = await new TextGenerator(model, sizes).generate(prompt, options);
    expect(answer).toEqual(text.slice(5));
    const short = { maxLength: 16, chunk: 16, compile: false, lookahead: 4 };
    const speculative = new SpeculativeGenerator(model, model, short);
    expect(await speculative.generate(prompt, { ...options, maxNewTokens: 11 })).toEqual(
      text.slice(5, 16),
    );
  });
});

describe('texts that grow beyond the length of training, by longrope', () => {
  const model = tinyModel({
    ...LLAMA,
    rope_parameters: {
      ...LONG,
      short_factor: [1, 1.3],
      long_factor: [4, 7],
      original_max_position_embeddings: 12,
    },
  });
  /** The text that calls without a cache make, each as long as it is. */
  const grown = (prompt: readonly number[], count: number): number[] => {
    const text = [...prompt];
    noGrad(() => {
      for (let i = 0; i < count; i++) {
        const logits = model.call(tensor([text], { dtype: 'int64' })).select(1, -1);
        text.push(logits.argmax(-1).item() as number);
      }
    });
    return text.slice(prompt.length);
  };
  const [prompt, other] = [
    [5, 6, 7, 8, 9],
    [11, 3, 30],
  ];
  const options = { maxNewTokens: 14, endTokens: [] };
  const wanted = grown(prompt, 14);

  describe.each([
    ['compiled', true],
    ['as it is', false],
  ])('%s', (_, isCompiled) => {
    const sizes = { maxLength: 40, chunk: 8, compile: isCompiled };

    it('a generator turns their keys again, and those of the next text as it wants them', async () => {
      const generator = new TextGenerator(model, sizes);
      expect(await generator.generate(prompt, options)).toEqual([wanted]);
      expect(await generator.generate(prompt, options)).toEqual([wanted]);
      // Behind the whole text of the last call, then behind a part of it within the length of training.
      const whole = [...prompt, ...wanted];
      expect(await generator.generate(whole, options)).toEqual([grown(whole, 14)]);
      const short = { ...options, maxNewTokens: 2 };
      expect(await generator.generate(whole.slice(0, 8), short)).toEqual([wanted.slice(3, 5)]);
    });

    it('a batch goes by its longest text', async () => {
      const generator = new TextGenerator(model, { ...sizes, batch: 2 });
      const short = { ...options, maxNewTokens: 8 };
      const [first, second] = await generator.generate([prompt, other], short);
      expect(first).toEqual(wanted.slice(0, 8));
      expect(second!.slice(0, 8)).toHaveLength(8);
      expect(second!.slice(0, 7)).toEqual(grown(other, 7));
    });

    it('a beam search and a speculative generator do so too', async () => {
      const search = new BeamSearch(model, { ...sizes, numBeams: 1 });
      expect(await search.generate(prompt, options)).toEqual(wanted);
      const speculative = new SpeculativeGenerator(model, model, { ...sizes, lookahead: 4 });
      expect(await speculative.generate(prompt, options)).toEqual(wanted);
    });
  });
});

it('compiled calls stretch dynamic positions by the length of each text', () => {
  const model = tinyModel({
    ...LLAMA,
    max_position_embeddings: 8,
    rope_parameters: { rope_type: 'dynamic', factor: 2 },
  });
  const run = compile((ids: Tensor) => model.call(ids), { dynamic: true });
  noGrad(() => {
    for (const length of [6, 9, 12, 15]) {
      const ids = arange(length).unsqueeze(0);
      const far = run(ids).sub(model.call(ids)).abs().max().item() as number;
      expect(far).toBeLessThan(1e-4);
    }
  });
});

it('scores of deeper layers are divided by their number where GPT-2 asks for it', () => {
  const [plain, deep] = [GPT2, { ...GPT2, scale_attn_by_inverse_layer_idx: true }].map(tinyModel);
  const twice = tinyModel(GPT2);
  // The second layer's query at half its size gives the same scores.
  const { weight, bias } = twice.model.layers.at(1)!.self_attn.q_proj;
  for (const parameter of [weight, bias!]) parameter.detach().mul_(0.5);
  const ids = tensor([[5, 6, 7, 8, 9]], { dtype: 'int64' });
  const [a, b, c] = [plain, deep, twice].map((model) => noGrad(() => model!.call(ids)));
  expect(b!.sub(c!).abs().max().item()).toBeLessThan(1e-5);
  expect(b!.sub(a!).abs().max().item()).toBeGreaterThan(1e-4);
});
