/**
 * @file Random programs that write to parts of their arguments and read them between the writes: eager and compiled.
 * A failure prints the seed of its program and its steps; `TESSERA_WRITE_FUZZ=seed:count` runs others.
 */
import { type Tensor, manualSeed, matmul, noGrad, randn, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, observeCompilations, reset } from '../src/index.js';
import { dice } from './size-fuzz.js';

type Roll = ReturnType<typeof dice>;

/** Arguments that are written, [4, 24, 32] each. */
const SIZES = [4, 24, 32] as const;

interface State {
  readonly caches: readonly Tensor[];
  readonly results: Tensor[];
  /** Values that later steps may use. */
  readonly kept: Tensor[];
}

type Step = (state: State) => void;

/** A view of a part of a tensor, by steps that are fixed. */
function partOf(roll: Roll): { text: string; of: (t: Tensor) => Tensor } {
  const d = roll(3);
  const [at, length, by] = [roll(SIZES[d]!), 1 + roll(3), 1 + roll(2)];
  const [from, layer] = [Math.min(at, SIZES[d]! - length * by), roll(4)];
  const row = roll(24);
  const views: readonly (readonly [string, (t: Tensor) => Tensor])[] = [
    [`slice(${d}, ${from}, ${from + length})`, (t) => t.slice(d, from, from + length)],
    [`slice by ${by}`, (t) => t.slice(d, from, from + length * by, by)],
    [`select(${d}, ${at})`, (t) => t.select(d, at)],
    [`row ${row} of layer ${layer}`, (t) => t.select(0, layer).slice(0, row, row + 1)],
    ['a column, turned', (t) => t.transpose(1, 2).select(1, at % 32)],
    [`row ${row} of a flat view`, (t) => t.view([96, 32]).slice(0, row, row + 2)],
    ['rows of a turned flat view', (t) => t.view([96, 32]).t().narrow(1, row, 3)],
    ['a diagonal', (t) => t.select(0, layer).diagonal()],
    [
      'one element',
      (t) =>
        t
          .select(0, layer)
          .select(0, row)
          .narrow(0, at % 32, 1),
    ],
  ];
  const [text, of] = views[roll(views.length)]!;
  return { text, of };
}

/** Values of a shape, made of a number. */
function filled(like: Tensor, n: number): Tensor {
  return like.mul(0).add(n / 8);
}

function indexOf(values: readonly number[]): Tensor {
  return tensor([...values], { dtype: 'int64' });
}

function makeStep(roll: Roll): { text: string; run: Step } {
  const [a, b, n] = [roll(2), roll(2), 1 + roll(60)];
  const [part, other] = [partOf(roll), partOf(roll)];
  const [count, d] = [1 + roll(4), roll(3)];
  const places = indexOf(Array.from({ length: count }, () => roll(SIZES[d]!)));
  const [rows, columns] = [
    indexOf(Array.from({ length: count }, () => roll(24) - roll(2) * 24)),
    indexOf([roll(32)]),
  ];
  const sized = (t: Tensor): Tensor =>
    t
      .narrow(d, 0, count)
      .cos()
      .mul(n / 16);
  const steps: readonly (readonly [string, Step])[] = [
    [`${a}: ${part.text} = ${n}`, ({ caches }) => part.of(caches[a]!).fill_(n / 8)],
    [
      `${a}: ${part.text} copied from a sum`,
      ({ caches }) => {
        const to = part.of(caches[a]!);
        to.copy_(filled(to, n).add(caches[b]!.mean()));
      },
    ],
    [`${a}: ${part.text} += ${n}`, ({ caches }) => part.of(caches[a]!).add_(n / 8)],
    [`${a}: ${part.text} scaled`, ({ caches }) => part.of(caches[a]!).mul_(0.5)],
    [
      `${a}: ${part.text} from ${b}`,
      ({ caches }) => part.of(caches[a]!).copy_(part.of(caches[b]!).neg()),
    ],
    [
      `${a}: moved rows`,
      ({ caches }) => caches[a]!.slice(1, 0, 9).copy_(caches[b]!.slice(1, 5, 14).clone()),
    ],
    [
      `${a}: indexCopy_(${d}, ${String(places.toArray())})`,
      ({ caches }) => caches[a]!.indexCopy_(d, places, sized(caches[b]!)),
    ],
    [
      `${a}: indexPut_ of rows ${String(rows.toArray())}`,
      ({ caches }) => {
        const put = filled(caches[b]!.select(2, 0).narrow(1, 0, count), n);
        caches[a]!.indexPut_([null, rows, columns], put);
      },
    ],
    [
      `${a}: scatter_ along ${d}`,
      ({ caches }) => {
        const shape = SIZES.map((_, k) => (k === d ? count : 1));
        const index = places.view(shape).expand(SIZES.map((size, k) => (k === d ? count : size)));
        caches[a]!.scatter_(d, index, sized(caches[b]!));
      },
    ],
    [`sum of ${a}`, ({ caches, results }) => results.push(caches[a]!.sum(d))],
    [
      `${part.text} of ${a} read`,
      ({ caches, results }) => results.push(part.of(caches[a]!).mul(2)),
    ],
    [`${part.text} of ${a} kept`, ({ caches, kept }) => kept.push(part.of(caches[a]!).add(n / 8))],
    [`${a} kept whole`, ({ caches, kept }) => kept.push(caches[a]!.mul(n / 8))],
    [
      `a kept value into ${a}`,
      ({ caches, kept }) => {
        const value = kept[n % Math.max(kept.length, 1)];
        if (value !== undefined) other.of(caches[a]!).fill_(0).add_(value.mean());
      },
    ],
    ['a kept value', ({ kept, results }) => kept.slice(-1).forEach((v) => results.push(v.sin()))],
    [
      `product of ${a} and ${b}`,
      ({ caches, results }) => results.push(matmul(caches[a]!, caches[b]!.transpose(1, 2))),
    ],
    [`${a} scaled whole`, ({ caches }) => (n < 12 ? caches[a]!.mul_(0.75) : undefined)],
    [
      `attention over ${a}`,
      ({ caches, results }) => {
        const q = caches[b]!.narrow(1, 3, 2);
        const scores = matmul(q, caches[a]!.transpose(1, 2)).softmax(-1);
        results.push(matmul(scores, caches[a]!));
      },
    ],
  ];
  const [text, run] = steps[roll(steps.length)]! as [string, Step];
  return { text, run };
}

const [BASE = 1, COUNT = 60] = (process.env.TESSERA_WRITE_FUZZ ?? '')
  .split(':')
  .map(Number)
  .filter(Boolean);

function program(seed: number): { text: string; run: (...caches: Tensor[]) => Tensor[] } {
  const roll = dice(seed);
  const steps = Array.from({ length: 3 + roll(10) }, () => makeStep(roll));
  return {
    text: steps.map(({ text }) => text).join('\n'),
    run: (...caches) => {
      const state: State = { caches, results: [], kept: [] };
      for (const { run } of steps) run(state);
      return state.results;
    },
  };
}

function worst(actual: readonly Tensor[], expected: readonly Tensor[]): number {
  return Math.max(
    0,
    ...expected.map((t, i) => Number(t.sub(actual[i]!).abs().div(t.abs().add(1)).max().toArray())),
  );
}

let partial = 0;

describe(`writes of parts (seed ${BASE}, ${COUNT} programs)`, () => {
  it.each(Array.from({ length: COUNT }, (_, i) => BASE + i))('seed %i: as eager', (seed) => {
    reset();
    const { text, run } = program(seed);
    const [eager, compiled] = [0, 1].map(() => {
      manualSeed(seed);
      return [randn(SIZES), randn(SIZES)];
    }) as [Tensor[], Tensor[]];
    const kernels: string[] = [];
    const stop = observeCompilations((_, { plan }) =>
      kernels.push(...plan.kernels.map(({ name }) => name)),
    );
    const fn = compile(run);
    for (let call = 0; call < 2; call++) {
      const [expected, actual] = noGrad(() => [run(...eager), fn(...compiled)]);
      const error = worst([...actual, ...compiled], [...expected, ...eager]);
      expect(error, `seed ${seed}, call ${call}\n${text}`).toBeLessThan(1e-4);
    }
    stop();
    if (kernels.some((name) => /scatter|index_copy|index_put/.test(name))) partial++;
  });

  it('make kernels that write parts, most of them', () => {
    expect(partial).toBeGreaterThanOrEqual(Math.floor(COUNT / 4));
  });
});
