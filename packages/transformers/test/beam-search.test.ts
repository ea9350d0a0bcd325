/**
 * @file Beam search: equal to a plain reference without a cache, and to trying everything.
 */
import { noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { BeamSearch, type CausalLM, type EarlyStopping } from '../src/index.js';
import { tinyModel } from './support/tiny-model.js';

const model = tinyModel();
const VOCAB = 37;

/** Log-probabilities of what follows a text. */
function scoresAfter(of: CausalLM, text: readonly number[]): number[] {
  const ids = tensor([[...text]], { dtype: 'int64' });
  const logits = noGrad(() => of.call(ids))
    .select(1, text.length - 1)
    .toArray() as number[][];
  const [row] = logits as [number[]];
  const most = Math.max(...row);
  const sum = Math.log(row.reduce((total, logit) => total + Math.exp(logit - most), 0));
  return row.map((logit) => logit - most - sum);
}

interface Asked {
  readonly beams: number;
  readonly length: number;
  readonly penalty: number;
  readonly early: EarlyStopping;
  readonly end: readonly number[];
}

/** As `_beam_search` of transformers 5 does it, text by text. */
function plainly(
  prompt: readonly number[],
  { beams, length, penalty, early, end }: Asked,
): number[] {
  let open = [{ text: [] as number[], sum: 0 }];
  let ended: { text: number[]; score: number }[] = [];
  const add = (text: number[], sum: number): void => {
    ended = [...ended, { text, score: sum / text.length ** penalty }]
      .sort((a, b) => b.score - a.score)
      .slice(0, beams);
  };
  for (let made = 1; made <= length; made++) {
    const ranked = open
      .flatMap(({ text, sum }) =>
        scoresAfter(model, [...prompt, ...text]).map((score, token) => ({
          text: [...text, token],
          sum: sum + score,
        })),
      )
      .sort((a, b) => b.sum - a.sum);
    open = [];
    for (const [rank, candidate] of ranked
      .slice(0, Math.max(2, 1 + end.length) * beams)
      .entries()) {
      const isOver = made === length || end.includes(candidate.text.at(-1)!);
      if (!isOver && open.length < beams) open.push(candidate);
      if (isOver && rank < beams) add(candidate.text, candidate.sum);
    }
    if (open.length === 0) break;
    if (ended.length < beams) continue;
    const reach = early === 'never' && penalty > 0 ? length : made;
    if (early === true || ended.at(-1)!.score >= open[0]!.sum / reach ** penalty) break;
  }
  return ended[0]!.text;
}

describe('BeamSearch', () => {
  const search = new BeamSearch(model, { numBeams: 3, maxLength: 48, chunk: 8 });

  it.each([
    [1, false],
    [0, false],
    [2, 'never'],
    [-1, 'never'],
    [1, true],
    [2, true],
  ] as const)(
    'finds what the reference finds (lengthPenalty %d, earlyStopping %s)',
    async (penalty, early) => {
      for (const end of [[], [5], [3, 11, 17, 25, 31]])
        for (const prompt of [
          [1, 2, 3],
          [9],
          [30, 4],
          Array.from({ length: 11 }, (_, i) => (i * 7) % VOCAB),
        ]) {
          const asked = { beams: 3, length: 7, penalty, early, end };
          const found = await search.generate(prompt, {
            maxNewTokens: 7,
            lengthPenalty: penalty,
            earlyStopping: early,
            endTokens: end,
          });
          expect(found).toEqual(plainly(prompt, asked));
        }
    },
  );

  it.each([
    [2, true],
    [1, false],
  ] as const)(
    'open texts count beside ended ones at the last token (lengthPenalty %d, earlyStopping %s)',
    async (penalty, early) => {
      const end = [3, 11, 17, 25, 31];
      for (let token = 0; token < VOCAB; token++)
        expect(
          await search.generate([token], {
            maxNewTokens: 4,
            lengthPenalty: penalty,
            earlyStopping: early,
            endTokens: end,
          }),
        ).toEqual(plainly([token], { beams: 3, length: 4, penalty, early, end }));
    },
  );

  it('ends where every token ends a text', async () => {
    const end = Array.from({ length: VOCAB }, (_, token) => token);
    const scores = scoresAfter(model, [4, 9]);
    const best = scores.indexOf(Math.max(...scores));
    expect(await search.generate([4, 9], { endTokens: end, earlyStopping: 'never' })).toEqual([
      best,
    ]);
  });

  it('with a beam for each token finds the best of all texts of two tokens', async () => {
    const all = new BeamSearch(model, { numBeams: VOCAB, maxLength: 16, chunk: 8, compile: false });
    const [first] = [scoresAfter(model, [4, 9])];
    const texts = first.flatMap((score, token) =>
      scoresAfter(model, [4, 9, token]).map((next, other) => ({
        text: [token, other],
        sum: score + next,
      })),
    );
    const best = texts.reduce((a, b) => (b.sum > a.sum ? b : a));
    expect(await all.generate([4, 9], { maxNewTokens: 2, endTokens: [] })).toEqual(best.text);
  });

  it.each([
    [{ maxNewTokens: 48 }, 'there is room for 46'],
    [{ numBeams: 3 }, "no option 'numBeams'"],
  ])('refuses %j: invalid-argument', async (options, message) => {
    await expect(search.generate([1, 2], options as object)).rejects.toThrow(message);
    expect(() => new BeamSearch(model, { numBeams: 0 })).toThrow('numBeams is 0');
  });

  it('ends when the signal is aborted', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(search.generate([1], { signal })).rejects.toThrow('enough');
  });
});
