/**
 * @file Reference pooling over one to three trailing spatial dimensions.
 */
import { toThree, windowCount } from './spatial.js';
import { numelOf } from '../shape.js';

/** Geometry of a pooling call; lists have one entry per spatial dimension. */
export interface PoolShape {
  readonly input: readonly number[];
  readonly output: readonly number[];
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

/** One dimension of a window: first and last+1 input index (unclipped), and the step between taps. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/** Output sizes of a pooling. */
export function pooledSizes(
  input: readonly number[],
  kernel: readonly number[],
  stride: readonly number[],
  padding: readonly number[],
  dilation: readonly number[],
  ceil: boolean,
): number[] {
  return input.map((size, i) =>
    windowCount(size, kernel[i]!, stride[i]!, padding[i]!, dilation[i]!, ceil),
  );
}

/** Spans of the windows along dimension `d` of a sliding pooling. */
export function slidingSpans(shape: PoolShape, d: number): Span[] {
  return Array.from({ length: shape.output[d]! }, (_, o) => {
    const start = o * shape.stride[d]! - shape.padding[d]!;
    return {
      start,
      end: start + (shape.kernel[d]! - 1) * shape.dilation[d]! + 1,
      step: shape.dilation[d]!,
    };
  });
}

/** Spans of an adaptive pooling: the input cut into `output` nearly equal parts. */
export function adaptiveSpans(input: number, output: number): Span[] {
  return Array.from({ length: output }, (_, o) => ({
    start: Math.floor((o * input) / output),
    end: Math.ceil(((o + 1) * input) / output),
    step: 1,
  }));
}

/**
 * Calls `window(output, base, spans)` for every output element of every plane, with the plane's base
 * position and the spans of its three dimensions.
 */
export function forEachWindow(
  planes: number,
  input: readonly number[],
  spans: readonly (readonly Span[])[],
  window: (output: number, base: number, spans: readonly [Span, Span, Span]) => void,
): void {
  const missing = Array.from({ length: 3 - spans.length }, () => [{ start: 0, end: 1, step: 1 }]);
  const [deep, high, wide] = [...missing, ...spans];
  const plane = numelOf(input);
  let output = 0;
  for (let p = 0; p < planes; p++) {
    for (const z of deep)
      for (const y of high) for (const x of wide) window(output++, p * plane, [z, y, x]);
  }
}

/** Calls `visit` with the position in the plane of every tap of a window inside the input. */
export function forEachTap(
  input: readonly number[],
  [z, y, x]: readonly [Span, Span, Span],
  visit: (position: number) => void,
): void {
  const [depth, height, width] = toThree(input, 1);
  for (let i = z.start; i < z.end; i += z.step) {
    if (i < 0 || i >= depth) continue;
    for (let j = y.start; j < y.end; j += y.step) {
      if (j < 0 || j >= height) continue;
      for (let k = x.start; k < x.end; k += x.step)
        if (k >= 0 && k < width) visit((i * height + j) * width + k);
    }
  }
}
