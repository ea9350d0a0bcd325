/**
 * @file Which rule batches which operator.
 *
 * By name where an operator needs it, else by what its record says: operators on elements broadcast, reductions
 * along dimensions move these. What is left runs once per example (rules/sliced.ts).
 */
import type { OpOverload } from '../op/op-overload.js';
import type { BatchRule } from './batch-call.js';
import {
  alongDims,
  intoZeros,
  overAll,
  position,
  prodAll,
  squeezeAll,
  unsqueezeView,
  viewAlongDims,
} from './rules/dims.js';
import { gradients, leaf, outer } from './rules/gradient.js';
import {
  embedding,
  gathered,
  indexPut,
  indexSelect,
  indexTensor,
  indexWrite,
} from './rules/indexing.js';
import { lossFormula } from './rules/loss.js';
import { addedProduct, convolution, dot, matrixVector, product } from './rules/matmul.js';
import {
  copied,
  elementwise,
  fillTensor,
  maskedFillTensor,
  pointwise,
  reducedLoss,
} from './rules/pointwise.js';
import { recurrentLayer } from './rules/recurrent.js';
import { sliced } from './rules/sliced.js';
import {
  batchNormInference,
  batchNormTraining,
  flashAttention,
  groupNorm,
  layerNorm,
  onImages,
} from './rules/spatial.js';
import {
  expandRule,
  newSize,
  onLastDims,
  permuteRule,
  transposeRule,
  viewRule,
} from './rules/view.js';

const RULES = new Map<string, BatchRule>();

function rule(batch: BatchRule, ...names: string[]): void {
  for (const name of names) RULES.set(name, batch);
}

rule(elementwise, 'clone', '_to_copy', 'detach', 'alias');
rule(elementwise, 'zeros_like', 'ones_like', 'full_like', 'empty_like');
rule(newSize, 'new_zeros', 'new_ones', 'new_full', 'new_empty');
rule(copied, 'copy');
rule(fillTensor, 'fill.Tensor');
rule(maskedFillTensor, 'masked_fill.Tensor');
rule(reducedLoss, 'binary_cross_entropy', 'binary_cross_entropy_with_logits');

rule(viewRule, 'view');
rule(expandRule, 'expand');
rule(permuteRule, 'permute');
rule(transposeRule, 't');
rule(squeezeAll, 'squeeze');
rule(unsqueezeView, 'unsqueeze');
rule(viewAlongDims, 'transpose.int', 'squeeze.dim', 'squeeze.dims', 'unfold');
rule(viewAlongDims, 'select.int', 'slice.Tensor', 'diagonal');
rule(viewAlongDims, 'split.Tensor', 'split_with_sizes', 'unbind.int');

rule(intoZeros, 'select_backward', 'slice_backward', 'diagonal_backward');

rule(alongDims, 'cat', 'cumsum', 'cumprod', 'cummax', 'cummin', 'flip', 'glu');
rule(alongDims, 'sort', 'sort.stable', 'topk', 'slice_scatter', 'select_scatter');
rule(alongDims, 'diagonal_scatter');
rule(position, 'argmax', 'argmin');
rule(prodAll, 'prod');
rule(overAll('aten::max.dim'), 'max');
rule(overAll('aten::min.dim'), 'min');
rule(overAll('aten::any.dim'), 'any');
rule(overAll('aten::all.dim'), 'all');
rule(overAll('aten::median.dim'), 'median');
rule(overAll('aten::nanmedian.dim'), 'nanmedian');

rule(gathered, 'gather', 'scatter.src', 'scatter.value', 'scatter_add', 'scatter_reduce.two');
rule(indexSelect, 'index_select');
rule(indexWrite, 'index_add', 'index_copy');
rule(indexTensor, 'index.Tensor');
rule(indexPut, 'index_put');
rule(embedding, 'embedding');

rule(product, 'mm', 'bmm');
rule(matrixVector, 'mv');
rule(dot, 'dot');
rule(addedProduct('mat1', 'mat2'), 'addmm');
rule(addedProduct('batch1', 'batch2'), 'baddbmm');
rule(convolution, 'convolution');

rule(onLastDims, 'constant_pad_nd', 'tril', 'triu', '_cdist_forward', '_euclidean_dist');
rule(onLastDims, '_linalg_svd', 'linalg_qr', '_linalg_slogdet', 'linalg_matrix_exp');
rule(onImages(3), 'reflection_pad1d', 'replication_pad1d', 'upsample_linear1d');
rule(onImages(3), 'upsample_nearest1d', '_upsample_nearest_exact1d');
rule(onImages(4), 'reflection_pad2d', 'replication_pad2d', 'upsample_bilinear2d');
rule(onImages(4), 'upsample_nearest2d', '_upsample_nearest_exact2d', 'upsample_bicubic2d');
rule(onImages(4), '_upsample_bilinear2d_aa', '_upsample_bicubic2d_aa');
rule(onImages(4), 'max_pool2d_with_indices', 'avg_pool2d');
rule(onImages(4), '_adaptive_avg_pool2d', 'adaptive_max_pool2d', 'grid_sampler_2d', 'im2col');
rule(onImages(5), 'reflection_pad3d', 'replication_pad3d', 'upsample_trilinear3d');
rule(onImages(5), 'upsample_nearest3d', '_upsample_nearest_exact3d', 'grid_sampler_3d');
rule(onImages(5), 'max_pool3d_with_indices', 'avg_pool3d');
rule(onImages(5), '_adaptive_avg_pool3d', 'adaptive_max_pool3d');
rule(onImages(3), 'col2im');
rule(flashAttention, '_scaled_dot_product_flash_attention_for_cpu');
rule(layerNorm, 'native_layer_norm');
rule(groupNorm, 'native_group_norm');
rule(batchNormTraining, '_native_batch_norm_legit.no_stats');
rule(batchNormInference, '_native_batch_norm_legit_no_training');
rule(
  recurrentLayer,
  ...['tessera::recurrent_layer', 'tessera::recurrent_layer_backward'],
  ...['tessera::ctc_alphas', 'tessera::ctc_alphas_backward'],
);

const COMPOSITE = new Map<string, BatchRule>([
  ['tessera::leaf', leaf],
  ['tessera::autograd_grad', gradients],
  ['tessera::autograd_grad.create_graph', gradients],
  ['tessera::autograd_grad.outer', gradients],
  ['tessera::grad_outside_graph', gradients],
  ['tessera::grad_outside_graph.outer', gradients],
  ['tessera::outer_history', outer],
]);

const FORMULAS = new Map<string, BatchRule>([
  ['aten::nll_loss_forward', lossFormula],
  ['aten::nll_loss2d_forward', lossFormula],
]);

/** Formulas of operators whose parts are batched in their place: they are called inside of the `vmap`. */
export function formulaOf(op: OpOverload): BatchRule | undefined {
  return FORMULAS.get(op.qualifiedName);
}

/** Rules of operators that would otherwise be taken apart. */
export function compositeRule(op: OpOverload): BatchRule | undefined {
  return COMPOSITE.get(op.qualifiedName);
}

/** The rule of a primitive operator. */
export function ruleOf(op: OpOverload): BatchRule {
  const named = RULES.get(op.qualifiedName.replace(/^aten::/, ''));
  if (named !== undefined) return named;
  if (op.isCustom) return sliced;
  if (op.hasTag('pointwise')) return pointwise;
  const reduces = op.hasTag('reduction') && op.argIndex.has('dim');
  return reduces ? alongDims : sliced;
}
