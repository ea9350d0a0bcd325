/**
 * @file Questions about strides that AOT autograd asks.
 */

/** Whether elements fill their memory without gaps or overlaps, in any order of dimensions. */
export function isDense(sizes: readonly number[], strides: readonly number[]): boolean {
  const order = strideOrder(sizes, strides);
  let step = 1;
  for (let i = order.length - 1; i >= 0; i--) {
    const dim = order[i];
    if (sizes[dim] === 1) continue;
    if (strides[dim] !== step) return sizes.includes(0);
    step *= sizes[dim];
  }
  return true;
}

/** Dimensions from the largest stride to the smallest; those of size 1 keep their place. */
export function strideOrder(sizes: readonly number[], strides: readonly number[]): number[] {
  return sizes.map((_, i) => i).sort((a, b) => strides[b] - strides[a] || a - b);
}

/** Whether two layouts of the same sizes put every element at the same place. */
export function sameStrides(
  sizes: readonly number[],
  a: readonly number[],
  b: readonly number[],
): boolean {
  return sizes.includes(0) || sizes.every((size, i) => size === 1 || a[i] === b[i]);
}
