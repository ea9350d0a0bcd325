/**
 * @file Reference convolution: forward, and its adjoints with respect to input and weight.
 *
 * All three walk the same taps: output element o meets input element o·stride - padding + k·dilation
 * through weight tap k. A transposed convolution is the adjoint with respect to the input. One or two
 * spatial dimensions are treated as three with leading dimensions of size 1.
 */
import { toThree } from './spatial.js';

/** Geometry of a convolution; `input` is [N, C, …] and `output` [N, K, …] of the untransposed direction. */
export interface ConvolutionShape {
  readonly batch: number;
  readonly inputChannels: number;
  readonly outputChannels: number;
  readonly groups: number;
  readonly input: readonly number[];
  readonly output: readonly number[];
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

/**
 * Calls `visit(input, output, weight, count, inputStep)` for each run of `count` taps along the last
 * dimension: input positions advance by `inputStep`, output positions by 1, the weight stays.
 */
function forEachRun(
  shape: ConvolutionShape,
  visit: (input: number, output: number, weight: number, count: number, inputStep: number) => void,
): void {
  const [id, ih, iw] = toThree(shape.input, 1);
  const [od, oh, ow] = toThree(shape.output, 1);
  const [kd, kh, kw] = toThree(shape.kernel, 1);
  const [sd, sh, sw] = toThree(shape.stride, 1);
  const [pd, ph, pw] = toThree(shape.padding, 0);
  const [dd, dh, dw] = toThree(shape.dilation, 1);
  const inPlane = id * ih * iw;
  const outPlane = od * oh * ow;
  const taps = kd * kh * kw;
  const channelsIn = shape.inputChannels / shape.groups;
  const channelsOut = shape.outputChannels / shape.groups;
  for (let n = 0; n < shape.batch; n++) {
    for (let k = 0; k < shape.outputChannels; k++) {
      const group = Math.floor(k / channelsOut);
      const outBase = (n * shape.outputChannels + k) * outPlane;
      for (let c = 0; c < channelsIn; c++) {
        const inBase = (n * shape.inputChannels + group * channelsIn + c) * inPlane;
        for (let tap = 0; tap < taps; tap++) {
          const tz = Math.floor(tap / (kh * kw));
          const ty = Math.floor(tap / kw) % kh;
          const tx = tap % kw;
          const weight = (k * channelsIn + c) * taps + tap;
          // Output columns whose input column lies inside the image.
          const shift = tx * dw - pw;
          const first = Math.max(0, Math.ceil(-shift / sw));
          const last = Math.min(ow - 1, Math.floor((iw - 1 - shift) / sw));
          if (last < first) continue;
          for (let z = 0; z < od; z++) {
            const iz = z * sd - pd + tz * dd;
            if (iz < 0 || iz >= id) continue;
            for (let y = 0; y < oh; y++) {
              const iy = y * sh - ph + ty * dh;
              if (iy < 0 || iy >= ih) continue;
              visit(
                inBase + (iz * ih + iy) * iw + first * sw + shift,
                outBase + (z * oh + y) * ow + first,
                weight,
                last - first + 1,
                sw,
              );
            }
          }
        }
      }
    }
  }
}

/** Adds the convolution of `input` with `weight` to `output`. */
export function convolveForward(
  shape: ConvolutionShape,
  input: Float64Array,
  weight: Float64Array,
  output: Float64Array,
): void {
  forEachRun(shape, (i, o, w, count, step) => {
    const factor = weight[w]!;
    for (let j = 0; j < count; j++) output[o + j]! += factor * input[i + j * step]!;
  });
}

/** Adds to `input` what reaches it from `output`: the gradient of the input, or a transposed convolution. */
export function convolveToInput(
  shape: ConvolutionShape,
  output: Float64Array,
  weight: Float64Array,
  input: Float64Array,
): void {
  forEachRun(shape, (i, o, w, count, step) => {
    const factor = weight[w]!;
    for (let j = 0; j < count; j++) input[i + j * step]! += factor * output[o + j]!;
  });
}

/** Adds to `weight` the products of input and output elements that meet through each tap. */
export function convolveToWeight(
  shape: ConvolutionShape,
  input: Float64Array,
  output: Float64Array,
  weight: Float64Array,
): void {
  forEachRun(shape, (i, o, w, count, step) => {
    let total = 0;
    for (let j = 0; j < count; j++) total += input[i + j * step]! * output[o + j]!;
    weight[w]! += total;
  });
}
