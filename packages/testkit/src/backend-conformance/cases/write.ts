/**
 * @file Writes to parts of arguments: kernels store the parts alone, what lies around them stays.
 */
import { type ConformanceCase, ramp, whole } from '../conformance-case.js';

/** See the file header. */
export const WRITE_CASES: readonly ConformanceCase[] = [
  {
    name: 'writes: a row, which a sum of the whole sees',
    inputs: (call) => [ramp([3, 40, 32], call), ramp([3, 1, 32], call + 1)],
    run: (x, row) => {
      x!.slice(1, 7, 8).copy_(row!.mul(2));
      return x!.sum(1);
    },
  },
  {
    name: 'writes: columns, every third row, a diagonal',
    inputs: (call) => [ramp([2, 48, 32], call), ramp([2, 48, 3], call + 1)],
    run: (x, columns) => {
      x!.slice(2, 5, 8).copy_(columns!);
      x!.slice(1, 1, 9, 3).mul_(0.5);
      x!.select(0, 1).diagonal().add_(1);
      return x!.amax(1);
    },
  },
  {
    name: 'writes: a part computed of its neighbours, read before and after',
    inputs: (call) => [ramp([2, 48, 32], call)],
    run: (x) => {
      const before = x!.mean(1);
      x!.slice(1, 0, 9).copy_(x!.slice(1, 4, 13).clone());
      return [before, x!.slice(1, 3, 6).mul(2), x!.sum(2)];
    },
  },
  {
    name: 'writes: through turned and flat views',
    inputs: (call) => [ramp([3, 32, 32], call), ramp([32], call + 1)],
    run: (x, line) => {
      x!.transpose(1, 2).select(1, 4).copy_(line!);
      x!.view([96, 32]).select(0, 50).sub_(line!);
      return x!.matmul(x!.transpose(1, 2));
    },
  },
  {
    name: 'writes: rows at an index, and at several, of which the last wins',
    inputs: (call) => [
      ramp([3, 40, 32], call),
      whole([1], 40, call),
      whole([4], 5, call),
      ramp([3, 4, 32], call + 1),
    ],
    run: (x, at, places, rows) => {
      x!.indexCopy_(1, at!, rows!.narrow(1, 0, 1));
      const between = x!.sum(1);
      x!.indexCopy_(1, places!, rows!);
      return [between, x!.sum(2)];
    },
  },
  {
    name: 'writes: elements at indices, negative ones too',
    inputs: (call) => [
      ramp([4, 40, 32], call),
      whole([3], 40, call),
      whole([3], 4, call + 1),
      ramp([3], call + 2),
    ],
    run: (x, rows, layers, values) => {
      x!.indexPut_([layers!, rows!.sub(40)], values!.unsqueeze(1).mul(2));
      x!.scatter_(1, rows!.view([1, 3, 1]).expand([4, 3, 32]), x!.narrow(1, 0, 3).cos());
      return x!.mean(2);
    },
  },
  {
    name: 'writes: of bools and whole numbers',
    inputs: (call) => [
      whole([40, 80], 2, call, 'bool'),
      whole([80, 40], 9, call),
      whole([2], 40, call),
    ],
    run: (flags, counts, places) => {
      flags!.indexCopy_(0, places!, flags!.narrow(0, 0, 2).logicalNot());
      counts!.select(1, 3).add_(flags!.sum(0));
      return counts!.sum(0);
    },
  },
];
