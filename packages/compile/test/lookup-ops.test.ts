/**
 * @file Triangles, spaces, distances, grid sampling, bags and strided writes: compiled results and gradients
 * equal those of the reference kernels.
 */
import {
  type Tensor,
  callOp,
  cdist,
  fromTypedArray,
  getOp,
  grad,
  linspace,
  logspace,
  pdist,
  tensor,
  trilIndices,
  triuIndices,
  where,
} from '@tessera/tensor';
import { asStridedScatter, embeddingBag, readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compile, config } from '../src/index.js';

/** Repeatable values in [-1, 1]. */
function waves(...sizes: number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float32Array.from({ length: numel }, (_, i) => Math.sin(i * 12.9898 + 0.3 * numel)),
    sizes,
    { requiresGrad: true },
  );
}

function expectClose(actual: readonly Tensor[], expected: readonly Tensor[]): void {
  expect(actual.length).toBe(expected.length);
  expected.forEach((tensor, i) => {
    expect(actual[i]!.shape).toEqual(tensor.shape);
    expect(actual[i]!.dtype).toBe(tensor.dtype);
    const e = readNumbers(tensor);
    readNumbers(actual[i]!).forEach((value, at) => {
      if (Number.isNaN(e[at]!)) expect(value).toBeNaN();
      else expect(Math.abs(value - e[at]!)).toBeLessThanOrEqual(2e-5 + 1e-4 * Math.abs(e[at]!));
    });
  });
}

const reference = <T>(run: () => T): T => config.patch({ 'eager.kernels': 'reference' }, run);
const long = (...data: number[]): Tensor => tensor(data, { dtype: 'int64' });
const indices = long(1, 4, 4, 0, 2, 2, 2);
const offsets = long(0, 3, 3, 5);

function sampled(mode: number, padding: number, corners: boolean) {
  return (x: Tensor, grid: Tensor): Tensor =>
    callOp(getOp('aten::grid_sampler'), [x, grid.mul(1.4), mode, padding, corners]) as Tensor;
}

/** Positions of which some are no numbers, among others. */
const nowhere = (): Tensor =>
  tensor(
    [
      [
        [
          [NaN, 0.2],
          [0.1, -0.3],
          [0.2, NaN],
          [Infinity, 0.2],
          [-0.4, -Infinity],
          [3, 0.1],
        ],
      ],
    ],
    { requiresGrad: true },
  );

type Case = readonly [name: string, fn: (...inputs: Tensor[]) => Tensor, inputs: readonly Tensor[]];

const MODES = [0, 1, 2].flatMap((mode) => [0, 1, 2].map((padding) => [mode, padding] as const));

const CASES: readonly Case[] = [
  ['gather at a position without dimensions', (x) => x.gather(0, long(2).reshape([])), [waves(4)]],
  ...[0, 1, 1.5, 2, Infinity].map((p): Case => [
    `cdist ${p}`,
    (a, b) => cdist(a!, b!, { p }),
    [waves(2, 5, 3), waves(7, 3)],
  ]),
  ['cdist by products', (a, b) => cdist(a!, b!), [waves(30, 3), waves(6, 3)]],
  [
    'cdist of batches by products',
    (a, b) => cdist(a!, b!),
    [waves(2, 1, 30, 3), waves(3, 6, 3).mul(2).add(1)],
  ],
  ['pdist', (a) => pdist(a!), [waves(9, 3)]],
  ...MODES.map(([mode, padding]): Case => [
    `grid sampling ${mode} ${padding}`,
    sampled(mode, padding, padding === 1),
    [waves(2, 3, 5, 6), waves(2, 4, 3, 2)],
  ]),
  ...MODES.map(([mode, padding]): Case => [
    `grid sampling ${mode} ${padding} at no place`,
    (x, grid) => {
      const seen = sampled(mode, padding, padding === 1)(x!, grid!);
      return where(seen.isnan(), 5, seen);
    },
    [waves(1, 2, 5, 6), nowhere()],
  ]),
  ['volume sampling', sampled(0, 0, false), [waves(1, 2, 3, 4, 5), waves(1, 2, 2, 3, 3)]],
  ...(['sum', 'mean', 'max'] as const).map((mode): Case => [
    `embedding bags ${mode}`,
    (weight) => embeddingBag(weight!, indices, offsets, { mode, paddingIdx: 4 })[0],
    [waves(6, 3)],
  ]),
  [
    'embedding bags with weights',
    (weight, scales) =>
      embeddingBag(weight!, indices, offsets, { mode: 'sum', perSampleWeights: scales! })[0],
    [waves(6, 3), waves(7)],
  ],
  [
    'a nested geometry',
    (a, b) => asStridedScatter(a!, b!, [2, 3], [8, 2], 1).mul(a!),
    [waves(4, 6), waves(2, 3)],
  ],
  [
    'an interleaved geometry',
    (a, b) => asStridedScatter(a!.detach(), b!, [2, 3], [3, 2], 1),
    [waves(4, 6), waves(2, 3)],
  ],
];

describe('compiled lookups', () => {
  it.each(CASES)('%s', (_name, fn, inputs) => {
    const run = (call: typeof fn): Tensor[] => {
      const out = call(...inputs);
      const used = inputs.filter(() => out.requiresGrad);
      const grads = grad([out.mul(out).sum()], used, { allowUnused: true });
      return [out.detach(), ...grads.filter((each) => each !== null)];
    };
    expectClose(
      run(compile(fn)),
      reference(() => run(fn)),
    );
  });

  it('triangles of every shape and offset', () => {
    for (const [rows, columns] of [
      [1, 1],
      [3, 7],
      [7, 3],
      [5, 5],
      [60, 61],
    ] as const) {
      for (const offset of [-8, -3, -1, 0, 1, 2, 6]) {
        const fn = (x: Tensor): Tensor[] =>
          [triuIndices(rows, columns, offset), trilIndices(rows, columns, offset)].map((each) =>
            each.add(x),
          );
        const zero = long(0);
        expectClose(
          compile(fn)(zero),
          reference(() => fn(zero)),
        );
      }
    }
  });

  it('spaces between numbers and tensors', () => {
    const fn = (x: Tensor): Tensor[] => [
      linspace(x.sum(), 3, 7),
      linspace(-2, 9, 50, { dtype: 'float16' }),
      linspace(50, -3, 50, { dtype: 'int64' }),
      logspace(-1, x.sum(), 5, { base: 2 }),
      logspace(0, 3, 4, { dtype: 'int32' }),
    ];
    const x = tensor([0.5, 1]);
    expectClose(
      compile(fn)(x),
      reference(() => fn(x)),
    );
  });
});
