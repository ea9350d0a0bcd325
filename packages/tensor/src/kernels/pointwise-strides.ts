/**
 * @file Which layout the result of a pointwise op has: PyTorch's stride propagation.
 *
 * Inputs that agree on a dense layout (row-major, channels-last, any permutation) hand it to the
 * result. Otherwise the dims are ordered by the strides of the operands, first operand first, and
 * the result is dense in that order. @see TensorIterator::reorder_dimensions
 */
import { contiguousStrides, isContiguous, isDense, sameNumbers } from '../shape.js';

/** Sizes and strides of an operand, in elements; a number has none. */
export interface OperandLayout {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

/** Dimensions from the innermost on in channels-last (NHWC or NDHWC) order. */
export function channelsLastOrder(rank: number): number[] {
  return [1, ...Array.from({ length: rank - 2 }, (_, i) => rank - 1 - i), 0];
}

/** Strides of channels-last order. */
export function channelsLastStrides(sizes: readonly number[]): number[] {
  const out = new Array<number>(sizes.length);
  let step = 1;
  for (const dim of channelsLastOrder(sizes.length)) {
    out[dim] = step;
    step *= Math.max(sizes[dim]!, 1);
  }
  return out;
}

/** Whether a layout of `rank` dimensions, images unless given, is dense in channels-last order. */
export function isChannelsLast(
  sizes: readonly number[],
  strides: readonly number[],
  rank = 4,
): boolean {
  if (sizes.length !== rank) return false;
  const dense = channelsLastStrides(sizes);
  return strides.every((stride, dim) => sizes[dim] === 1 || stride === dense[dim]);
}

/** Whether dim `a` belongs outside dim `b`: 1 yes, -1 no, 0 undecided by these operands. */
function compareDims(
  a: number,
  b: number,
  sizes: readonly number[],
  columns: readonly (readonly number[])[],
): number {
  for (const strides of columns) {
    const sa = strides[a]!;
    const sb = strides[b]!;
    // A broadcast dim says nothing about the order.
    if (sa === 0 || sb === 0) continue;
    if (sa < sb) return -1;
    if (sa > sb) return 1;
    if (sizes[a]! > sizes[b]!) return 1;
  }
  return 0;
}

/** Dims from innermost to outermost, by the strides of the operands. */
function dimOrder(sizes: readonly number[], columns: readonly (readonly number[])[]): number[] {
  const order = sizes.map((_, i) => sizes.length - 1 - i);
  for (let i = 1; i < order.length; i++) {
    let at = i;
    for (let before = i - 1; before >= 0; before--) {
      const comparison = compareDims(order[before]!, order[at]!, sizes, columns);
      if (comparison < 0) break;
      if (comparison > 0) {
        [order[before], order[at]] = [order[at]!, order[before]!];
        at = before;
      }
    }
  }
  return order;
}

function stridesInOrder(sizes: readonly number[], order: readonly number[]): number[] {
  const out = new Array<number>(sizes.length);
  let step = 1;
  for (const dim of order) {
    out[dim] = step;
    step *= Math.max(sizes[dim]!, 1);
  }
  return out;
}

/** Strides of an operand as part of a broadcast result of shape `sizes`. */
function broadcastColumn(operand: OperandLayout, sizes: readonly number[]): number[] {
  const lead = sizes.length - operand.sizes.length;
  return sizes.map((size, i) =>
    i < lead || (operand.sizes[i - lead] === 1 && size !== 1) ? 0 : operand.strides[i - lead]!,
  );
}

/**
 * Strides of a pointwise result of shape `sizes`.
 *
 * @param withNumbers whether some operand is a number: a 0-d operand, which takes part in no layout
 */
export function pointwiseStrides(
  sizes: readonly number[],
  operands: readonly OperandLayout[],
  withNumbers = false,
): number[] {
  if (!withNumbers && operands.every((operand) => sameNumbers(operand.sizes, sizes))) {
    if (operands.every((operand) => isContiguous(operand.sizes, operand.strides)))
      return contiguousStrides(sizes);
    if (operands.every((operand) => isChannelsLast(operand.sizes, operand.strides)))
      return channelsLastStrides(sizes);
    const first = operands[0]!.strides;
    if (
      operands.every(
        (operand) => isDense(operand.sizes, operand.strides) && sameNumbers(operand.strides, first),
      )
    )
      return [...first];
  }
  return stridesInOrder(
    sizes,
    dimOrder(
      sizes,
      operands.map((operand) => broadcastColumn(operand, sizes)),
    ),
  );
}

/** Strides of a copy that keeps the layout of a tensor: its own if dense, else dense in the same order. */
export function preservedStrides(sizes: readonly number[], strides: readonly number[]): number[] {
  return isDense(sizes, strides) ? [...strides] : stridesInOrder(sizes, dimOrder(sizes, [strides]));
}
