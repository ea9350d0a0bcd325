/**
 * @file Speculative generation: the model's own tokens, whatever the draft proposes.
 */
import { manualSeed, rand, randn, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { acceptProposals } from '../src/generate/accept-proposals.js';
import { SpeculativeGenerator, TextGenerator } from '../src/index.js';
import { tinyModel } from './support/tiny-model.js';

const model = tinyModel();
/** One that agrees with the model now and then: its weights are a little off. */
const other = tinyModel();
manualSeed(21);
for (const parameter of other.parameters())
  parameter.detach().mul_(randn(parameter.shape).mul(0.3).add(1));
const prompts = [[5], [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], [36, 0, 12]];
const sizes = { maxLength: 48, chunk: 8 } as const;
const NO_END = { endTokens: [] } as const;

describe('acceptProposals', () => {
  const target = [0.05, 0.4, 0.1, 0.25, 0.2, 0];
  const draft = [0.3, 0.1, 0.1, 0, 0.25, 0.25];

  it('gives tokens of the distribution of the model', () => {
    manualSeed(3);
    const draws = 6000;
    const q = tensor([draft]);
    const p = tensor([target, target]);
    const proposals = tensor(draft).multinomial(draws, { replacement: true });
    const chances = rand([draws]);
    const counts = Array<number>(6).fill(0);
    for (let i = 0; i < draws; i++) {
      const proposed = proposals.narrow(0, i, 1);
      const { accepted, next } = acceptProposals(p, q, proposed, chances.narrow(0, i, 1));
      counts[(accepted.item() === 1 ? proposed : next).item() as number]!++;
    }
    const distance = counts.reduce((sum, n, i) => sum + Math.abs(n / draws - target[i]!), 0) / 2;
    // Of so many draws about 0.01; the draft's own distribution is 0.55 away.
    expect(distance).toBeLessThan(0.03);
  });

  it('stops at the first proposal that is refused', () => {
    const certain = (token: number): number[] => target.map((_, i) => (i === token ? 1 : 0));
    const p = tensor([certain(1), certain(2), certain(3), certain(4)]);
    const q = tensor([certain(1), certain(5), certain(3)]);
    const chance = tensor([0.99, 0, 0.99]);
    const proposed = tensor([1, 5, 3], { dtype: 'int64' });
    const { accepted, next } = acceptProposals(p, q, proposed, chance);
    expect([accepted.item(), next.item()]).toEqual([1, 2]);
    const all = acceptProposals(
      p,
      p.narrow(0, 0, 3),
      tensor([1, 2, 3], { dtype: 'int64' }),
      chance,
    );
    expect([all.accepted.item(), all.next.item()]).toEqual([3, 4]);
  });
});

describe.each([true, false])('SpeculativeGenerator (compile: %s)', (compile) => {
  const alone = new TextGenerator(model, { ...sizes, compile });

  it.each([1, 3, 5])(
    'makes the tokens of the model alone, %d proposed at once',
    async (lookahead) => {
      const both = new SpeculativeGenerator(model, other, { ...sizes, lookahead, compile });
      for (const prompt of prompts)
        for (const maxNewTokens of [1, 2, 20]) {
          const options = { maxNewTokens, ...NO_END };
          const [expected] = await alone.generate(prompt, options);
          expect(await both.generate(prompt, options)).toEqual(expected);
        }
      const { made, accepted } = both.proposals;
      expect(accepted).toBeGreaterThan(0);
      expect(accepted).toBeLessThan(made);
    },
  );

  it('accepts all that the model itself proposes', async () => {
    const both = new SpeculativeGenerator(model, model, { ...sizes, lookahead: 3, compile });
    const rounds: number[] = [];
    for await (const tokens of both.stream([3, 1, 4], { maxNewTokens: 13, ...NO_END }))
      rounds.push(tokens.length);
    expect(rounds).toEqual([1, 4, 4, 4]);
    expect(both.proposals).toEqual({ made: 9, accepted: 9 });
  });
});

describe('SpeculativeGenerator', () => {
  const both = new SpeculativeGenerator(model, other, { ...sizes, compile: false });

  it('draws tokens as often as the model alone does', async () => {
    const alone = new TextGenerator(model, sizes);
    const drawn = new SpeculativeGenerator(model, other, { ...sizes, lookahead: 2 });
    const options = { maxNewTokens: 3, temperature: 1.5, topK: 3, ...NO_END };
    const count = async (generate: () => Promise<number[]>): Promise<Map<string, number>> => {
      const counts = new Map<string, number>();
      for (let i = 0; i < 400; i++) {
        const text = (await generate()).slice(1).join();
        counts.set(text, (counts.get(text) ?? 0) + 1 / 400);
      }
      return counts;
    };
    manualSeed(11);
    const expected = await count(async () => (await alone.generate([3, 1, 4], options))[0]!);
    const got = await count(() => drawn.generate([3, 1, 4], options));
    const texts = new Set([...expected.keys(), ...got.keys()]);
    const distance =
      [...texts].reduce(
        (sum, text) => sum + Math.abs((expected.get(text) ?? 0) - (got.get(text) ?? 0)),
        0,
      ) / 2;
    // Two samples of 400 from at most 27 texts are about 0.13 apart.
    expect(distance).toBeLessThan(0.25);
  });

  it('ends at end tokens in the middle of a round, and gives the same text for a seed', async () => {
    const whole = await both.generate([3, 1, 4], { maxNewTokens: 12, ...NO_END });
    const end = whole[5]!;
    const text = await both.generate([3, 1, 4], { maxNewTokens: 12, endTokens: [end] });
    expect(text).toEqual(whole.slice(0, whole.indexOf(end) + 1));
    const options = { maxNewTokens: 12, temperature: 1, seed: 5, ...NO_END };
    expect(await both.generate([3], options)).toEqual(await both.generate([3], options));
  });

  it('refuses what it cannot do', async () => {
    const { signal } = ((controller) => (controller.abort(new Error('enough')), controller))(
      new AbortController(),
    );
    await expect(both.generate([1], { signal })).rejects.toThrow('enough');
    await expect(both.generate([1], { repetitionPenalty: 2 })).rejects.toThrow('TextGenerator');
    await expect(both.generate([1], { maxNewTokens: 48 })).rejects.toThrow('room for 47');
    expect(() => new SpeculativeGenerator(model, other, { lookahead: 0 })).toThrow('lookahead');
    expect(() => new SpeculativeGenerator(model, other, { maxLength: 100_000 })).toThrow(
      'positions',
    );
  });
});
