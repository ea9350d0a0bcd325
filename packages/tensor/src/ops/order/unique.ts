/**
 * @file Distinct elements or slices: of the whole, or of each run.
 *
 * NaN differs from itself, so each one is listed. What was not asked for comes back as an empty vector.
 */
import { checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { pick, sliceLayout } from '../../kernels/coordinates.js';
import { roomFor, writeNumbers } from '../../kernels/elements.js';
import { readRows } from '../../kernels/ordered-rows.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpTag } from '../../op/op-record.js';
import { contiguousStrides, numelOf, wrapDim } from '../../shape.js';
import { emptyContiguous, emptyFromMeta } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import {
  type UniqueOptions,
  type UniqueResult,
  UNIQUE,
  checkSlices,
  chosen,
} from './unique-options.js';

const TAGS: readonly OpTag[] = ['data-dependent', 'non-differentiable'];
const AWAITED = 'uniqueAsync(x)';

/** Elements (or slices) by first of a group: which one stands for it, the group of each, the sizes. */
interface Groups {
  readonly first: Int32Array;
  readonly of: Int32Array;
  readonly counts: Int32Array;
}

/** Groups of equal neighbours in an order of positions. */
function runs(order: Int32Array, same: (a: number, b: number) => boolean): Groups {
  const { length } = order;
  const first = new Int32Array(length);
  const counts = new Int32Array(length);
  const of = new Int32Array(length);
  let last = -1;
  for (let i = 0; i < length; i++) {
    const position = order[i]!;
    if (i === 0 || !same(order[i - 1]!, position)) first[++last] = position;
    of[position] = last;
    counts[last]!++;
  }
  return { first: first.subarray(0, last + 1), of, counts: counts.subarray(0, last + 1) };
}

function positions(count: number): Int32Array {
  const all = new Int32Array(count);
  for (let i = 0; i < count; i++) all[i] = i;
  return all;
}

function longs(values: ArrayLike<number> | null, sizes?: readonly number[]): Tensor {
  const out = emptyContiguous(sizes ?? [values?.length ?? 0], 'int64', 'cpu');
  writeNumbers(out, values ?? []);
  return out;
}

/** Distinct elements of a flattened tensor, the inverse in the shape of self, the counts. */
function elements(self: Tensor, sorted: boolean, inverse: boolean, counts: boolean): Tensor[] {
  const { values, order: rows } = readRows(self);
  const order = sorted ? rows.sort(0) : positions(values.length);
  const groups = runs(order, (a, b) => values[a] === values[b]);
  const distinct = emptyContiguous([groups.first.length], self.dtype, 'cpu');
  writeNumbers(distinct, pick(values, groups.first));
  return [
    distinct,
    inverse ? longs(groups.of, self.sizes) : longs(null),
    counts ? longs(groups.counts) : longs(null),
  ];
}

/** Distinct slices along a dim, the group of each slice, the counts. */
function slices(self: Tensor, dim: number, sorted: boolean): Tensor[] {
  const { outer, size, inner } = sliceLayout(self.sizes, dim);
  const { values } = readRows(self);
  const width = outer * inner;
  const at = (slice: number, i: number): number =>
    values[(Math.floor(i / inner) * size + slice) * inner + (i % inner)]!;
  const compare = (a: number, b: number): number => {
    for (let i = 0; i < width; i++) {
      const x = at(a, i);
      const y = at(b, i);
      if (x !== y) return x < y ? -1 : 1;
    }
    return 0;
  };
  const order = positions(size);
  if (sorted) order.sort((a, b) => compare(a, b) || a - b);
  const groups = runs(order, (a, b) => compare(a, b) === 0);
  const count = groups.first.length;
  const sizes = self.sizes.map((s, d) => (d === dim ? count : s));
  const out = emptyFromMeta({
    sizes,
    strides: movedStrides(sizes, dim),
    dtype: self.dtype,
    device: 'cpu',
  });
  const result = roomFor(self.dtype, numelOf(sizes));
  groups.first.forEach((slice, g) => {
    for (let i = 0; i < width; i++)
      result[(Math.floor(i / inner) * count + g) * inner + (i % inner)] = at(slice, i);
  });
  writeNumbers(out, result);
  return [out, longs(groups.of), longs(groups.counts)];
}

/** The slices lie one after the other in memory. */
function movedStrides(sizes: readonly number[], dim: number): number[] {
  const others = sizes.filter((_, d) => d !== dim);
  const [along, ...rest] = contiguousStrides([sizes[dim]!, ...others]);
  return sizes.map((_, d) => (d === dim ? along! : rest.shift()!));
}

export const uniqueElementsOp: OpOverload<[Tensor, Tensor]> = defineOp(
  'aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)',
  {
    tags: TAGS,
    awaited: AWAITED,
    produce: ({ self, return_inverse }) => elements(self, true, return_inverse, false).slice(0, 2),
  },
);
const uniqueOp = defineOp(
  'aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)',
  {
    tags: TAGS,
    awaited: AWAITED,
    produce: ({ self, return_inverse, return_counts }) =>
      elements(self, true, return_inverse, return_counts),
  },
);
const uniqueDimOp = defineOp(
  'aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)',
  {
    tags: TAGS,
    awaited: AWAITED,
    produce: ({ self, dim }) => {
      const at = wrapDim(dim, self.ndim, 'unique_dim');
      checkSlices(self, at);
      return slices(self, at, true);
    },
  },
);
const uniqueConsecutiveOp = defineOp(
  'aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)',
  {
    tags: TAGS,
    awaited: 'uniqueConsecutiveAsync(x)',
    produce: ({ self, return_inverse, return_counts, dim }) => {
      if (dim === null) return elements(self, false, return_inverse, return_counts);
      const at = wrapDim(dim, self.ndim, 'unique_consecutive');
      checkSlices(self, at);
      return slices(self, at, false);
    },
  },
);

/** The distinct elements in ascending order; the shape depends on the values. @throws invalid-dim, shape-mismatch */
export function unique<const O extends UniqueOptions = Record<never, never>>(
  self: Tensor,
  options?: O,
): UniqueResult<O> {
  checkOptionNames('unique', options, UNIQUE);
  const { returnInverse = false, returnCounts = false, dim = null } = options ?? {};
  const results =
    dim === null
      ? callOp(uniqueOp, [self, true, returnInverse, returnCounts])
      : callOp(uniqueDimOp, [self, dim, true, returnInverse, returnCounts]);
  return chosen(results, options);
}

/** The first element of each run of equal ones; the shape depends on the values. @throws invalid-dim, shape-mismatch */
export function uniqueConsecutive<const O extends UniqueOptions = Record<never, never>>(
  self: Tensor,
  options?: O,
): UniqueResult<O> {
  checkOptionNames('uniqueConsecutive', options, UNIQUE);
  const { returnInverse = false, returnCounts = false, dim = null } = options ?? {};
  const results = callOp(uniqueConsecutiveOp, [self, returnInverse, returnCounts, dim]);
  return chosen(results, options);
}

/** `unique` and `uniqueConsecutive` as methods. */
export interface UniqueMethods {
  /** The distinct elements in ascending order; the shape depends on the values. @throws invalid-dim, shape-mismatch */
  unique<const O extends UniqueOptions = Record<never, never>>(options?: O): UniqueResult<O>;
  /** The first element of each run of equal ones; the shape depends on the values. @throws invalid-dim, shape-mismatch */
  uniqueConsecutive<const O extends UniqueOptions = Record<never, never>>(
    options?: O,
  ): UniqueResult<O>;
}
