/**
 * @file What `generation_config.json` asks for: defaults of generation, tokens that may not come, and what is refused. Texts of
 * 88 such calls were compared with `generate` of transformers 5.18.
 */
import { noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  BeamSearch,
  type CausalLM,
  SpeculativeGenerator,
  TextGenerator,
  makeCausalLM,
} from '../src/index.js';
import { LLAMA, tinyModel } from './support/tiny-model.js';

const sizes = { maxLength: 48, chunk: 8, compile: false } as const;
const PROMPT = [1, 2, 3, 4];
const none = { endTokens: [], maxNewTokens: 12 } as const;
const model = tinyModel();

/** A model with a `generation_config.json`. */
function asking(generation: object): CausalLM {
  return makeCausalLM(tinyModel().stateDict(), LLAMA, generation).eval();
}

/** The likeliest tokens that `mayCome` lets through. */
function plainly(
  prompt: readonly number[],
  count: number,
  mayCome: (text: readonly number[], token: number, made: number) => boolean,
): number[] {
  const text = [...prompt];
  for (let made = 0; made < count; made++) {
    const logits = noGrad(() => model.call(tensor([text], { dtype: 'int64' })));
    const row = (logits.toArray() as number[][][])[0]!.at(-1)!;
    const free = row.map((logit, token) => (mayCome(text, token, made) ? logit : -Infinity));
    text.push(free.indexOf(Math.max(...free)));
  }
  return text.slice(prompt.length);
}

const has = (text: readonly number[], row: readonly number[]): boolean =>
  text.some((_, at) => row.every((token, i) => text[at + i] === token));
const generate = async (of: CausalLM, options: object, prompt: readonly number[] = PROMPT) =>
  (await new TextGenerator(of, sizes).generate(prompt, options))[0]!;
const free = plainly(PROMPT, 12, () => true);

describe('tokens that may not come', () => {
  it('suppressTokens and beginSuppressTokens', async () => {
    const [first, second] = free as [number, number];
    expect(await generate(model, { ...none, suppressTokens: [first, second] })).toEqual(
      plainly(PROMPT, 12, (_, token) => token !== first && token !== second),
    );
    expect(await generate(model, { ...none, beginSuppressTokens: [first] })).toEqual(
      plainly(PROMPT, 12, (_, token, made) => made > 0 || token !== first),
    );
  });

  it('badWords, of which the last token does not follow the others', async () => {
    const badWords = [[free[2]!], free.slice(0, 2), [PROMPT.at(-1)!, free[0]!], [36, 35, 34]];
    expect(await generate(model, { ...none, badWords })).toEqual(
      plainly(PROMPT, 12, (text, token) => {
        const next = [...text, token];
        return !badWords.some((word) => has(next.slice(-word.length), word));
      }),
    );
    // Ends are no bad words.
    const ends = { maxNewTokens: 12, endTokens: [free[1]!] };
    expect(await generate(model, { ...ends, badWords: [[free[1]!]] })).toEqual(free.slice(0, 2));
  });

  it.each([1, 2, 3])(
    'noRepeatNgramSize %d counts the prompt, compiled and of a batch, too',
    async (size) => {
      const prompts = [PROMPT, [5, 9]];
      const expected = prompts.map((prompt) =>
        plainly(prompt, 12, (text, token) => {
          const row = [...text.slice(text.length - size + 1), token];
          return !has(text, row) || row.length < size;
        }),
      );
      const plain = tinyModel({ ...LLAMA, pad_token_id: null });
      const both = new TextGenerator(plain, { batch: 2, maxLength: 48, chunk: 8 });
      const options = { ...none, noRepeatNgramSize: size };
      expect(await both.generate(prompts, options)).toEqual(expected);
      // The same functions without rules.
      expect((await both.generate(prompts, none))[0]).toEqual(free);
    },
  );

  it('minNewTokens keeps a text from ending', async () => {
    const end = free[1]!;
    const options = { maxNewTokens: 12, endTokens: [end], minNewTokens: 5 };
    const whole = plainly(PROMPT, 12, (_, token, made) => made >= 5 || token !== end);
    const at = whole.indexOf(end);
    expect(await generate(model, options)).toEqual(at < 0 ? whole : whole.slice(0, at + 1));
  });

  it('hold for beams: with one they are the likeliest tokens', async () => {
    const search = new BeamSearch(model, { ...sizes, numBeams: 1 });
    for (const rules of [{ suppressTokens: [free[0]!] }, { noRepeatNgramSize: 1 }])
      expect(await search.generate(PROMPT, { ...none, ...rules })).toEqual(
        await generate(model, { ...none, ...rules }),
      );
  });

  it.each([
    [{ suppressTokens: [37] }, 'suppressTokens is [37]'],
    [{ badWords: [[]] }, 'badWords is [[]]'],
    [{ minNewTokens: -1 }, 'minNewTokens is -1'],
    [{ noRepeatNgramSize: 1.5 }, 'noRepeatNgramSize is 1.5'],
  ])('refuses %j: invalid-argument', async (options, message) => {
    await expect(generate(model, options)).rejects.toThrow(message);
  });
});

describe('generation_config.json', () => {
  it('says what holds where a call says nothing else', async () => {
    const rules = {
      suppress_tokens: [free[0]],
      no_repeat_ngram_size: 2,
      repetition_penalty: 1.3,
      max_new_tokens: 7,
    };
    const options = {
      suppressTokens: [free[0]!],
      noRepeatNgramSize: 2,
      repetitionPenalty: 1.3,
      maxNewTokens: 7,
    };
    const end = { endTokens: [] };
    expect(await generate(asking(rules), end)).toEqual(
      await generate(model, { ...options, ...end }),
    );
    const off = { suppressTokens: [], noRepeatNgramSize: 0, repetitionPenalty: 1 };
    expect(await generate(asking(rules), { ...off, ...none })).toEqual(free);
    const unsaid = { ...end, suppressTokens: undefined, maxNewTokens: undefined };
    expect(await generate(asking(rules), unsaid)).toEqual(await generate(asking(rules), end));
    const [all, same] = [end, unsaid].map((given) =>
      new BeamSearch(asking(rules), { ...sizes, numBeams: 2 }).generate(PROMPT, given),
    );
    expect(await same).toEqual(await all);
    expect(await same).not.toContain(free[0]);
  });

  it('has tokens drawn with do_sample, of the 50 likeliest', async () => {
    const seeded = { ...none, seed: 3 };
    const sampling = { do_sample: true, temperature: 0.7, top_p: 0.9, top_k: 5 };
    expect(await generate(asking(sampling), seeded)).toEqual(
      await generate(model, { ...seeded, temperature: 0.7, topP: 0.9, topK: 5 }),
    );
    expect(asking({ do_sample: true }).config.generation?.options).toEqual({
      temperature: 1,
      topK: 50,
    });
    expect(await generate(asking(sampling), { ...seeded, temperature: 0 })).toEqual(free);
    expect(await generate(asking({ temperature: 0.7 }), seeded)).toEqual(free);
  });

  it('counts max_length with the prompt, as far as there is room', async () => {
    const end = { endTokens: [] };
    expect(await generate(asking({ max_length: 10 }), end)).toHaveLength(6);
    expect(await generate(asking({ max_length: 4096 }), end)).toHaveLength(44);
  });

  it('of beams is that of BeamSearch', async () => {
    const beams = asking({ num_beams: 3, length_penalty: 0, early_stopping: true });
    const search = new BeamSearch(beams, sizes);
    expect(search.numBeams).toBe(3);
    expect(await search.generate(PROMPT, { endTokens: [5, 9] })).toEqual(
      await new BeamSearch(model, { ...sizes, numBeams: 3 }).generate(PROMPT, {
        endTokens: [5, 9],
        lengthPenalty: 0,
        earlyStopping: true,
      }),
    );
    await expect(generate(beams, none)).rejects.toThrow('num_beams');
  });

  it.each([
    { forced_eos_token_id: 2 },
    { forced_bos_token_id: 1 },
    { min_length: 5 },
    { sequence_bias: [[[1], -1]] },
    { guidance_scale: 1.5 },
    { do_sample: true, epsilon_cutoff: 0.1 },
    { exponential_decay_length_penalty: [5, 1.1] },
  ])('is refused where there is no such thing: %j', async (fields) => {
    await expect(generate(asking(fields), none)).rejects.toThrow(
      expect.objectContaining({
        code: 'model-unsupported',
        message: expect.stringContaining(Object.keys(fields).at(-1)!),
      }),
    );
  });

  it('may spell out what changes nothing', async () => {
    const neutral = {
      min_length: 0,
      guidance_scale: 1,
      epsilon_cutoff: 0.1,
      num_beams: 1,
      top_k: 0,
    };
    expect(await generate(asking(neutral), none)).toEqual(free);
  });

  it('of rules is refused by SpeculativeGenerator, which only proposes tokens', async () => {
    const both = new SpeculativeGenerator(asking({ no_repeat_ngram_size: 2 }), model, {
      ...sizes,
      maxLength: 40,
    });
    await expect(both.generate(PROMPT, none)).rejects.toThrow('noRepeatNgramSize depends');
    const off = { ...none, noRepeatNgramSize: 0 };
    expect(await both.generate(PROMPT, off)).toEqual(free);
  });
});
