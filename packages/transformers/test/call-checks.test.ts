/**
 * @file What a model, a cache or a generator is given is checked by name and shape: nothing is ignored, and nothing fails
 * deep in a layer.
 */
import { compile } from '@tessera/compile';
import { type Tensor, cat, noGrad, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  BeamSearch,
  GrowingCache,
  SpeculativeGenerator,
  StaticCache,
  TextGenerator,
  quantize,
} from '../src/index.js';
import { tinyModel } from './support/tiny-model.js';

const model = tinyModel();
const ids = tensor(
  [
    [0, 0, 3, 4],
    [5, 6, 7, 8],
  ],
  { dtype: 'int64' },
);
const mask = tensor(
  [
    [0, 0, 1, 1],
    [1, 1, 1, 1],
  ],
  { dtype: 'int64' },
);
const far = (a: Tensor, b: Tensor): number => a.sub(b).abs().max().item() as number;
const refused = (message: string | RegExp): { code: string; message: unknown } => ({
  code: 'invalid-argument',
  message: expect.stringMatching(message),
});
function thrownBy(fn: () => unknown): unknown {
  try {
    fn();
  } catch (error) {
    return error;
  }
  return null;
}

describe('a call', () => {
  it.each([
    [
      'a misspelt option',
      () => model.call(ids, { attention_mask: mask } as object),
      /Did you mean 'attentionMask'/,
    ],
    ['a mask in place of the options', () => model.call(ids, mask as object), /attentionMask: …/],
    [
      'one dimension',
      () => model.call(ids.select(0, 0)),
      /ids are of shape \[4\], not \[batch, tokens\]/,
    ],
    ['an array', () => model.call([[1, 2]] as never), /ids are a object/],
    ['no tokens', () => model.call(ids.narrow(1, 0, 0)), /ids are of shape \[2, 0\]/],
    [
      'a short mask',
      () => model.call(ids, { attentionMask: mask.narrow(1, 0, 1) }),
      /attentionMask is of shape \[2, 1\]/,
    ],
    ['a long mask', () => model.call(ids, { attentionMask: ones([2, 5]) }), /\[2, 4\]/],
    ['a mask of one row', () => model.call(ids, { attentionMask: ones([4]) }), /of shape \[4\]/],
    [
      'positions of another length',
      () => model.call(ids, { positions: ids.narrow(1, 0, 3) }),
      /positions are of shape/,
    ],
    [
      'a cache for fewer texts',
      () => model.call(ids, { cache: new StaticCache(model.config, 8, { batch: 1 }) }),
      /for 1 texts at once; the call has 2/,
    ],
    [
      'a cache of another model',
      () =>
        model.call(ids, { cache: new StaticCache(tinyModel({ ...WIDE }).config, 8, { batch: 2 }) }),
      /2 heads of 8; the model has 2 of 4/,
    ],
  ])('refuses %s: invalid-argument', (_what, call, message) => {
    expect(thrownBy(() => noGrad(call))).toMatchObject(refused(message));
  });

  it('takes a mask over what a static cache holds and the call, or over all of its places', () => {
    noGrad(() => {
      const whole = model.call(ids, { attentionMask: mask });
      const more = cat([mask, ones([2, 4], { dtype: 'int64' })], 1);
      for (const given of [mask, more]) {
        const cache = new StaticCache(model.config, 8, { batch: 2 });
        const first = given === mask ? mask.narrow(1, 0, 3) : more;
        const parts = [
          model.call(ids.narrow(1, 0, 3), { cache, attentionMask: first }),
          model.call(ids.narrow(1, 3, 1), { cache, attentionMask: given }),
        ];
        expect(far(cat(parts, 1), whole)).toBeLessThan(1e-5);
      }
    });
  });

  it('is one graph for lengths that vary', () => {
    const run = compile(
      (x: Tensor, real: Tensor) =>
        model.call(x, { attentionMask: real, cache: new GrowingCache(model.config) }),
      { fullgraph: true, dynamic: true },
    );
    noGrad(() => {
      for (const length of [4, 3, 2]) {
        const [x, real] = [ids.narrow(1, 4 - length, length), mask.narrow(1, 4 - length, length)];
        expect(far(run(x, real), model.call(x, { attentionMask: real }))).toBeLessThan(1e-4);
      }
    });
  });
});

const WIDE = {
  model_type: 'llama',
  vocab_size: 37,
  hidden_size: 32,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
};

describe('sizes', () => {
  it.each([
    [
      'TextGenerator',
      () => new TextGenerator(model, { maxLen: 5 } as object),
      /has no option 'maxLen'/,
    ],
    ['TextGenerator', () => new TextGenerator(model, { maxLength: 0 }), /maxLength is 0/],
    ['TextGenerator', () => new TextGenerator(model, { batch: 0 }), /batch is 0/],
    ['TextGenerator', () => new TextGenerator(model, { chunk: 0 }), /chunk is 0/],
    ['BeamSearch', () => new BeamSearch(model, { beams: 3 } as object), /has no option 'beams'/],
    ['BeamSearch', () => new BeamSearch(model, { chunk: 1.5 }), /chunk is 1.5/],
    [
      'SpeculativeGenerator',
      () => new SpeculativeGenerator(model, model, { ahead: 3 } as object),
      /has no option 'ahead'/,
    ],
    ['StaticCache', () => new StaticCache(model.config, 8, {} as never), /batch is undefined/],
    [
      'StaticCache',
      () => new StaticCache(model.config, 8, { size: 1 } as never),
      /has no option 'size'/,
    ],
  ])('of %s are checked: invalid-argument', (_of, make, message) => {
    expect(thrownBy(make)).toMatchObject(refused(message));
  });
});

describe('generation', () => {
  const generator = new TextGenerator(model, { maxLength: 16, compile: false });
  const search = new BeamSearch(model, { maxLength: 16, numBeams: 2, compile: false });
  const speculative = new SpeculativeGenerator(model, model, { maxLength: 16, compile: false });
  it.each([
    ['nothing', () => generator.generate(undefined as never), /the prompt is undefined/],
    ['a text', () => generator.generate('hello' as never), /the prompt is a text/],
    ['a tensor', () => generator.generate(ids as never), /the prompt is a Tensor/],
    [
      'an Int32Array',
      () => generator.generate(Int32Array.of(1, 2) as never),
      /a Int32Array.*Array\.from\(tokens, Number\)/s,
    ],
    ['bigints', () => generator.generate([1n, 2n] as never), /1 \(bigint\) is no token/],
    ['one end token', () => generator.generate([1], { endTokens: 2 as never }), /endTokens are 2/],
    [
      'one stop string',
      () => generator.generate([1], { stopStrings: 'a' as never, decode: String }),
      /stopStrings are "a"/,
    ],
    [
      'an empty stop string',
      () => generator.generate([1], { stopStrings: [''], decode: String }),
      /stopStrings/,
    ],
    ['two prompts for beams', () => search.generate([[1], [2]] as never), /there are 2 prompts/],
    [
      'two prompts for a draft',
      () => speculative.generate([[1], [2]] as never),
      /there are 2 prompts/,
    ],
    [
      'another word for stopping',
      () => search.generate([1], { earlyStopping: 'no' as never }),
      /earlyStopping is 'no'/,
    ],
    [
      'no length penalty',
      () => search.generate([1], { lengthPenalty: NaN }),
      /lengthPenalty is NaN/,
    ],
    ['no format', () => quantize(model, undefined as never), /no format/],
    [
      'an option of another library',
      () => quantize(model, { bits: 8, group_size: 32 } as never),
      /has no option 'group_size'/,
    ],
  ])('refuses %s: invalid-argument', async (_what, call, message) => {
    await expect(call()).rejects.toMatchObject(refused(message));
  });
});
