/**
 * @file Layout and memory: views, gathers, joins, writing in place, empty tensors.
 */
import { arange, cat, ones, pad, stack, zeros } from '@tessera/tensor';
import { type ConformanceCase, ramp, whole } from '../conformance-case.js';

/** See the file header. */
export const VIEW_CASES: readonly ConformanceCase[] = [
  {
    name: 'views: transposed, permuted and reshaped',
    inputs: (call) => [ramp([2, 3, 4], call)],
    run: (x) => [
      x!.transpose(0, 2).add(1),
      x!.permute([1, 2, 0]).reshape([6, 4]).mul(2),
      x!.view([4, 6]),
    ],
  },
  {
    name: 'views: slices with steps, selections, flips',
    inputs: (call) => [ramp([6, 8], call)],
    run: (x) => [
      x!.slice(1, 1, 7, 2).add(1),
      x!.select(0, -1).mul(2),
      x!.narrow(0, 2, 3),
      x!.flip([1]),
    ],
  },
  {
    name: 'views: inputs that are not contiguous, expanded or offset',
    inputs: (call) => [
      ramp([4, 3], call).t(),
      ramp([3, 1], call).expand([3, 4]),
      ramp([5, 4], call).narrow(0, 1, 3),
    ],
    run: (x, y, z) => [x!.mul(y!).add(z!), x!.sum(1), z!.matmul(y!.t())],
  },
  {
    name: 'views: joined and split',
    inputs: (call) => [ramp([2, 3], call), ramp([4, 3], call)],
    run: (x, y) => [
      cat([x!, y!, x!.mul(2)]),
      stack([x!, x!.add(1)], 1),
      ...y!.split(3),
      ...y!.chunk(2),
    ],
  },
  {
    name: 'views: padded',
    inputs: (call) => [ramp([2, 3], call)],
    run: (x) => pad(x!.add(1), [1, 2, 0, 1], { value: 7 }).mul(2),
  },
  {
    name: 'gathers: rows, elements, embeddings',
    inputs: (call) => [ramp([6, 4], call), whole([3], 6, call), whole([6, 2], 4, call)],
    run: (x, rows, at) => [x!.indexSelect(0, rows!), x!.gather(1, at!), x!.index(rows!).mul(2)],
  },
  {
    name: 'gathers: written and added by index',
    inputs: (call) => [ramp([6, 4], call), whole([3], 6, call), ramp([3, 4], call)],
    run: (x, rows, y) => [
      x!.indexAdd(0, rows!, y!),
      x!.scatterAdd(0, rows!.view([3, 1]), y!.slice(1, 0, 1)),
    ],
  },
  {
    name: 'masks: filled and triangular',
    inputs: (call) => [ramp([5, 5], call)],
    run: (x) => [x!.maskedFill(x!.gt(0.5), -1), x!.tril(), x!.triu(1)],
  },
  {
    name: 'factories: made inside',
    inputs: (call) => [ramp([4], call)],
    run: (x) => {
      const { device } = x!;
      return [
        arange(4, { device }).mul(x!),
        zeros([2, 4], { device }).add(x!),
        ones([4, 1], { device }).mul(x!),
      ];
    },
  },
  {
    name: 'in place: an input changes',
    inputs: (call) => [ramp([3, 4], call), ramp([3, 4], call + 1)],
    run: (x, y) => {
      x!.mul_(2).add_(y!);
      return x!.sum();
    },
  },
  {
    name: 'in place: through a view, and read again',
    inputs: (call) => [ramp([4, 4], call)],
    run: (x) => {
      x!.select(0, 1).fill_(3);
      x!.t().narrow(0, 2, 2).mul_(-1);
      return [x!.add(1), x!.sum(0)];
    },
  },
  {
    name: 'in place: on an intermediate and its views',
    inputs: (call) => [ramp([4, 4], call)],
    run: (x) => {
      const y = x!.mul(2);
      const row = y.select(0, 0);
      y.add_(1);
      row.zero_();
      return [y, row.add(5)];
    },
  },
  {
    name: 'in place: copied into, with conversion and broadcasting',
    inputs: (call) => [whole([3, 4], 9, call), ramp([4], call)],
    run: (x, y) => {
      x!.copy_(y!.mul(3));
      return x!.add(1);
    },
  },
  {
    name: 'empty: no elements in, none out',
    inputs: (call) => [zeros([0, 3]), ramp([2, 0], call)],
    run: (x, y) => [x!.mul(2).add(1), x!.sum(), x!.sum(0), y!.sum(1), cat([x!, x!])],
  },
  {
    name: 'empty: a product over nothing is zero',
    inputs: () => [zeros([2, 0]), zeros([0, 3])],
    run: (x, y) => x!.matmul(y!).add(1),
  },
  {
    name: 'outputs: several, shared, and an input itself',
    inputs: (call) => [ramp([3], call), ramp([3], call + 1)],
    run: (x, y) => {
      const z = x!.add(y!);
      return [z, [z.mul(2), z], x, z.view([3, 1])];
    },
  },
];
