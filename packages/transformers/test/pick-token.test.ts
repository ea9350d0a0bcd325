/**
 * @file Filters of logits, against the same in plain numbers.
 */
import { manualSeed, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import type { SamplingOptions } from '../src/index.js';
import { pickToken, tokenProbabilities } from '../src/generate/pick-token.js';

const LOGITS = [2, 1.5, 0.2, -1, 3, 2.9, -4, 0];

/** Which tokens 400 draws give. */
function drawn(options: SamplingOptions, seen: readonly boolean[] | null = null): number[] {
  manualSeed(5);
  const rows = Array.from({ length: 400 }, () => LOGITS);
  const mask =
    seen === null
      ? null
      : tensor(
          rows.map(() => [...seen]),
          { dtype: 'bool' },
        );
  const tokens = pickToken(tensor(rows), options, mask).toArray() as number[];
  return [...new Set(tokens)].sort((a, b) => a - b);
}

/** Tokens by falling probability. */
function ranked(): { token: number; share: number }[] {
  const weights = LOGITS.map(Math.exp);
  const total = weights.reduce((a, b) => a + b);
  return weights
    .map((weight, token) => ({ token, share: weight / total }))
    .sort((a, b) => b.share - a.share);
}

describe('pickToken', () => {
  it('takes the likeliest without a temperature', () => {
    expect(drawn({})).toEqual([4]);
  });

  it('topK leaves the likeliest', () => {
    expect(drawn({ temperature: 5, topK: 3 })).toEqual([0, 4, 5]);
  });

  it('topP leaves the likeliest up to the one that passes the share', () => {
    const kept: number[] = [];
    let sum = 0;
    for (const { token, share } of ranked()) {
      if (sum < 0.8) kept.push(token);
      sum += share;
    }
    expect(drawn({ temperature: 1, topP: 0.8 })).toEqual(kept.sort((a, b) => a - b));
    expect(drawn({ temperature: 1, topP: 1e-9 })).toEqual([4]);
    // As TopPLogitsWarper(0) of transformers 5.18.
    expect(drawn({ temperature: 1, topP: 0 })).toEqual([4]);
  });

  it('minP leaves what has a share of the likeliest', () => {
    const [best] = ranked();
    const kept = ranked().filter(({ share }) => share >= 0.2 * best!.share);
    expect(drawn({ temperature: 1, minP: 0.2 })).toEqual(
      kept.map(({ token }) => token).sort((a, b) => a - b),
    );
  });

  // Numbers of TypicalLogitsWarper of transformers 5.18, and of all its filters one after the other.
  const WITHOUT_BEST = LOGITS.map((logit) => (logit === 3 ? -Infinity : logit));
  it.each([
    [LOGITS, { typicalP: 0.2 }, { 5: 1 }],
    [LOGITS, { typicalP: 0.6 }, { 4: 0.5249791, 5: 0.4750208 }],
    [LOGITS, { typicalP: 0.95 }, { 0: 0.1473966, 1: 0.0894005, 4: 0.4006655, 5: 0.3625372 }],
    [WITHOUT_BEST, { typicalP: 0.6 }, { 0: 0.2890504, 5: 0.7109495 }],
    [
      LOGITS,
      { temperature: 1.5, topK: 6, topP: 0.9, minP: 0.05, typicalP: 0.5 },
      { 4: 0.5166604, 5: 0.4833394 },
    ],
  ])('typicalP leaves what says about as much as is expected: %j %j', (logits, options, kept) => {
    const shares = new Map(Object.entries(kept).map(([token, share]) => [Number(token), share]));
    const [got] = tokenProbabilities(
      tensor([logits]),
      { temperature: 1, ...options },
      null,
    ).toArray() as [number[]];
    for (const [token, share] of got.entries())
      expect(share).toBeCloseTo(shares.get(token) ?? 0, 6);
  });

  it('repetitionPenalty makes what was there less likely, whatever its sign', () => {
    const seen = LOGITS.map((_, token) => token === 4);
    expect(drawn({ repetitionPenalty: 1.2 }, seen)).toEqual([5]);
    const negative = pickToken(
      tensor([[-1, -1.5]]),
      { repetitionPenalty: 2 },
      tensor([[true, false]], { dtype: 'bool' }),
    );
    expect(negative.toArray()).toEqual([1]);
  });

  it('draws with the probabilities of the softmax', () => {
    manualSeed(11);
    const rows = tensor(Array.from({ length: 20_000 }, () => LOGITS));
    const counts = pickToken(rows, { temperature: 1 }, null).bincount().toArray() as number[];
    for (const { token, share } of ranked())
      expect((counts[token] ?? 0) / 20_000).toBeCloseTo(share, 1.7);
  });
});
