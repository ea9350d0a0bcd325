/**
 * @file Advanced indexing: one index tensor per dimension (or none), broadcast together.
 *
 * NumPy's rules: if the indexed dims are adjacent, the broadcast dims take their place, else they go
 * first. A bool mask stands for the positions where it holds, one index per dim that it covers.
 */
import { TesseraError } from '@tessera/shared';
import { broadcastShapes, contiguousStrides, formatSizes, numelOf, sameNumbers } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { coordinatesIn, positionsOfHits, wrapIndex } from './coordinates.js';
import { forEachOffset, readNumbers } from './elements.js';
import { pointwiseStrides } from './pointwise-strides.js';

/** Index of one dim. The shape of a result needs no values, which fakes and other devices do not show. */
interface DimIndex {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly values: () => ArrayLike<number>;
}

/** An index worked out against the shape it indexes. */
export interface IndexPlan {
  /** Shape of the result. */
  readonly sizes: readonly number[];
  /** Strides of the result: dense, its dims in the order that the indexed tensor's and the indices' strides give. */
  readonly strides: readonly number[];
  /** Row-major position in the indexed tensor of each element of the result. @throws index-out-of-range */
  positions(): Int32Array;
}

/** Whether an index says for each element whether it is taken. */
export function isMask(index: Tensor): boolean {
  return index.dtype === 'bool' || index.dtype === 'uint8';
}

/** @throws shape-mismatch unless a mask has the sizes of the dimensions of `sizes` from `dim` on */
export function checkMask(sizes: readonly number[], dim: number, mask: Tensor): void {
  if (sameNumbers(sizes.slice(dim, dim + mask.ndim), mask.sizes)) return;
  throw new TesseraError(
    'shape-mismatch',
    `index: The shape of the mask ${formatSizes(mask.sizes)} at index ${dim} does not match the shape of the indexed tensor ${formatSizes(sizes)} at index ${dim}`,
    { hints: ['Give the mask those sizes.'] },
  );
}

/** Positions where a mask holds, per dim. @throws fake-data-access */
function maskIndices(mask: Tensor): DimIndex[] {
  const hits = positionsOfHits(readNumbers(mask));
  return mask.sizes.map((_, d) => ({
    shape: [hits.length],
    strides: [1],
    values: () => coordinatesIn(mask.sizes, d, hits),
  }));
}

/** The index of each dim of `sizes`, null where the whole dim is taken. @throws shape-mismatch */
function indexPerDim(
  sizes: readonly number[],
  indices: readonly (Tensor | null)[],
): (DimIndex | null)[] {
  const perDim: (DimIndex | null)[] = [];
  for (const index of indices) {
    if (index === null) perDim.push(null);
    else if (isMask(index)) {
      checkMask(sizes, perDim.length, index);
      perDim.push(...maskIndices(index));
    } else {
      const { sizes: shape, strides } = index;
      perDim.push({ shape, strides, values: () => readNumbers(index) });
    }
  }
  if (perDim.length > sizes.length) {
    throw new TesseraError(
      'shape-mismatch',
      `index: too many indices for tensor of dimension ${sizes.length} (got ${perDim.length})`,
      { hints: ['Give at most one index per dimension.'] },
    );
  }
  while (perDim.length < sizes.length) perDim.push(null);
  return perDim;
}

/** Plans `self[indices]`. */
export function planIndex(self: Tensor, indices: readonly (Tensor | null)[]): IndexPlan {
  const { sizes } = self;
  const perDim = indexPerDim(sizes, indices);
  const indexed = perDim.flatMap((index, d) => (index === null ? [] : [d]));
  const shape = broadcastShapes(
    indexed.map((d) => perDim[d]!.shape),
    'index',
  );
  const adjacent = indexed.every((d, i) => i === 0 || d === indexed[i - 1]! + 1);
  const before = adjacent ? (indexed[0] ?? 0) : 0;
  const whole = sizes.map((_, d) => d).filter((d) => perDim[d] === null);
  const lead = adjacent ? whole.filter((d) => d < before) : [];
  const tail = whole.filter((d) => !lead.includes(d));
  const result = [...lead.map((d) => sizes[d]!), ...shape, ...tail.map((d) => sizes[d]!)];
  // As operands of the result: what is taken whole has its strides, what is indexed those of the indices.
  const none = (dims: readonly unknown[]): number[] => dims.map(() => 0);
  const columns = [
    [...lead.map((d) => self.strides[d]!), ...none(shape), ...tail.map((d) => self.strides[d]!)],
    ...indexed.map((d) => {
      const { shape: own, strides } = perDim[d]!;
      return [...none(lead), ...broadcastStrides(own, strides, shape), ...none(tail)];
    }),
  ];
  const strides = pointwiseStrides(
    result,
    columns.map((column) => ({ sizes: result, strides: column })),
    true,
  );
  const positions = (): Int32Array => {
    const strides = contiguousStrides(sizes);
    const count = numelOf(shape);
    const base = new Int32Array(count);
    for (const d of indexed) {
      const own = perDim[d]!;
      const values = own.values();
      const from = offsets(shape, broadcastStrides(own.shape, contiguousStrides(own.shape), shape));
      for (let i = 0; i < count; i++)
        base[i]! += wrapIndex(values[from[i]!]!, sizes[d]!, 'index') * strides[d]!;
    }
    const inner = offsets(
      tail.map((d) => sizes[d]!),
      tail.map((d) => strides[d]!),
    );
    const outer = offsets(
      lead.map((d) => sizes[d]!),
      lead.map((d) => strides[d]!),
    );
    const out = new Int32Array(outer.length * count * inner.length);
    let at = 0;
    for (const o of outer)
      for (const b of base) for (let i = 0; i < inner.length; i++) out[at++] = o + b + inner[i]!;
    return out;
  };
  return { sizes: result, strides, positions };
}

function offsets(sizes: readonly number[], strides: readonly number[]): Int32Array {
  const found = new Int32Array(numelOf(sizes));
  forEachOffset(sizes, strides, (i, offset) => (found[i] = offset));
  return found;
}

/** Strides of a tensor broadcast to `shape`. */
function broadcastStrides(
  own: readonly number[],
  strides: readonly number[],
  shape: readonly number[],
): number[] {
  const lead = shape.length - own.length;
  return shape.map((_, d) => (d < lead || own[d - lead] === 1 ? 0 : strides[d - lead]!));
}
