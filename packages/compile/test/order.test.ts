/**
 * @file Sorting, choosing and searching in compiled code against the reference kernels.
 */
import { type Tensor, bucketize, fromTypedArray, searchsorted, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile, config } from '../src/index.js';

const nan = Number.NaN;
const rows = tensor([
  [3, nan, -1, 0.5, 3, nan],
  [2, 2, -0, 0, Infinity, -Infinity],
]);
/** Longer than rows that are ranked where the reference kernel can sort. */
const long = fromTypedArray(
  Float32Array.from({ length: 300 }, (_, i) => Math.round(Math.sin(i * 12.9898) * 40)),
  [3, 100],
);
const edges = tensor([-10, 0, 0, 7]);

const cases: [name: string, fn: (x: Tensor) => Tensor[]][] = [
  ['sort', (x) => [...x.sort(1), ...x.sort(0, { descending: true })]],
  ['topk', (x) => [x.topk(2, { dim: 1 })[0], x.topk(3, { dim: -1, largest: false })[0]]],
  ['kthvalue', (x) => x.kthvalue(2, { dim: 1 })],
  ['median', (x) => [x.median(), ...x.median(1), x.nanmedian(), ...x.nanmedian(0)]],
  ['mode', (x) => [...x.mode(1), ...x.mode(0)]],
  ['search', (x) => [searchsorted(edges, x), bucketize(x, edges, { right: true })]],
  [
    'search in rows of several lengths',
    (x) => {
      const known = x.nanToNum({ nan: 1 });
      const sorted = known.sort(1)[0];
      return [
        searchsorted(sorted, known, { right: true }),
        searchsorted(known, x, { sorter: known.argsort(1) }),
        bucketize(x, known.reshape([-1]).sort()[0], { outInt32: true }),
      ];
    },
  ],
  ['search of a number', (x) => [searchsorted(x.sort(1)[0].select(0, 0), 0.25)]],
  ['search among integers', (x) => [x, bucketize(2.5, edges.to('int32'))]],
];

it.each(cases)('%s', (_name, fn) => {
  for (const x of [rows, long]) {
    const expected = config.patch({ 'eager.kernels': 'reference' }, () => fn(x));
    const actual = compile(fn)(x);
    expected.forEach((e, i) => {
      expect(actual[i]!.dtype).toBe(e.dtype);
      expect(actual[i]!.toArray()).toEqual(e.toArray());
    });
  }
});

it.each(['reference', 'inductor'])(
  'gather and scatter refuse negative places (%s kernels), as PyTorch does',
  (kernels) => {
    const at = tensor([[-1, 0]], { dtype: 'int64' });
    config.patch({ 'eager.kernels': kernels }, () => {
      for (const run of [
        () => long.gather(1, at),
        () => long.scatter(1, at, 9),
        () => long.scatterReduce(1, at, long.narrow(0, 0, 1), 'amax'),
      ])
        expect(run).toThrow(expect.objectContaining({ code: 'index-out-of-range' }));
    });
  },
);
