/**
 * @file Reference kernel of grid sampling: reading an image at fractional positions, and its gradients.
 *
 * Along each axis a position reads a few elements with weights; the elements of the result are sums of
 * products of those. Positions are computed in the type of the image, and 16-bit floats are rounded after
 * every step, as in PyTorch.
 * @see aten/src/ATen/native/GridSampler.h
 */
import type { Tensor } from '../tensor.js';
import { readNumbers, roundTo } from './elements.js';
import { toThree } from './spatial.js';
import { numelOf } from '../shape.js';

/** ATen's numbers of the modes that are not bilinear, 0. */
export const NEAREST = 1;
export const BICUBIC = 2;
const BORDER = 1;
const REFLECTION = 2;

/** How positions are read. */
export interface Sampling {
  readonly input: Tensor;
  readonly grid: Tensor;
  readonly interpolation: number;
  readonly padding: number;
  readonly alignCorners: boolean;
}

/** An element along an axis: position, weight, and the derivative of the weight by the grid's coordinate. */
interface AxisTap {
  readonly at: number;
  readonly weight: number;
  readonly slope: number;
}

interface Position {
  readonly at: number;
  readonly slope: number;
}

/** Mirrors a position at the ends until it lies between them. */
function reflected({ at, slope }: Position, size: number, alignCorners: boolean): Position {
  const low = alignCorners ? 0 : -0.5;
  const span = alignCorners ? size - 1 : size;
  if (span === 0) return { at: 0, slope: 0 };
  const distance = Math.abs(at - low);
  const flips = Math.floor(distance / span);
  const extra = distance % span;
  const sign = at < low ? -1 : 1;
  return flips % 2 === 0
    ? { at: extra + low, slope: slope * sign }
    : { at: span - extra + low, slope: -slope * sign };
}

function clipped({ at, slope }: Position, size: number): Position {
  if (!(at > 0)) return { at: 0, slope: 0 };
  return at >= size - 1 ? { at: size - 1, slope: 0 } : { at, slope };
}

function padded(position: Position, size: number, call: Sampling): Position {
  if (call.padding === BORDER) return clipped(position, size);
  if (call.padding === REFLECTION)
    return clipped(reflected(position, size, call.alignCorners), size);
  return position;
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

const A = -0.75;

/** Cubic convolution at distance x, 0 to 2, and its derivative. */
function cubic(x: number): [value: number, derivative: number] {
  return x <= 1
    ? [((A + 2) * x - (A + 3)) * x * x + 1, (3 * (A + 2) * x - 2 * (A + 3)) * x]
    : [((A * x - 5 * A) * x + 8 * A) * x - 4 * A, (3 * A * x - 10 * A) * x + 8 * A];
}

/** Position among elements of coordinate `c` (-1 to 1), in the steps of PyTorch's kernels for images and volumes. */
function unnormalized(
  c: number,
  size: number,
  call: Sampling,
  round: (value: number) => number,
): number {
  const shifted = round(c + 1);
  if (call.input.ndim === 5)
    return call.alignCorners
      ? round(round(shifted / 2) * (size - 1))
      : round(round(round(shifted * size) - 1) / 2);
  if (call.alignCorners) return round(shifted * ((size - 1) / 2));
  return round(round(shifted * (size / 2)) - 0.5);
}

/** What coordinate `c` (-1 to 1) reads along an axis. */
function axisTaps(c: number, size: number, call: Sampling): AxisTap[] {
  const round = (value: number): number => roundTo(call.input.dtype, value);
  const factor = call.alignCorners ? (size - 1) / 2 : size / 2;
  const raw = { at: unnormalized(c, size, call, round), slope: factor };
  if (call.interpolation === BICUBIC) {
    const first = Math.floor(raw.at);
    const t = raw.at - first;
    return [-1, 0, 1, 2].map((step) => {
      const [weight, derivative] = cubic(Math.abs(t - step));
      const { at } = padded({ at: first + step, slope: 0 }, size, call);
      return { at: Math.trunc(at), weight, slope: derivative * Math.sign(t - step) * factor };
    });
  }
  const { at, slope } = padded(raw, size, call);
  if (call.interpolation === NEAREST) return [{ at: roundHalfEven(at), weight: 1, slope: 0 }];
  const first = Math.floor(at);
  const t = round(at - first);
  return [
    { at: first, weight: round(first + 1 - at), slope: -slope },
    { at: first + 1, weight: t, slope },
  ];
}

/** One element that a point reads: position in the plane, weight, and slopes by grid coordinate. */
interface PointTap {
  readonly at: number;
  readonly weight: number;
  readonly slopes: readonly number[];
}

/** Rounding after each step: to 16 bits where the image has so few. */
function stepRounding({ input: { dtype } }: Sampling): (value: number) => number {
  const isLow = dtype === 'float16' || dtype === 'bfloat16';
  return isLow ? (value) => roundTo(dtype, value) : (value) => value;
}

/**
 * Elements inside the image that point `p` reads; of images where a weight is no number those outside too, which are 0:
 * their place is NaN.
 */
function pointTaps(
  call: Sampling,
  grid: Float64Array,
  p: number,
  sizes: readonly number[],
): PointTap[] {
  const rank = sizes.length;
  const round = stepRounding(call);
  // Coordinate 0 belongs to the last axis.
  const all = sizes.map((size, d) => axisTaps(grid[p * rank + rank - 1 - d]!, size, call));
  const isFinite = all.flat().every(({ weight }) => Number.isFinite(weight));
  const axes = all.map((taps, d) => {
    const isInside = ({ at }: AxisTap): boolean => at >= 0 && at < sizes[d]!;
    if (isFinite || rank === 3) return taps.filter(isInside);
    return taps.map((tap) => (isInside(tap) ? tap : { ...tap, at: NaN }));
  });
  let taps: PointTap[] = [{ at: 0, weight: 1, slopes: [] }];
  let stride = 1;
  // The last axis first; the product rule, one factor at a time.
  for (let d = rank - 1; d >= 0; d--) {
    const inner = taps;
    const step = stride;
    taps = axes[d]!.flatMap((tap) =>
      inner.map(({ at, weight, slopes }) => ({
        at: tap.at * step + at,
        weight: round(weight * tap.weight),
        slopes: [weight * tap.slope, ...slopes.map((slope) => slope * tap.weight)],
      })),
    );
    stride *= sizes[d]!;
  }
  return taps;
}

/** Calls `visit(image element, result element, tap, grid point)` for each that a result element reads. */
function forEachRead(
  call: Sampling,
  visit: (from: number, to: number, tap: PointTap, point: number) => void,
): void {
  const [batch, channels, ...sizes] = call.input.sizes;
  const grid = readNumbers(call.grid);
  const plane = numelOf(toThree(sizes, 1));
  const points = numelOf(call.grid.sizes.slice(1, -1));
  for (let p = 0; p < batch * points; p++) {
    const taps = pointTaps(call, grid, p, sizes);
    const n = Math.floor(p / points);
    for (let c = n * channels; c < (n + 1) * channels; c++)
      for (const tap of taps) visit(c * plane + tap.at, c * points + (p % points), tap, p);
  }
}

/** Result [N, C, …points] in row-major order. */
export function sampleGrid(call: Sampling, numel: number): Float64Array {
  const x = readNumbers(call.input);
  const out = new Float64Array(numel);
  const round = stepRounding(call);
  forEachRead(call, (from, to, { weight }) => {
    out[to] = round(out[to]! + round(weight * (x[from] ?? 0)));
  });
  return out;
}

/** Gradients of image and grid in row-major order. */
export function sampleGridBackward(
  call: Sampling,
  gradOut: Tensor,
): { input: Float64Array; grid: Float64Array } {
  const x = readNumbers(call.input);
  const grads = readNumbers(gradOut);
  const result = {
    input: new Float64Array(x.length),
    grid: new Float64Array(call.grid.numel),
  };
  const rank = call.grid.sizes.at(-1)!;
  forEachRead(call, (from, to, { weight, slopes }, point) => {
    // Nothing is written at NaN.
    result.input[from]! += weight * grads[to]!;
    for (let d = 0; d < rank; d++)
      result.grid[point * rank + rank - 1 - d]! += slopes[d]! * (x[from] ?? 0) * grads[to]!;
  });
  return result;
}
