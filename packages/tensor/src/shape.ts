/**
 * @file Shape arithmetic: strides, broadcasting, view inference, dimension wrapping.
 *
 * Meta rules compute shapes only through these functions, so that they stay the one place that knows
 * how sizes combine. Sizes and strides are in elements.
 */
import { TesseraError } from '@tessera/shared';

/** Number of elements of a shape. */
export function numelOf(sizes: readonly number[]): number {
  let n = 1;
  for (const size of sizes) n *= size;
  return n;
}

/** Whether a value is a size or place: a whole number from 0 on. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Row-major strides. Size-0 and size-1 dims count as 1, as in PyTorch. */
export function contiguousStrides(sizes: readonly number[]): number[] {
  const strides = new Array<number>(sizes.length);
  let step = 1;
  for (let i = sizes.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= Math.max(sizes[i]!, 1);
  }
  return strides;
}

/** Elements from element 0 to the last one reachable, inclusive. */
export function storageExtent(sizes: readonly number[], strides: readonly number[]): number {
  let last = 0;
  for (let i = 0; i < sizes.length; i++) {
    if (sizes[i] === 0) return 0;
    last += (sizes[i]! - 1) * strides[i]!;
  }
  return last + 1;
}

/** Whether elements lie in row-major order without gaps (dims of size 1 do not matter). */
export function isContiguous(sizes: readonly number[], strides: readonly number[]): boolean {
  let step = 1;
  for (let i = sizes.length - 1; i >= 0; i--) {
    if (sizes[i] === 0) return true;
    if (sizes[i] !== 1) {
      if (strides[i] !== step) return false;
      step *= sizes[i]!;
    }
  }
  return true;
}

/** Whether the elements fill a block of memory exactly, in any order of dims. @see is_non_overlapping_and_dense */
export function isDense(sizes: readonly number[], strides: readonly number[]): boolean {
  const order = sizes.map((_, i) => i).filter((i) => sizes[i]! > 1);
  if (sizes.includes(0)) return true;
  order.sort((a, b) => strides[a]! - strides[b]!);
  let step = 1;
  for (const dim of order) {
    if (strides[dim] !== step) return false;
    step *= sizes[dim]!;
  }
  return true;
}

/** Whether two lists of numbers are the same. */
export function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** `[2, 3]` */
export function formatSizes(sizes: readonly number[]): string {
  return `[${sizes.join(', ')}]`;
}

/** Wraps a negative dimension. @throws invalid-dim */
export function wrapDim(dim: number, ndim: number, op = 'op'): number {
  const range = Math.max(ndim, 1);
  if (!Number.isInteger(dim) || dim < -range || dim >= range) {
    throw new TesseraError(
      'invalid-dim',
      `${op}: Dimension out of range (expected to be in range of [${-range}, ${range - 1}], but got ${dim})`,
      {
        context: { dim, ndim },
        hints: [`Use a dimension of the ${ndim}-d tensor; negative ones count from the end.`],
      },
    );
  }
  return dim < 0 ? dim + range : dim;
}

/** Python's `x.flip(0, 1)`, where the tensor and a list of dimensions are all. @throws invalid-argument */
export function refuseMoreDims(op: string, { length, ...args }: ArrayLike<unknown>): void {
  if (length < 3) return;
  const [, ...dims] = Object.values(args);
  throw new TesseraError('invalid-argument', `${op} takes one argument.`, {
    hints: [`Several dimensions are a list: ${op}([${dims.join(', ')}]).`],
  });
}

/** Wraps a list of dims and rejects repeats; null or an empty list mean all dims. @throws invalid-dim */
export function wrapDims(
  dims: readonly number[] | number | null | undefined,
  ndim: number,
  op = 'op',
): number[] {
  if (dims === null || dims === undefined) return Array.from({ length: ndim }, (_, i) => i);
  const list = typeof dims === 'number' ? [dims] : dims;
  if (list.length === 0) return Array.from({ length: ndim }, (_, i) => i);
  const wrapped = list.map((dim) => wrapDim(dim, ndim, op));
  if (new Set(wrapped).size !== wrapped.length) {
    throw new TesseraError(
      'invalid-dim',
      `${op}: dim appears multiple times in the list of dims ${formatSizes(list)}`,
      {
        hints: ['Name each dimension once.'],
      },
    );
  }
  return ndim === 0 ? [] : wrapped;
}

/** What to do where shapes do not fit each other. */
export const BROADCASTING: readonly string[] = [
  'Sizes are equal or 1, from the last dimension on; use unsqueeze() or reshape().',
];

/** Broadcast shape of several shapes. @throws shape-mismatch */
export function broadcastShapes(shapes: readonly (readonly number[])[], op = 'op'): number[] {
  let ndim = 0;
  for (const shape of shapes) ndim = Math.max(ndim, shape.length);
  const out = new Array<number>(ndim).fill(1);
  for (const shape of shapes) {
    const lead = ndim - shape.length;
    for (let i = 0; i < shape.length; i++) {
      const size = shape[i]!;
      const have = out[lead + i]!;
      if (size === have || size === 1) continue;
      if (have === 1) out[lead + i] = size;
      else {
        throw new TesseraError(
          'shape-mismatch',
          `${op}: The size of tensor a (${have}) must match the size of tensor b (${size}) at non-singleton dimension ${lead + i}: shapes ${shapes.map(formatSizes).join(' and ')} do not broadcast.`,
          {
            context: { op, shapes },
            hints: BROADCASTING,
          },
        );
      }
    }
  }
  return out;
}

/** Strides that read a tensor as `target` shape: 0 along broadcast dims. @throws shape-mismatch */
export function expandStrides(
  sizes: readonly number[],
  strides: readonly number[],
  target: readonly number[],
): number[] {
  const lead = target.length - sizes.length;
  if (lead < 0) {
    throw new TesseraError(
      'shape-mismatch',
      `expand: The number of sizes provided (${target.length}) must be greater or equal to the number of dimensions in the tensor (${sizes.length}). Target sizes: ${formatSizes(target)}. Tensor sizes: ${formatSizes(sizes)}`,
      { hints: ['Take dimensions away: reshape(), squeeze().'] },
    );
  }
  return target.map((size, i) => {
    const have = sizes[i - lead] ?? 1;
    if (have === size) return strides[i - lead] ?? 0;
    if (have === 1 && size >= 0) return 0;
    throw new TesseraError(
      'shape-mismatch',
      `expand: The expanded size of the tensor (${size}) must match the existing size (${have}) at non-singleton dimension ${i}. Target sizes: ${formatSizes(target)}. Tensor sizes: ${formatSizes(sizes)}`,
      { hints: ['Only dimensions of size 1 can be expanded.'] },
    );
  });
}

/** Replaces one -1 in a shape by what is left of `numel`. @throws shape-mismatch */
export function inferShape(shape: readonly number[], numel: number): number[] {
  let known = 1;
  let unknown = -1;
  shape.forEach((size, i) => {
    if (size === -1 && unknown < 0) unknown = i;
    else if (size < 0)
      throw new TesseraError(
        'shape-mismatch',
        `invalid shape dimension ${size} in ${formatSizes(shape)}`,
        { hints: ['Only one dimension may be -1.'] },
      );
    else known *= size;
  });
  const bad = unknown < 0 ? known !== numel : known === 0 ? true : numel % known !== 0;
  if (bad) {
    throw new TesseraError(
      'shape-mismatch',
      `shape '${formatSizes(shape)}' is invalid for input of size ${numel}`,
      {
        context: { shape, numel },
        hints: ['The sizes multiply to the number of elements.'],
      },
    );
  }
  return unknown < 0 ? [...shape] : shape.map((size, i) => (i === unknown ? numel / known : size));
}

/** Strides with which the same memory reads as `target`, or null if a copy is needed. @see PyTorch computeStride */
export function viewStrides(
  sizes: readonly number[],
  strides: readonly number[],
  target: readonly number[],
): number[] | null {
  const numel = numelOf(sizes);
  if (numel === 0) return sameNumbers(sizes, target) ? [...strides] : contiguousStrides(target);
  const out = new Array<number>(target.length).fill(0);
  let viewDim = target.length - 1;
  let chunkBase = strides.length > 0 ? strides[strides.length - 1]! : 1;
  let tensorNumel = 1;
  let viewNumel = 1;
  for (let dim = sizes.length - 1; dim >= 0; dim--) {
    tensorNumel *= sizes[dim]!;
    if (dim === 0 || (sizes[dim - 1] !== 1 && strides[dim - 1] !== tensorNumel * chunkBase)) {
      while (viewDim >= 0 && (viewNumel < tensorNumel || target[viewDim] === 1)) {
        out[viewDim] = viewNumel * chunkBase;
        viewNumel *= target[viewDim]!;
        viewDim--;
      }
      if (viewNumel !== tensorNumel) return null;
      if (dim > 0) {
        chunkBase = strides[dim - 1]!;
        tensorNumel = 1;
        viewNumel = 1;
      }
    }
  }
  if (sizes.length === 0) return target.every((size) => size === 1) ? target.map(() => 1) : null;
  return viewDim === -1 ? out : null;
}

/** Sizes without (or with 1 for) the reduced dims. */
export function reducedSizes(
  sizes: readonly number[],
  dims: readonly number[],
  keepdim: boolean,
): number[] {
  if (keepdim) return sizes.map((size, i) => (dims.includes(i) ? 1 : size));
  return sizes.filter((_, i) => !dims.includes(i));
}

/**
 * Whether two elements of one tensor may share memory: an expanded or overlapping layout.
 * Exact for strides that nest; conservative (true) otherwise.
 */
export function hasInternalOverlap(sizes: readonly number[], strides: readonly number[]): boolean {
  const dims = sizes.map((size, i) => ({ size, stride: strides[i]! })).filter((d) => d.size > 1);
  if (numelOf(sizes) === 0) return false;
  dims.sort((a, b) => a.stride - b.stride);
  let extent = 1;
  for (const { size, stride } of dims) {
    if (stride < extent) return true;
    extent = stride * (size - 1) + extent;
  }
  return false;
}

/** A gradient has the shape of what it is the gradient of. @throws shape-mismatch */
export function checkGradient(
  op: string,
  { sizes: given }: { readonly sizes: readonly number[] },
  sizes: readonly number[],
): void {
  if (sameNumbers(given, sizes)) return;
  throw new TesseraError(
    'shape-mismatch',
    `${op}_backward: Expected grad_output to have the same shape as output; output has shape ${formatSizes(sizes)} but got grad_output of shape ${formatSizes(given)}`,
    { hints: ['Give one per element.'] },
  );
}
