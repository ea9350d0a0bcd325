/**
 * @file Generation: one computation for all prompts and tokens, and what ends it.
 */
import { observeCompilations } from '@tessera/compile';
import { type Tensor, noGrad, randn, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type CausalLM, GrowingCache, StaticCache, TextGenerator } from '../src/index.js';
import { Texts } from '../src/generate/texts.js';
import { GPT2, LLAMA, tinyModel } from './support/tiny-model.js';

/** The likeliest tokens, each from the whole text before it. */
function greedily(model: CausalLM, prompt: readonly number[], count: number): number[] {
  const text = [...prompt];
  for (let i = 0; i < count; i++) {
    const logits = noGrad(() => model.call(tensor([text], { dtype: 'int64' })));
    text.push(
      logits
        .select(1, text.length - 1)
        .argmax(-1)
        .item() as number,
    );
  }
  return text.slice(prompt.length);
}

const none = { endTokens: [] };

describe('TextGenerator', () => {
  const model = tinyModel();
  const generator = new TextGenerator(model, { maxLength: 48, chunk: 8 });

  it('makes what the model makes of the whole text, for prompts of any length, with three graphs', async () => {
    let graphs = 0;
    const stop = observeCompilations(() => graphs++);
    for (const length of [1, 3, 8, 9, 17, 24]) {
      const prompt = Array.from({ length }, (_, i) => (i * 7 + length) % 37);
      const [answer] = await generator.generate(prompt, { maxNewTokens: 12, ...none });
      expect(answer).toEqual(greedily(model, prompt, 12));
    }
    stop();
    expect(graphs).toBe(3);
  });

  it('takes in only what is not in the cache yet', async () => {
    const prompt = Array.from({ length: 20 }, (_, i) => (i * 5) % 37);
    const [answer] = (await generator.generate(prompt, { maxNewTokens: 6, ...none })) as [number[]];
    const calls: number[] = [];
    const at = model.at.bind(model);
    const eager = new TextGenerator(model, { maxLength: 48, chunk: 8, compile: false });
    model.at = (ids, ...rest) => {
      calls.push(ids.size(1));
      return at(ids, ...rest);
    };
    await eager.generate(prompt, { maxNewTokens: 6, ...none });
    expect(calls).toEqual([8, 8, 8, 1, 1, 1, 1, 1]);
    calls.length = 0;
    const longer = [...prompt, ...answer, 4, 5];
    const [more] = await eager.generate(longer, { maxNewTokens: 3, ...none });
    // 25 tokens are known, of which 24 are whole chunks; the last one of the answer never went in.
    expect(calls).toEqual([8, 1, 1]);
    model.at = at;
    expect(more).toEqual(greedily(model, longer, 3));
  });

  it('takes in short prompts by quarters of a chunk, and goes on at any of them', async () => {
    const long = new TextGenerator(model, { maxLength: 64, compile: false });
    const calls: number[] = [];
    const at = model.at.bind(model);
    model.at = (ids, ...rest) => {
      calls.push(ids.size(1));
      return at(ids, ...rest);
    };
    const prompt = Array.from({ length: 20 }, (_, i) => (i * 5) % 37);
    const [answer] = await long.generate(prompt, { maxNewTokens: 3, ...none });
    const longer = [...prompt, ...answer!.slice(0, 2), 4];
    const [more] = await long.generate(longer, { maxNewTokens: 2, ...none });
    model.at = at;
    expect(calls).toEqual([16, 16, 1, 1, 16, 1]);
    expect([answer, more]).toEqual([greedily(model, prompt, 3), greedily(model, longer, 2)]);
  });

  it('computes a prompt anew when weights or hooks have changed, and when taking it in failed', async () => {
    const own = tinyModel();
    const eager = new TextGenerator(own, { maxLength: 48, chunk: 8, compile: false });
    const prompt = Array.from({ length: 20 }, (_, i) => (i * 5) % 37);
    const generate = () => eager.generate(prompt, { maxNewTokens: 6, ...none });
    const expectFresh = async () => expect(await generate()).toEqual([greedily(own, prompt, 6)]);
    await expectFresh();
    const original = own.model.embed_tokens.weight.detach().clone();
    noGrad(() => own.model.embed_tokens.weight.copy_(randn(original.sizes)));
    await expectFresh();
    own.loadStateDict({ 'model.embed_tokens.weight': original }, { strict: false });
    await expectFresh();
    // Conversion replaces the memory.
    own.to('float64').to('float32');
    await expectFresh();

    let scale = 1;
    const hook = own.model.layers[0]!.registerForwardHook((_module, _inputs, out) =>
      (out as Tensor).mul(scale),
    );
    await expectFresh();
    scale = -2;
    await expectFresh();
    hook.remove();
    await expectFresh();

    // Another prompt overwrites the first chunk of the cache and fails at the second one.
    const at = own.at.bind(own);
    let calls = 0;
    own.at = (...args) => {
      if (calls++ === 1) throw new Error('no memory');
      return at(...args);
    };
    const other = prompt.map((token) => 36 - token);
    await expect(eager.generate(other, { maxNewTokens: 1 })).rejects.toThrow('no memory');
    own.at = at;
    await expectFresh();
  });

  it.each([
    ['rotary positions', LLAMA],
    ['learned positions', GPT2],
  ])('gives texts of a batch what they get alone (%s)', async (_kind, config) => {
    const own = tinyModel(config);
    const prompts = [[5], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [30, 20, 10]];
    const batch = new TextGenerator(own, { batch: 3, maxLength: 40, chunk: 8 });
    const answers = await batch.generate(prompts, { maxNewTokens: 9, ...none });
    expect(answers).toEqual(prompts.map((prompt) => greedily(own, prompt, 9)));
  });

  it('streams tokens, and goes on with texts of a batch that have not ended', async () => {
    const batch = new TextGenerator(model, { batch: 2, maxLength: 40, chunk: 8 });
    const prompts = [
      [1, 2, 3],
      [9, 8],
    ];
    const [first] = greedily(model, prompts[0]!, 8);
    const end = greedily(model, prompts[1]!, 8).find((token) => token !== first)!;
    const streamed: (number | null)[][] = [];
    for await (const { tokens } of batch.stream(prompts, { maxNewTokens: 8, endTokens: [end] }))
      streamed.push(tokens);
    const ended = greedily(model, prompts[1]!, 8).indexOf(end);
    const of = (i: number): number[] => streamed.flatMap((tokens) => tokens[i] ?? []);
    expect(of(1)).toEqual(greedily(model, prompts[1]!, 8).slice(0, ended + 1));
    const whole = greedily(model, prompts[0]!, 8);
    const stop = whole.indexOf(end);
    expect(of(0)).toEqual(stop < 0 ? whole : whole.slice(0, stop + 1));
  });

  it('repetitionPenalty counts the padding token of shorter prompts as seen, as transformers does', async () => {
    const prompts = [[5], [1, 9, 8, 4]];
    const pad = 18;
    const padded = tinyModel({ ...LLAMA, pad_token_id: pad });
    const penalized = (padding: readonly number[], prompt: readonly number[]): number[] => {
      const answer: number[] = [];
      for (let i = 0; i < 24; i++) {
        const text = [...prompt, ...answer];
        const rows = noGrad(() => padded.call(tensor([text], { dtype: 'int64' }))).toArray();
        const logits = (rows as number[][][])[0]!.at(-1)!;
        const seen = new Set([...padding, ...text]);
        const scores = logits.map((logit, token) =>
          seen.has(token) ? (logit < 0 ? logit * 1.5 : logit / 1.5) : logit,
        );
        answer.push(scores.indexOf(Math.max(...scores)));
      }
      return answer;
    };
    const options = { repetitionPenalty: 1.5, maxNewTokens: 24, ...none };
    const both = new TextGenerator(padded, { batch: 2, maxLength: 48, chunk: 8 });
    expect(await both.generate(prompts, options)).toEqual([
      penalized([pad], prompts[0]!),
      penalized([], prompts[1]!),
    ]);
    expect(penalized([pad], prompts[0]!)).not.toEqual(penalized([], prompts[0]!));
  });

  it('ends at a text, also one that begins in the middle of a token', async () => {
    const decode = (tokens: readonly number[]): string => tokens.map((t) => `<${t}>`).join('');
    const whole = greedily(model, [3, 4], 10);
    const stopStrings = [`${whole[3]}><${whole[4]}`];
    const [answer] = await generator.generate([3, 4], {
      maxNewTokens: 10,
      stopStrings,
      decode,
      ...none,
    });
    const at = decode(whole).indexOf(stopStrings[0]!);
    expect(decode(answer!).indexOf(stopStrings[0]!)).toBe(at);
    expect(answer!.length).toBeLessThan(10);
  });

  it('ends at a text of characters that are several tokens each', () => {
    const bytes = [...new TextEncoder().encode('a日本語日本語日本語')];
    const decode = (tokens: readonly number[]): string =>
      new TextDecoder().decode(Uint8Array.from(tokens));
    const texts = new Texts(1, model.config, {
      stopStrings: ['日本語日本語日本語'],
      decode,
      endTokens: [],
    });
    for (const byte of bytes) {
      expect(texts.allEnded).toBe(false);
      texts.take([byte]);
    }
    expect(texts.allEnded).toBe(true);
  });

  it('draws the same with the same seed, and with filters only what they leave', async () => {
    const options = { temperature: 0.9, maxNewTokens: 20, ...none };
    const run = (seed: number) => generator.generate([1, 2], { ...options, seed });
    const [one, again, other] = [await run(1), await run(1), await run(2)];
    expect(again).toEqual(one);
    expect(other).not.toEqual(one);
    const filtered = { ...options, seed: 3, topK: 1 };
    expect(await generator.generate([1, 2], filtered)).toEqual([greedily(model, [1, 2], 20)]);
  });

  it('ends when the signal is aborted, and can be used again', async () => {
    const controller = new AbortController();
    const made: number[] = [];
    const run = async (): Promise<void> => {
      const stream = generator.stream([1, 2], { ...none, signal: controller.signal });
      for await (const { tokens } of stream) {
        made.push(tokens[0]!);
        if (made.length === 3) controller.abort(new Error('enough'));
      }
    };
    await expect(run()).rejects.toThrow('enough');
    expect(made).toEqual(greedily(model, [1, 2], 3));
    expect(await generator.generate([1, 2], { maxNewTokens: 4, ...none })).toEqual([
      greedily(model, [1, 2], 4),
    ]);
  });

  it('makes one text at a time', async () => {
    const stream = generator.stream([1], none);
    await stream.next();
    await expect(generator.generate([1])).rejects.toThrow('in the middle of a text');
    await stream.return(undefined);
    expect(await generator.generate([1], { maxNewTokens: 1 })).toHaveLength(1);
  });

  it.each([
    [[], {}, 'there is no prompt'],
    [[[1], []], {}, 'a prompt has no tokens'],
    [[1, 37], {}, '37 is no token'],
    [[1], { maxTokens: 3 }, "no option 'maxTokens'"],
    [[1], { temperature: -1 }, 'temperature is -1'],
    [[1], { topK: 0 }, 'topK is 0'],
    [[1], { topP: 2 }, 'topP is 2'],
    [[1], { minP: -0.1 }, 'minP is -0.1'],
    [[1], { typicalP: 0 }, 'typicalP is 0'],
    [[1], { repetitionPenalty: 0 }, 'repetitionPenalty is 0'],
    [[1], { maxNewTokens: 0 }, 'maxNewTokens is 0'],
    [[1], { stopStrings: ['x'] }, 'stopStrings need decode'],
    [[1], { maxNewTokens: 48 }, 'are more than 48'],
    [[[1], [2]], {}, 'for 1 texts at once; there are 2 prompts'],
  ])('refuses %j with %j: invalid-argument', async (prompts, options, message) => {
    const run = generator.generate(prompts as number[], options as object);
    await expect(run).rejects.toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: expect.stringContaining(message),
      }),
    );
  });

  it('refuses more positions than the model has', () => {
    expect(() => new TextGenerator(model, { maxLength: 65 })).toThrow('has 64 positions');
  });
});

describe('caches', () => {
  const model = tinyModel();
  const ids = tensor([[1, 2, 3, 4, 5]], { dtype: 'int64' });

  it.each([
    ['static', () => new StaticCache(model.config, 8, { batch: 1 })],
    ['growing', () => new GrowingCache(model.config)],
  ])('%s: a text in parts has the logits of the whole', (_kind, make) => {
    noGrad(() => {
      const whole = model.call(ids);
      const cache = make();
      const first = model.call(ids.narrow(1, 0, 2), { cache });
      const rest = model.call(ids.narrow(1, 2, 3), { cache });
      expect(cache.length).toBe(5);
      expect(
        first
          .sub(whole.narrow(1, 0, 2))
          .abs()
          .max()
          .item(),
      ).toBeLessThan(1e-5);
      expect(
        rest
          .sub(whole.narrow(1, 2, 3))
          .abs()
          .max()
          .item(),
      ).toBeLessThan(1e-5);
    });
  });

  it('static: refuses more than it has room for, and forgets what is cut off', () => {
    const cache = new StaticCache(model.config, 6, { batch: 1 });
    noGrad(() => model.call(ids, { cache }));
    expect(() => model.call(ids, { cache })).toThrow(
      'has room for 6 tokens; 5 are in it and 5 more',
    );
    cache.truncate(1);
    const again = noGrad(() => model.call(ids.narrow(1, 1, 4), { cache }));
    const whole = noGrad(() => model.call(ids)).narrow(1, 1, 4);
    expect(again.sub(whole).abs().max().item()).toBeLessThan(1e-5);
  });
});
