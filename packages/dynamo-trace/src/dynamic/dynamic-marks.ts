/**
 * @file Dims that people declare to vary, or not to.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import type { SymbolRange } from './symbol-table.js';

/** What was said about a dim. */
export type DimMark = 'static' | SymbolRange;

const marks = new WeakMap<Tensor, Map<number, DimMark>>();

function mark(tensor: Tensor, dims: readonly number[], value: DimMark): void {
  let known = marks.get(tensor);
  if (known === undefined) marks.set(tensor, (known = new Map()));
  for (const dim of dims) {
    const at = dim < 0 ? dim + tensor.ndim : dim;
    if (!Number.isInteger(at) || at < 0 || at >= tensor.ndim) {
      throw new TesseraError(
        'invalid-argument',
        `Dimension out of range (expected to be in range of [${-tensor.ndim}, ${tensor.ndim - 1}], but got ${dim})`,
        { hints: [`The tensor has shape ${formatSizes(tensor.sizes)}.`] },
      );
    }
    known.set(at, value);
  }
}

/**
 * Declares that a dim of a tensor varies between calls, so the first capture already serves every size
 * from `min` (at least 2) to `max`.
 *
 * @throws invalid-argument for a dim that is not there or a present size out of range
 * @see torch._dynamo.mark_dynamic
 */
export function markDynamic(
  tensor: Tensor,
  dims: number | readonly number[],
  range: { readonly min?: number; readonly max?: number } = {},
): void {
  if (!isTensor(tensor))
    throw new TesseraError(
      'invalid-argument',
      `markDynamic() marks a tensor, not ${String(tensor)}.`,
      { hints: ['Mark an argument before the call: markDynamic(x, 0).'] },
    );
  const list = typeof dims === 'number' ? [dims] : dims;
  const bounds = { min: Math.max(2, range.min ?? 2), max: range.max ?? Infinity };
  for (const dim of list) {
    const size = tensor.sizes[dim < 0 ? dim + tensor.ndim : dim];
    if (size === undefined || (size >= bounds.min && size <= bounds.max)) continue;
    throw new TesseraError(
      'invalid-argument',
      `markDynamic: dim ${dim} has size ${size}, which is not from ${bounds.min} to ${bounds.max}.`,
      {
        hints: ['Sizes 0 and 1 are always specialised. Declare min and max around the real sizes.'],
      },
    );
  }
  mark(tensor, list, bounds);
}

/**
 * Declares that dims of a tensor (all, if none is named) never become dynamic: another size compiles again.
 *
 * @throws invalid-argument for a dim that is not there
 * @see torch._dynamo.mark_static
 */
export function markStatic(tensor: Tensor, dims?: number | readonly number[]): void {
  const list =
    dims === undefined ? tensor.sizes.map((_, i) => i) : typeof dims === 'number' ? [dims] : dims;
  mark(tensor, list, 'static');
}

/** What was declared about a dim, if anything. */
export function dimMark(tensor: Tensor, dim: number): DimMark | undefined {
  return marks.get(tensor)?.get(dim);
}
