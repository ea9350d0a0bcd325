/**
 * @file `SymbolicShape`: sizes and strides of a value as expressions of a graph's symbols.
 *
 * It stands in `meta.symbolicVal` beside `meta.val`, which has the numbers of the example (the hints).
 */
import type { Size } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';

/** See the file header. */
export interface SymbolicShape {
  readonly sizes: readonly Size[];
  /** Null where a stride is not known to be an expression. */
  readonly strides: readonly (Size | null)[];
}

/** Shapes of a node's value: of one tensor, or of each in a list. */
export type SymbolicVal = SymbolicShape | readonly (SymbolicShape | null)[];

/** Whether any size or stride is not a number. */
export function isSymbolicShape({ sizes, strides }: SymbolicShape): boolean {
  return [...sizes, ...strides].some((size) => typeof size === 'object' && size !== null);
}

/**
 * Strides of a tensor whose sizes are `sizes` instead of its own: products of the sizes further in where
 * its layout is dense, else as they are.
 */
export function symbolicStrides(tensor: Tensor, sizes: readonly Size[], times: Multiply): Size[] {
  const strides: Size[] = [...tensor.strides];
  const order = tensor.strides
    .map((_, dim) => dim)
    .sort((a, b) => tensor.strides[a] - tensor.strides[b] || b - a);
  const inner: { readonly extent: number; readonly size: Size }[] = [{ extent: 1, size: 1 }];
  for (const dim of order) {
    const stride = tensor.strides[dim];
    const known = inner.findLast(({ extent }) => extent === stride);
    if (stride > 0 && known !== undefined) strides[dim] = known.size;
    inner.push({ extent: stride * tensor.sizes[dim], size: times(strides[dim], sizes[dim]) });
  }
  return strides;
}

type Multiply = (a: Size, b: Size) => Size;
