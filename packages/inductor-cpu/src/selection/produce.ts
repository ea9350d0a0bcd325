/**
 * @file Calls whose results have as many elements as their values say: nonzero, masked_select, bincount, unique.
 *
 * Each gives null for what it leaves to the reference kernel: tensors that are not row-major, and what is refused.
 */
import { DTYPES, type DType, type Tensor, cpuHeap, itemSize } from '@tessera/tensor';
import { emptyContiguous, emptyFromMeta } from '@tessera/tensor/internal';
import { ownFunction } from '../runtime/own-function.js';
import { countValues, largestInteger, roundAll, sumWeights } from './count-values.js';
import { distinct } from './distinct.js';
import { findHits, gather, innerCoordinates, outerCoordinates } from './find-hits.js';
import { type Row, sortRows } from '../sorting/run-rows.js';

/** Memory beyond which a call is left to others. */
const MOST_BYTES = 2 ** 31;
/** Fewer elements are left to the reference kernels, which begin sooner. */
export const FEW = 64;

/** Where the first element is. */
function addressOf({ storage, storageOffset, dtype }: Tensor): number {
  return storage.ptr + storageOffset * itemSize(dtype);
}

/** Whether a tensor's elements lie one after the other, and are enough to be worth it. */
function isRow(x: Tensor): boolean {
  return x.numel >= FEW && 8 * x.numel <= MOST_BYTES && x.storage.ptr >= 0 && x.isContiguous();
}

/** What `run` makes with so many bytes of memory. */
function withMemory<R>(bytes: number, run: (at: number) => R): R {
  const heap = cpuHeap();
  const at = heap.alloc(bytes);
  try {
    return run(at);
  } finally {
    heap.free(at);
  }
}

/** The positions of the elements that are not 0, for `use`. */
function withHits<R>(x: Tensor, use: (positions: number, count: number) => R): R {
  const find = ownFunction(`hits of ${x.dtype}`, () => findHits(x.dtype));
  // One more is written behind the last.
  return withMemory(4 * (x.numel + 1), (at) => use(at, find(addressOf(x), x.numel, at)));
}

/** The arguments of `nonzero`. */
export function nonzeroOf({ self }: { readonly self: Tensor }): Tensor | null {
  if (!isRow(self)) return null;
  return withHits(self, (positions, count) => {
    const { sizes, ndim } = self;
    const meta = { sizes: [count, ndim], strides: [1, Math.max(count, 1)], device: 'cpu' } as const;
    const out = emptyFromMeta({ ...meta, dtype: 'int64' });
    const inner = ownFunction('inner coordinates', innerCoordinates);
    const outer = ownFunction('outer coordinates', outerCoordinates);
    let stride = self.numel;
    for (let d = 0; d < ndim && count > 0; d++) {
      const to = addressOf(out) + 8 * count * d;
      stride /= sizes[d];
      if (d === ndim - 1) inner(positions, count, to, sizes[d]);
      else outer(positions, count, to, stride, sizes[d]);
    }
    return out;
  });
}

/** The arguments of `masked_select`. */
export function maskedSelectOf({
  self,
  mask,
}: {
  readonly self: Tensor;
  readonly mask: Tensor;
}): Tensor | null {
  const isSame = self.ndim === mask.ndim && self.sizes.every((size, d) => size === mask.sizes[d]);
  if (mask.dtype !== 'bool' || !isSame || !isRow(self) || !isRow(mask)) return null;
  return withHits(mask, (positions, count) => {
    const out = emptyContiguous([count], self.dtype, 'cpu');
    const bytes = itemSize(self.dtype);
    const run = ownFunction(`gather of ${bytes}`, () => gather(bytes));
    if (count > 0) run(positions, count, addressOf(self), addressOf(out));
    return out;
  });
}

interface BincountArgs {
  readonly self: Tensor;
  readonly weights: Tensor | null;
  readonly minlength: number;
}

/** The arguments of `bincount`. */
export function bincountOf({ self, weights, minlength }: BincountArgs): Tensor | null {
  const { dtype, numel } = self;
  const isCounted = DTYPES[dtype].category === 'integral' && self.ndim === 1 && isRow(self);
  if (!isCounted || !(minlength >= 0)) return null;
  const isFloat = weights?.dtype === 'float32' || weights?.dtype === 'float64';
  if (weights !== null && !(isFloat && weights.ndim === 1 && weights.numel === numel)) return null;
  if (weights !== null && !isRow(weights)) return null;
  const from = addressOf(self);
  const largest = ownFunction(`largest ${dtype}`, () => largestInteger(dtype))(from, numel);
  // Negative ones are refused elsewhere.
  if (!(8 * largest < MOST_BYTES)) return null;
  const length = Math.max(minlength, largest + 1);
  const kind: DType = weights?.dtype ?? 'int64';
  const out = emptyContiguous([length], kind, 'cpu');
  const to = addressOf(out);
  const clear = (at: number): void => void cpuHeap().u8.fill(0, at, at + 8 * length);
  if (weights === null) {
    clear(to);
    ownFunction(`count ${dtype}`, () => countValues(dtype))(from, numel, to);
    return out;
  }
  const single = kind === 'float32';
  const add = ownFunction(`sum ${kind} by ${dtype}`, () =>
    sumWeights(dtype, single ? 'float32' : 'float64'),
  );
  if (!single) {
    clear(to);
    add(from, numel, to, addressOf(weights));
    return out;
  }
  return withMemory(8 * length, (sums) => {
    clear(sums);
    add(from, numel, sums, addressOf(weights));
    ownFunction('round', roundAll)(sums, length, to);
    return out;
  });
}

interface UniqueArgs {
  readonly self: Tensor;
  readonly return_inverse: boolean;
  readonly return_counts?: boolean;
  readonly dim?: number | null;
}

/** Distinct elements in order, or the first of each run; the inverse in the shape of self; the counts. What is not asked for is empty. */
function runsOf(
  { self, return_inverse: isInverse, return_counts: isCounted = false, dim = null }: UniqueArgs,
  isSorted: boolean,
): Tensor[] | null {
  if (dim !== null || !isRow(self)) return null;
  const { dtype, numel } = self;
  const bytes = itemSize(dtype);
  return withMemory((16 + bytes) * numel, (lengths) => {
    const positions = lengths + 8 * numel;
    const values = positions + 8 * numel;
    const row = { sizes: [numel], strides: [1], ndim: 1 };
    const put = (kind: DType, ptr: number): Row => ({
      ...row,
      dtype: kind,
      storage: { ptr },
      storageOffset: 0,
    });
    const from = put(dtype, addressOf(self));
    const [sorted, order] = [put(dtype, values), put('int64', positions)];
    if (isSorted && !sortRows(from, 0, false, sorted, order)) return null;
    const runs = emptyContiguous(isInverse ? self.sizes : [0], 'int64', 'cpu');
    const count = ownFunction(`distinct ${dtype}`, () => distinct(dtype))(
      isSorted ? values : from.storage.ptr,
      numel,
      values,
      isSorted ? positions : 0,
      isInverse ? addressOf(runs) : 0,
      isCounted ? lengths : 0,
    );
    const copy = (at: number, size: number, kind: DType): Tensor => {
      const out = emptyContiguous([size], kind, 'cpu');
      if (size > 0) cpuHeap().u8.copyWithin(addressOf(out), at, at + size * itemSize(kind));
      return out;
    };
    return [copy(values, count, dtype), runs, copy(lengths, isCounted ? count : 0, 'int64')];
  });
}

/** The arguments of `_unique2`. */
export function uniqueOf(args: UniqueArgs): Tensor[] | null {
  return runsOf(args, true);
}

/** The arguments of `unique_consecutive`. */
export function uniqueConsecutiveOf(args: UniqueArgs): Tensor[] | null {
  return runsOf(args, false);
}
