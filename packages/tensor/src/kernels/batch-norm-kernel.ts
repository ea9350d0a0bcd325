/**
 * @file Reference kernels of batch norm, forward and backward.
 *
 * Inputs are [N, C, …]; statistics are per channel.
 */
import type { Tensor } from '../tensor.js';
import { readNumbers, writeNumbers } from './elements.js';
import { numelOf } from '../shape.js';

/** Calls `visit(channel, position)` for every element of an [N, C, …] tensor in row-major order. */
export function forEachChannel(input: Tensor, visit: (channel: number, i: number) => void): void {
  const channels = input.sizes[1]!;
  const inner = numelOf(input.sizes.slice(2));
  for (let i = 0; i < input.numel; i++) visit(Math.floor(i / inner) % channels, i);
}

/** Mean and biased variance per channel. */
export function channelStatistics(
  input: Tensor,
  x: Float64Array,
): { means: Float64Array; variances: Float64Array; count: number } {
  const channels = input.sizes[1]!;
  const count = x.length / channels;
  const means = new Float64Array(channels);
  const variances = new Float64Array(channels);
  forEachChannel(input, (c, i) => (means[c]! += x[i]! / count));
  forEachChannel(input, (c, i) => (variances[c]! += (x[i]! - means[c]!) ** 2 / count));
  return { means, variances, count };
}

/** (x - mean) · invstd · weight + bias per channel. */
export function normalizeChannels(
  out: Tensor,
  input: Tensor,
  x: Float64Array,
  means: ArrayLike<number>,
  scales: ArrayLike<number>,
  weight: Tensor | null,
  bias: Tensor | null,
): void {
  const w = weight === null ? null : readNumbers(weight);
  const b = bias === null ? null : readNumbers(bias);
  const results = new Float64Array(x.length);
  forEachChannel(
    input,
    (c, i) =>
      (results[i] =
        (x[i]! - means[c]!) * scales[c]! * (w === null ? 1 : w[c]!) + (b === null ? 0 : b[c]!)),
  );
  writeNumbers(out, results);
}

/** What the backward kernel reads; statistics are those the forward normalised with. */
export interface BatchNormBackward {
  readonly gradOut: Tensor;
  readonly input: Tensor;
  readonly weight: Tensor | null;
  readonly means: ArrayLike<number>;
  readonly scales: ArrayLike<number>;
  /** Whether the statistics depend on the input. */
  readonly train: boolean;
}

/** Gradients of input, weight and bias. */
export function batchNormBackward(call: BatchNormBackward): {
  input: Float64Array;
  weight: Float64Array;
  bias: Float64Array;
} {
  const { input, means, scales, train } = call;
  const g = readNumbers(call.gradOut);
  const x = readNumbers(input);
  const w = call.weight === null ? null : readNumbers(call.weight);
  const channels = input.sizes[1]!;
  const count = x.length / channels;
  const forWeight = new Float64Array(channels);
  const forBias = new Float64Array(channels);
  forEachChannel(input, (c, i) => {
    forWeight[c]! += g[i]! * (x[i]! - means[c]!) * scales[c]!;
    forBias[c]! += g[i]!;
  });
  const forInput = new Float64Array(x.length);
  forEachChannel(input, (c, i) => {
    const factor = scales[c]! * (w === null ? 1 : w[c]!);
    const normal = (x[i]! - means[c]!) * scales[c]!;
    forInput[i] =
      factor * (train ? g[i]! - forBias[c]! / count - (normal * forWeight[c]!) / count : g[i]!);
  });
  return { input: forInput, weight: forWeight, bias: forBias };
}
