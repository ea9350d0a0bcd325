/**
 * @file The cases of operators that ask for sizes: what their rules compute is a polynomial in each of them, or nothing is
 * promised of it. A call that a rule refuses is in no case.
 */
import type { Tensor } from '@tessera/tensor';
import { viewStrides } from '@tessera/tensor/internal';

/** A tensor as far as operators ask for its sizes. */
export type Shaped = Pick<Tensor, 'sizes' | 'strides'>;

/** Operators whose rules ask for sizes: the case in which a call is, null for one that nothing is promised of. */
export type CaseOf = (args: readonly unknown[], outs: readonly Shaped[]) => string | null;

const reshaped: CaseOf = ([self], [out]) => {
  const { sizes, strides } = self as Shaped;
  if (numelOf(sizes) !== numelOf(out!.sizes)) return null;
  return viewStrides(sizes, strides, out!.sizes) === null ? 'copy' : 'view';
};

/** Repetitions multiply sizes, beyond the degree that samples determine: what they tell is checked. */
const repeated: CaseOf = ([self, repeats], [out]) => {
  const times = repeats as readonly number[];
  const { sizes } = self as Shaped;
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

const sliced =
  (before: number): CaseOf =>
  (args) => {
    const at = (i: number): number | null | undefined => args[before + i] as number | null;
    const size = (args[0] as Shaped).sizes.at(at(0) ?? 0)!;
    return bounds(at(1) ?? 0, at(2) ?? LAST, size);
  };

const selected =
  (before: number): CaseOf =>
  (args) => {
    const [dim, index] = args.slice(before) as [number, number];
    const size = (args[0] as Shaped).sizes.at(dim)!;
    return index < size && index >= -size ? (index < 0 ? 'from the end' : '') : null;
  };

/** Which sides are made wider; null for an image that would be reflected beyond its other side. */
function padded(self: unknown, pad: unknown, isReflected: boolean): string | null {
  const sides = pad as readonly number[];
  const { sizes } = self as Shaped;
  const reaches = sides.some((n, i) => n >= sizes.at(-1 - (i >> 1))!);
  return isReflected && reaches ? null : sides.map(Math.sign).join();
}

/** Indices of which there are as many as elements to read or write: no more than those have in any dimension. */
const elementwise: CaseOf = ([self, dim, index, src]) => {
  const { sizes } = self as Shaped;
  const along = (dim as number) < 0 ? (dim as number) + sizes.length : dim;
  const given = (src as Shaped | undefined)?.sizes;
  const fits = (index as Shaped).sizes.every(
    (size, d) => (d === along || size <= sizes[d]!) && size <= (given?.[d] ?? size),
  );
  return fits ? '' : null;
};

/** Diagonals, which end at the side that is reached first. */
const onDiagonal: CaseOf = ([self, offset = 0, dim1 = 0, dim2 = 1]) => {
  const [rows, columns] = [dim1, dim2].map((dim) => (self as Shaped).sizes.at(dim as number)!);
  const right = Math.max(offset as number, 0);
  const down = Math.max(-(offset as number), 0);
  return `${Math.sign(rows! - down - (columns! - right))}`;
};

/** Numbers of values that are left after a correction. */
const corrected: CaseOf = ([self, dim, correction]) => {
  const { sizes } = self as Shaped;
  const dims = dim as readonly number[] | null | undefined;
  const count = numelOf(dims?.length ? dims.map((d) => sizes.at(d)!) : sizes);
  const less = correction ?? 1;
  return typeof less === 'number' && less < count ? '' : null;
};

/** Pools whose last windows lie inside. */
const pooled =
  (ceilMode: number): CaseOf =>
  (args) =>
    args[ceilMode] === true ? null : '';

/** Convolutions whose padding is told in numbers. */
const convolved: CaseOf = ([, , , , padding]) => (typeof padding === 'string' ? null : '');

/** Pools over everything. */
const global: CaseOf = ([, size]) =>
  (size as readonly number[]).every((n) => n === 1) ? '' : null;

/** Masks make results whose sizes depend on values. */
const byIntegers: CaseOf = ([, indices]) =>
  (indices as readonly (Tensor | null)[]).some((index) => isMask(index)) ? null : '';

function isMask(index: Tensor | null): boolean {
  return index?.dtype === 'bool' || index?.dtype === 'uint8';
}

/** Channels that groups divide. */
const grouped =
  (channels: number, groups: number): CaseOf =>
  (args) => {
    const count = channels < 0 ? (args[0] as Shaped).sizes[1]! : (args[channels] as number);
    return count % (args[groups] as number) === 0 ? '' : null;
  };

/** Images that become whole multiples. */
const scaled: CaseOf = ([self], outs) => {
  const sizes = (self as Shaped).sizes.slice(2);
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
  const least = Math.min(Math.max(from, 0), size);
  return `${start < 0}${place(from, 0, size)}${end < 0}${place(to, least, size)}`;
}

function place(at: number, first: number, last: number): string {
  return at < first ? '<' : at > last ? '>' : '';
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
  repeat_interleave: ([self, repeats], [out]) =>
    numelOf(out!.sizes) === numelOf((self as Shaped).sizes) * (repeats as number) ? '' : null,
  slice: sliced(1),
  slice_scatter: sliced(2),
  select: selected(1),
  select_scatter: selected(2),
  slice_backward: ([, sizes, dim, start, end, step]) =>
    sliced(1)([{ sizes }, dim, start, end, step], []),
  select_backward: ([, sizes, dim, index]) => selected(1)([{ sizes }, dim, index], []),
  narrow: ([self, dim, start, length]) =>
    typeof start !== 'number' || start < 0
      ? null
      : sliced(1)([self, dim, start, start + (length as number), 1], []),
  split: ([self, part, dim = 0], outs) =>
    parts((self as Shaped).sizes.at(dim as number)!, part as number, dim as number, outs),
  chunk: ([self, count, dim = 0], outs) => {
    const size = (self as Shaped).sizes.at(dim as number)!;
    return parts(size, Math.ceil(size / (count as number)), dim as number, outs);
  },
  unbind: (_, outs) => String(outs.length),
  constant_pad_nd: ([, pad]) => (pad as readonly number[]).map(Math.sign).join(),
  pad: ([self, pad, mode = 'constant']) =>
    mode === 'constant' || mode === 'reflect' ? padded(self, pad, mode === 'reflect') : null,
  reflection_pad1d: ([self, pad]) => padded(self, pad, true),
  reflection_pad2d: ([self, pad]) => padded(self, pad, true),
  scaled_dot_product_attention: (args) => (args[7] === true ? null : ''),
  diagonal: onDiagonal,
  diagonal_scatter: ([self, , ...rest], outs) => onDiagonal([self, ...rest], outs),
  diagonal_backward: ([, sizes, ...rest], outs) => onDiagonal([{ sizes }, ...rest], outs),
  diag: ([self, offset = 0], outs) =>
    (self as Shaped).sizes.length === 1 ? '' : onDiagonal([self, offset, 0, 1], outs),
  trace: ([self], outs) => onDiagonal([self, 0, 0, 1], outs),
  roll: ([self, shifts, dims]) => {
    const { sizes } = self as Shaped;
    const [by, over] = [shifts, dims ?? []] as (readonly number[])[];
    const sizeAt = (i: number): number =>
      over!.length === 0 ? numelOf(sizes) : sizes.at(over![i]!)!;
    return by!.every((n, i) => Math.abs(n) < sizeAt(i)) ? by!.map(Math.sign).join() : null;
  },
  one_hot: ([, classes = -1]) => ((classes as number) > 0 ? '' : null),
  topk: ([self, k, dim = -1]) =>
    (k as number) <= ((self as Shaped).sizes.at(dim as number) ?? 1) ? '' : null,
  diff: ([self, n = 1, dim = -1]) =>
    (n as number) < (self as Shaped).sizes.at(dim as number)! ? '' : null,
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
  group_norm: grouped(-1, 1),
  native_group_norm: grouped(4, 6),
  conv1d: convolved,
  conv2d: convolved,
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

function numelOf(sizes: readonly number[]): number {
  return sizes.reduce((product, size) => product * size, 1);
}
