/**
 * @file `SymbolicShape`: sizes and strides of a value as expressions of a graph's symbols.
 *
 * It stands in `meta.symbolicVal` beside `meta.val`, which has the numbers of the example (the hints).
 */
import type { Size, SizeFitter } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';

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
 * The shapes in expressions that fit all values of a node; null where nothing varies, or nothing fits.
 *
 * @param sizeOf the expression of a size of which these are the values; null if there is none
 */
export function fittedShape(
  fitter: SizeFitter,
  values: readonly unknown[],
  sizeOf: (sizes: readonly number[], dim: number) => Size | null = (sizes) => fitter.fit(sizes),
): SymbolicVal | null {
  const ofTensors = (tensors: readonly unknown[]): SymbolicShape | null => {
    if (!tensors.every(isTensor) || tensors.some(({ ndim }) => ndim !== tensors[0].ndim))
      return null;
    const sizes = tensors[0].sizes.map((_, dim) =>
      sizeOf(
        tensors.map((tensor) => tensor.sizes[dim]),
        dim,
      ),
    );
    if (!sizes.every((size) => size !== null)) return null;
    const strides = tensors[0].strides.map((_, dim) =>
      fitter.fit(tensors.map((tensor) => tensor.strides[dim])),
    );
    const shape = { sizes, strides };
    return isSymbolicShape(shape) ? shape : null;
  };
  if (!values.every(Array.isArray)) return ofTensors(values);
  const shapes = values[0].map((_, i) => ofTensors(values.map((list) => list[i])));
  return shapes.some((shape) => shape !== null) ? shapes : null;
}

/**
 * Strides of a tensor whose sizes are `sizes` instead of its own: products of the sizes further in where
 * its layout is dense, else as they are.
 */
export function symbolicStrides<S>(
  tensor: Tensor,
  sizes: readonly S[],
  times: (a: S | number, b: S | number) => S | number,
): (S | number)[] {
  const strides: (S | number)[] = [...tensor.strides];
  const order = tensor.strides
    .map((_, dim) => dim)
    .sort((a, b) => tensor.strides[a] - tensor.strides[b] || b - a);
  const inner: { readonly extent: number; readonly size: S | number }[] = [{ extent: 1, size: 1 }];
  for (const dim of order) {
    const stride = tensor.strides[dim];
    const known = inner.findLast(({ extent }) => extent === stride);
    if (stride > 0 && known !== undefined) strides[dim] = known.size;
    inner.push({ extent: stride * tensor.sizes[dim], size: times(strides[dim], sizes[dim]) });
  }
  return strides;
}
