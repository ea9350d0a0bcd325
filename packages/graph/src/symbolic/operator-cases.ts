/**
 * @file The cases of operators that ask for sizes: what their rules compute is a polynomial in each of them, or nothing is
 * promised of it. A call that a rule refuses is in no case.
 */
import type { Tensor } from '@tessera/tensor';
import { viewStrides } from '@tessera/tensor/internal';

/** A tensor as far as operators ask for its sizes. */
export type Shaped = Pick<Tensor, 'sizes' | 'strides'>;

/** The same of operators that ask for nothing else. */
export type Sized = Pick<Tensor, 'sizes'>;

/**
 * Operators whose rules ask for sizes: the case in which a call is, null for one that nothing is promised of. Rules name the
 * types of their operators' schemas, by which calls were checked.
 */
export type CaseOf<Args extends readonly unknown[] = readonly unknown[]> = {
  rule(args: Args, outs: readonly Shaped[]): string | null;
}['rule'];

type Ints = readonly number[];

const reshaped: CaseOf<[Shaped]> = ([{ sizes, strides }], [out]) => {
  if (numelOf(sizes) !== numelOf(out!.sizes)) return null;
  return viewStrides(sizes, strides, out!.sizes) === null ? 'copy' : 'view';
};

/** Repetitions multiply sizes, beyond the degree that samples determine: what they tell is checked. */
const repeated: CaseOf<[Sized, Ints]> = ([{ sizes }, times], [out]) => {
  const rank = Math.max(times.length, sizes.length);
  const fits = out!.sizes.every(
    (size, d) => size === (sizes.at(d - rank) ?? 1) * (times.at(d - rank) ?? 1),
  );
  return fits ? '' : null;
};

/** Parts of one size but for the last, along a dimension. */
function parts(size: number, part: number, dim: number, outs: readonly Shaped[]): string | null {
  const fit = outs.every(({ sizes }, i) => sizes.at(dim) === Math.min(part, size - i * part));
  return fit && outs.length === Math.ceil(size / part) ? String(outs.length) : null;
}

type GroupNorm = [Sized, unknown, unknown, N: number, C: number, HxW: number, group: number];

type Bounds = [dim?: number, start?: number | null, end?: number | null];

const selected: CaseOf<[Sized, number, number]> = ([{ sizes }, dim, index]) => {
  const size = sizes.at(dim)!;
  return index < size && index >= -size ? (index < 0 ? 'from the end' : '') : null;
};

/** Which sides are made wider; null for an image that would be reflected beyond its other side. */
function padded({ sizes }: Sized, sides: Ints, isReflected: boolean): string | null {
  const reaches = sides.some((n, i) => n >= sizes.at(-1 - (i >> 1))!);
  return isReflected && reaches ? null : sides.map(Math.sign).join();
}

/** Indices of which there are as many as elements to read or write: no more than those have in any dimension. */
const elementwise: CaseOf<[Sized, number, Sized, Partial<Sized>?]> = (args) => {
  const [{ sizes }, dim, index, src] = args;
  const along = dim < 0 ? dim + sizes.length : dim;
  const fits = index.sizes.every(
    (size, d) => (d === along || size <= sizes[d]!) && size <= (src?.sizes?.[d] ?? size),
  );
  return fits ? '' : null;
};

/** Diagonals, which end at the side that is reached first. */
type Diagonal = [offset?: number, dim1?: number, dim2?: number];

const onDiagonal: CaseOf<[Sized, ...Diagonal]> = ([{ sizes }, offset = 0, dim1 = 0, dim2 = 1]) => {
  const down = sizes.at(dim1)! - Math.max(-offset, 0);
  const right = sizes.at(dim2)! - Math.max(offset, 0);
  return `${Math.sign(down - right)}`;
};

/** Numbers of values that are left after a correction. */
const corrected: CaseOf<[Sized, (Ints | null)?, unknown?]> = ([{ sizes }, dims, correction]) => {
  const count = numelOf(dims?.length ? dims.map((d) => sizes.at(d)!) : sizes);
  const less = correction ?? 1;
  return typeof less === 'number' && less < count ? '' : null;
};

/** Pools whose last windows lie inside. */
const pooled =
  (ceilMode: number): CaseOf =>
  (args) =>
    args[ceilMode] === true ? null : '';

type Convolution = [Sized, weight: Sized, unknown, unknown, Ints | string, dilation?: Ints];

/** How much is added so that there are as many windows as elements: halves, which may be uneven. */
const convolved: CaseOf<Convolution> = ([, { sizes }, , , padding, dilation = [1]]) =>
  padding === 'same'
    ? sizes
        .slice(2)
        .map((length, d) => (length - 1) * (dilation[d] ?? dilation[0]!))
        .join()
    : '';

/** Pools over everything. */
const global: CaseOf<[Sized, Ints]> = ([, size]) => (size.every((n) => n === 1) ? '' : null);

/** Masks make results whose sizes depend on values. */
const byIntegers: CaseOf<[Sized, readonly (Tensor | null)[]]> = ([, indices]) =>
  indices.some(isMask) ? null : '';

function isMask(index: Tensor | null): boolean {
  return index?.dtype === 'bool' || index?.dtype === 'uint8';
}

/** Channels that groups divide. */
const grouped = (channels: number, groups: number): string | null =>
  channels % groups === 0 ? '' : null;

/** Systems whose right sides are vectors. */
const solved: CaseOf<[Sized, Sized]> = ([{ sizes }, right]) =>
  right.sizes.length === 1 || isSame(right.sizes, sizes.slice(0, -1)) ? 'vectors' : '';

/** Matrices that are wider than high, or not: factors are as small as they can be. */
const factored: CaseOf<[Sized]> = ([{ sizes }]) => `${Math.sign(sizes.at(-2)! - sizes.at(-1)!)}`;

function isSame(a: Ints, b: Ints): boolean {
  return a.length === b.length && a.every((size, d) => size === b[d]);
}

/** Images that become whole multiples. */
const scaled: CaseOf<[Sized]> = ([self], outs) => {
  const sizes = self.sizes.slice(2);
  const out = outs[0]!.sizes.slice(2);
  return sizes.every((size, d) => out[d]! % size === 0)
    ? sizes.map((size, d) => out[d]! / size).join()
    : null;
};

/** What a slice ends at that goes to the end. */
export const LAST: number = 2 ** 53 - 1;

/** Which ends of a slice are counted from the end, and which lie outside and are moved to where it begins or ends. */
function bounds(start: number, end: number, size: number): string {
  const from = start < 0 ? start + size : start;
  const to = end < 0 ? end + size : end;
  const least = from < 0 ? 0 : from > size ? size : from;
  // Most slices begin and end inside, counted from the front.
  let found = start < 0 ? '-' : '';
  if (from < 0 || from > size) found += from < 0 ? '<' : '>';
  if (to < least || to > size) found += to < least ? ';<' : ';>';
  return end < 0 ? `${found};-` : found;
}

/** By name, as `baseName` gives it. */
export const CASES: Readonly<Record<string, CaseOf>> = {
  view: reshaped,
  reshape: reshaped,
  flatten: reshaped,
  unflatten: reshaped,
  view_as: reshaped,
  reshape_as: reshaped,
  repeat: repeated,
  tile: repeated,
  repeat_interleave: ([self, repeats]: [Sized, number], [out]) =>
    numelOf(out!.sizes) === numelOf(self.sizes) * repeats ? '' : null,
  slice: ([{ sizes }, dim, start, end]: [Sized, ...Bounds]) =>
    bounds(start ?? 0, end ?? LAST, sizes.at(dim ?? 0)!),
  slice_scatter: ([{ sizes }, , dim, start, end]: [Sized, Sized, ...Bounds]) =>
    bounds(start ?? 0, end ?? LAST, sizes.at(dim ?? 0)!),
  slice_backward: ([, sizes, dim = 0, start, end]: [Sized, Ints, ...Bounds]) =>
    bounds(start ?? 0, end ?? LAST, sizes.at(dim)!),
  select: selected,
  select_scatter: ([self, , dim, index]: [Sized, Sized, number, number]) =>
    selected([self, dim, index], []),
  select_backward: ([, sizes, dim, index]: [Sized, Ints, number, number]) =>
    selected([{ sizes }, dim, index], []),
  narrow: ([self, dim, start, length]: [Sized, number, unknown, number]) =>
    typeof start !== 'number' || start < 0
      ? null
      : bounds(start, start + length, self.sizes.at(dim)!),
  split: ([self, part, dim = 0]: [Sized, number, number?], outs) =>
    parts(self.sizes.at(dim)!, part, dim, outs),
  chunk: ([self, count, dim = 0]: [Sized, number, number?], outs) => {
    const size = self.sizes.at(dim)!;
    return parts(size, Math.ceil(size / count), dim, outs);
  },
  unbind: (_, outs) => String(outs.length),
  constant_pad_nd: ([, pad]: [Sized, Ints]) => pad.map(Math.sign).join(),
  pad: ([self, pad, mode = 'constant']: [Sized, Ints, string?]) =>
    mode === 'constant' || mode === 'reflect' ? padded(self, pad, mode === 'reflect') : null,
  reflection_pad1d: ([self, pad]: [Sized, Ints]) => padded(self, pad, true),
  reflection_pad2d: ([self, pad]: [Sized, Ints]) => padded(self, pad, true),
  scaled_dot_product_attention: (args) => (args[7] === true ? null : ''),
  diagonal: onDiagonal,
  diagonal_scatter: ([self, , ...rest]: [Sized, Sized, ...Diagonal]) =>
    onDiagonal([self, ...rest], []),
  diagonal_backward: ([, sizes, ...rest]: [Sized, Ints, ...Diagonal]) =>
    onDiagonal([{ sizes }, ...rest], []),
  diag: ([self, offset]: [Sized, number?]) =>
    self.sizes.length === 1 ? '' : onDiagonal([self, offset], []),
  trace: ([self]: [Sized]) => onDiagonal([self], []),
  roll: ([{ sizes }, by, over]: [Sized, Ints, Ints?]) => {
    const sizeAt = (i: number): number => (over?.length ? sizes.at(over[i]!)! : numelOf(sizes));
    return by.every((n, i) => Math.abs(n) < sizeAt(i)) ? by.map(Math.sign).join() : null;
  },
  one_hot: ([, classes = -1]: [Sized, number?]) => (classes > 0 ? '' : null),
  topk: ([self, k, dim = -1]: [Sized, number, number?]) =>
    k <= (self.sizes.at(dim) ?? 1) ? '' : null,
  diff: ([self, n = 1, dim = -1]: [Sized, number?, number?]) =>
    n < self.sizes.at(dim)! ? '' : null,
  var: corrected,
  std: corrected,
  var_mean: corrected,
  std_mean: corrected,
  gather: elementwise,
  scatter: elementwise,
  scatter_add: elementwise,
  scatter_reduce: elementwise,
  index: byIntegers,
  index_put: byIntegers,
  group_norm: ([self, groups]: [Sized, number]) => grouped(self.sizes[1]!, groups),
  linalg_solve: solved,
  linalg_solve_ex: solved,
  _linalg_solve_ex: solved,
  linalg_lu_factor: factored,
  linalg_lu_factor_ex: factored,
  linalg_qr: factored,
  linalg_pinv: factored,
  _linalg_svd: factored,
  native_group_norm: ([, , , , channels, , groups]: GroupNorm) => grouped(channels, groups),
  conv1d: convolved,
  conv2d: convolved,
  conv3d: convolved,
  max_pool1d: pooled(5),
  max_pool2d: pooled(5),
  max_pool2d_with_indices: pooled(5),
  avg_pool1d: pooled(4),
  avg_pool2d: pooled(4),
  adaptive_avg_pool1d: global,
  adaptive_avg_pool2d: global,
  upsample_nearest2d: scaled,
  upsample_bilinear2d: scaled,
};

export function numelOf(sizes: readonly number[]): number {
  return sizes.reduce((product, size) => product * size, 1);
}
