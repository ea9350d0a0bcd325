/**
 * @file Batching of operators on images: pooling, padding, resampling, attention, normalisation.
 */
import type { Tensor } from '../../tensor.js';
import { add, mul, sub } from '../../ops/pointwise/arithmetic.js';
import { rsqrt } from '../../ops/pointwise/exponential.js';
import { transpose } from '../../ops/view/dims.js';
import { reshape } from '../../ops/view/view.js';
import { type BatchCall, type BatchRule, mapResult } from '../batch-call.js';
import { sliced } from './sliced.js';

/**
 * Operators on `[N, …]` with `rank` dimensions: all examples' images at once. Images without N (`rank - 1`
 * dimensions) take the batch as N.
 */
export function onImages(rank: number): BatchRule {
  return (call) => {
    const tensors = call.tensors();
    if (tensors.every(({ ndim }) => ndim === rank - 1))
      return call.run(call.mapTensors((tensor) => call.spread(tensor)));
    if (tensors.some(({ ndim }) => ndim !== rank)) return sliced(call);
    return mapResult(call.run(call.mapTensors((tensor) => call.folded(tensor))), (tensor) =>
      call.unfolded(tensor),
    );
  };
}

type Affine = Readonly<Record<'weight' | 'bias', Tensor | null>>;

/** Scale and shift of each example: `[…]` of an example at dimension `at` of `rank`. */
function affine(call: BatchCall, out: Tensor, { weight, bias }: Affine, at: number): Tensor {
  const placed = (tensor: Tensor): Tensor => {
    const tail = out.ndim - 1 - at - tensor.ndim;
    const ones = (n: number): number[] => Array.from({ length: n }, () => 1);
    const lead = call.isBatched(tensor) ? [call.size, ...ones(at)] : [];
    return reshape(call.values(tensor), [...lead, ...tensor.sizes, ...ones(tail)]);
  };
  const scaled = weight === null ? out : mul(out, placed(weight));
  return bias === null ? scaled : add(scaled, placed(bias));
}

/** `native_layer_norm(input, normalized_shape, weight, bias, eps)` */
export const layerNorm: BatchRule<
  Affine & { input: Tensor; normalized_shape: number[] },
  Tensor[]
> = (call) => {
  const { input, weight, bias, normalized_shape } = call.named;
  const own = call.isBatched(weight) || call.isBatched(bias);
  const args = call.replaced(call.args, { input: call.spread(input) });
  if (!own) return call.run(args);
  const plain = call.run(call.replaced(args, { weight: null, bias: null }));
  const at = input.ndim - normalized_shape.length;
  return [affine(call, plain[0]!, { weight, bias }, at), ...plain.slice(1)];
};

/** `native_group_norm(input, weight, bias, N, C, HxW, group, eps)` */
export const groupNorm: BatchRule<Affine & { input: Tensor; N: number }, Tensor[]> = (call) => {
  const { input, weight, bias, N } = call.named;
  const images = { input: call.folded(input), N: N * call.size, weight: null, bias: null };
  const plain = call.run(call.replaced(call.args, images));
  const [out, ...statistics] = plain.map((tensor) => call.unfolded(tensor));
  return [affine(call, out!, { weight, bias }, 1), ...statistics];
};

/** [N, C, …] per example → [N, B · C, …] */
function asChannels(call: BatchCall, input: Tensor): Tensor {
  const [images, channels, ...rest] = input.sizes;
  return reshape(transpose(call.spread(input), 0, 1), [images!, call.size * channels!, ...rest]);
}

/** Batch norm by the statistics of each example: the examples become channels. */
export const batchNormTraining: BatchRule<
  Affine & Record<'input', Tensor> & Record<string, Tensor | null>,
  Tensor[]
> = (call) => {
  const args = call.named;
  const { input, weight, bias } = args;
  const running: Record<string, Tensor> = {};
  for (const name of ['running_mean', 'running_var'])
    if (args[name] != null) running[name] = call.folded(args[name]);
  const channels = { ...running, input: asChannels(call, input), weight: null, bias: null };
  const [all, ...statistics] = call.run(call.replaced(call.args, channels));
  const [images, , ...rest] = input.sizes;
  const out = transpose(reshape(all!, [images!, call.size, input.sizes[1]!, ...rest]), 0, 1);
  return [
    affine(call, out, { weight, bias }, 1),
    ...statistics.map((tensor) => reshape(tensor, [call.size, -1])),
  ];
};

/** Batch norm by running statistics. */
export const batchNormInference: BatchRule<
  Affine & Record<'input' | 'running_mean' | 'running_var', Tensor> & { eps: number }
> = (call) => {
  const args = call.named;
  const { input, weight, bias, running_mean: mean, running_var: variance } = args;
  const column = (tensor: Tensor): Tensor =>
    reshape(call.spread(tensor), [call.size, 1, -1, ...input.sizes.slice(2).map(() => 1)]);
  const centred = sub(call.spread(input), column(mean));
  const out = mul(centred, rsqrt(add(column(variance), args.eps)));
  // Nothing is saved for a backward, which goes through these operators.
  const none = reshape(call.spread(mean), [call.size, -1]).narrow(1, 0, 0);
  return [affine(call, out, { weight, bias }, 1), none, none];
};

/** Flash attention, [N, H, L, E] per example, with one mask or none. */
export const flashAttention: BatchRule<{ attn_mask: Tensor | null }> = (call) => {
  const { attn_mask: mask } = call.named;
  if (mask !== null && (mask.ndim !== 2 || call.isBatched(mask))) return sliced(call);
  const args = call.mapTensors((tensor) => (tensor === mask ? tensor : call.folded(tensor)));
  return mapResult(call.run(args), (tensor) => call.unfolded(tensor));
};
