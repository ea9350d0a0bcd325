/**
 * @file Where resizing reads: nearest, linear and cubic interpolation along one dimension.
 *
 * Positions and weights are computed in single precision unless the tensor is float64, as PyTorch does:
 * which element is nearest depends on that rounding. @see aten/src/ATen/native/UpSample.h
 */
import type { DType } from '../dtype.js';
import { roundTo } from './elements.js';
import type { TapTable, Taps } from './resample-kernel.js';

/** How elements between input elements are made. */
export type Interpolation =
  'nearest' | 'nearest-exact' | 'linear' | 'cubic' | 'linear-antialiased' | 'cubic-antialiased';

/** Resizing along one dimension. */
export interface Resize {
  readonly input: number;
  readonly output: number;
  /** Whether the first and last elements of input and output fall together. */
  readonly alignCorners: boolean;
  /** Output size over input size, where the caller gave one instead of the sizes' own; null otherwise. */
  readonly scale: number | null;
}

type Round = (value: number) => number;

/** Input elements per output element. */
export function resizeRatio(
  { input, output, alignCorners, scale }: Resize,
  round: Round = Math.fround,
): number {
  if (alignCorners) return output > 1 ? round((input - 1) / (output - 1)) : 0;
  return scale !== null && scale > 0 ? round(1 / scale) : round(input / output);
}

/** Coefficients of cubic convolution at distance t (0 to 1) from the second of four elements. */
export function cubicWeights(t: number, round: Round = Math.fround): number[] {
  const a = -0.75;
  const near = (x: number): number => round(((a + 2) * x - (a + 3)) * x * x + 1);
  const far = (x: number): number => round(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
  return [far(t + 1), near(t), near(1 - t), far(2 - t)];
}

function nearest(resize: Resize, exact: boolean): TapTable {
  const ratio = resizeRatio({ ...resize, alignCorners: false });
  return Array.from({ length: resize.output }, (_, o) => {
    const position = Math.fround((exact ? o + 0.5 : o) * ratio);
    return { at: [Math.min(Math.floor(position), resize.input - 1)], weights: [1] };
  });
}

/** Position of output element `o` among the input elements. */
function source(resize: Resize, ratio: number, o: number, cubic: boolean, round: Round): number {
  if (resize.alignCorners) return round(ratio * o);
  const position = round(round(ratio * (o + 0.5)) - 0.5);
  return !cubic && position < 0 ? 0 : position;
}

function linear(resize: Resize, round: Round, store: Round): TapTable {
  const ratio = resizeRatio(resize, round);
  const last = resize.input - 1;
  return Array.from({ length: resize.output }, (_, o): Taps => {
    if (resize.output === resize.input) return { at: [o], weights: [1] };
    const position = source(resize, ratio, o, false, round);
    const first = Math.min(Math.floor(position), last);
    const share = store(Math.min(Math.max(round(position - first), 0), 1));
    return { at: [first, Math.min(first + 1, last)], weights: [store(1 - share), share] };
  });
}

function cubic(resize: Resize, round: Round, store: Round): TapTable {
  const ratio = resizeRatio(resize, round);
  const last = resize.input - 1;
  return Array.from({ length: resize.output }, (_, o): Taps => {
    const position = source(resize, ratio, o, true, round);
    const first = Math.min(Math.floor(position), last);
    const share = Math.min(Math.max(round(position - first), 0), 1);
    return {
      at: [-1, 0, 1, 2].map((step) => Math.min(Math.max(first + step, 0), last)),
      weights: cubicWeights(share, round).map(store),
    };
  });
}

/** The cubic filter of antialiased resizing at distance `x`, which Pillow has too. */
function cubicFilter(x: number): number {
  if (x >= 2) return 0;
  return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2;
}

/** A triangle as wide as an output element, or a cubic filter of twice its width, over the input elements. */
function antialiased(resize: Resize, round: Round, isCubic: boolean): TapTable {
  const ratio = resizeRatio(resize, round);
  const scale = Math.max(ratio, 1);
  const support = isCubic ? 2 * scale : scale;
  return Array.from({ length: resize.output }, (_, o): Taps => {
    const centre = round(ratio * (o + 0.5));
    const first = Math.max(Math.trunc(round(centre - support + 0.5)), 0);
    const end = Math.min(Math.trunc(round(centre + support + 0.5)), resize.input);
    const at = Array.from({ length: Math.max(end - first, 0) }, (_, j) => first + j);
    const weights = at.map((i) => {
      const distance = Math.abs((i - centre + 0.5) / scale);
      return isCubic ? cubicFilter(distance) : Math.max(0, 1 - distance);
    });
    const total = weights.reduce((a, b) => a + b, 0);
    return { at, weights: weights.map((weight) => (total === 0 ? weight : round(weight / total))) };
  });
}

/**
 * Taps of a resizing along one dimension of a tensor of a dtype. Weights are rounded to that dtype, except
 * for bytes and `wideWeights`: PyTorch's kernel for bilinear resizing keeps those of 16-bit floats in 32.
 */
export function upsampleTaps(
  kind: Interpolation,
  resize: Resize,
  dtype: DType,
  wideWeights = false,
): TapTable {
  const round: Round = dtype === 'float64' ? (value) => value : Math.fround;
  const store: Round = wideWeights || dtype === 'uint8' ? round : (value) => roundTo(dtype, value);
  switch (kind) {
    case 'nearest':
    case 'nearest-exact':
      return nearest(resize, kind === 'nearest-exact');
    case 'linear':
      return linear(resize, round, store);
    case 'cubic':
      return cubic(resize, round, store);
    case 'linear-antialiased':
    case 'cubic-antialiased':
      return antialiased(resize, round, kind === 'cubic-antialiased');
  }
}
