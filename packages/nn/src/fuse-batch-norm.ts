/**
 * @file Batch norms of a trained model taken into the layer before them. Modelled on `torch.nn.utils.fusion`.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, noGrad, zerosLike } from '@tessera/tensor';
import { cloneModule } from './module/clone-module.js';
import type { Module } from './module/module.js';
import type { BatchNorm } from './modules/batch-norm.js';
import type { Linear } from './modules/linear.js';
import { Parameter } from './parameter.js';
import { checkModule } from './module/check-child.js';

/** What has a weight and maybe a bias. */
type Layer = Module & { weight: Parameter; bias: Parameter | null };

function refuse(text: string, hint: string): never {
  throw new TesseraError('invalid-argument', text, { hints: [hint] });
}

/** A copy of a layer whose results are those of the norm behind it; the weight's output channels are at `dim`. */
function fuse<L extends Layer>(layer: L, bn: BatchNorm, dim: number): L {
  checkModule('fuse', bn);
  if (layer.training || bn.training)
    refuse('Fusion only for eval!', 'Call eval() of the model first.');
  const { running_mean: mean, running_var: variance, weight, bias } = bn;
  if (mean === null || variance === null)
    refuse(
      'bn.running_mean and bn.running_var must not be None',
      'The norm was made with trackRunningStats: false.',
    );
  return noGrad(() => {
    const inverse = variance.add(bn.eps).rsqrt();
    const factor = weight === null ? inverse : weight.mul(inverse);
    const fused = cloneModule(layer);
    const sizes = fused.weight.sizes.map((_, i) => (i === dim ? factor.numel : 1));
    const made = (value: Tensor, like: Parameter): Parameter =>
      new Parameter(value.to(like.dtype), { requiresGrad: like.requiresGrad });
    const shifted = (fused.bias ?? zerosLike(mean)).sub(mean).mul(factor);
    const shift = bias === null ? shifted : shifted.add(bias);
    fused.bias = made(shift, fused.bias ?? fused.weight);
    fused.weight = made(fused.weight.mul(factor.reshape(sizes)), fused.weight);
    return fused;
  });
}

const TRANSPOSE: OptionNames<{ readonly transpose?: boolean }> = { transpose: true };

/**
 * A copy of a convolution that does what it and the batch norm behind it do in evaluation.
 *
 * @param options `transpose` for transposed convolutions, whose weights have output channels second
 * @throws invalid-argument while either is training, or without running statistics
 * @see torch.nn.utils.fusion.fuse_conv_bn_eval
 */
export function fuseConvBnEval<L extends Layer>(
  conv: L,
  bn: BatchNorm,
  options: { readonly transpose?: boolean } = {},
): L {
  checkOptionNames('fuseConvBnEval', options, TRANSPOSE);
  checkModule('fuseConvBnEval', conv);
  return fuse(conv, bn, options.transpose === true ? 1 : 0);
}

/**
 * A copy of a linear layer that does what it and the batch norm behind it do in evaluation.
 *
 * @throws invalid-argument while either is training, without running statistics, or where features do not fit
 * @see torch.nn.utils.fusion.fuse_linear_bn_eval
 */
export function fuseLinearBnEval(linear: Linear, bn: BatchNorm): Linear {
  checkModule('fuseLinearBnEval', linear);
  if (linear.outFeatures !== bn.numFeatures && bn.numFeatures !== 1)
    refuse(
      `To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features=${linear.outFeatures} and bn.num_features=${bn.numFeatures}`,
      'A norm of more channels works on another dimension.',
    );
  return fuse(linear, bn, 0);
}
