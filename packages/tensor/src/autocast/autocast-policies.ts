/**
 * @file Which operators autocast runs in which precision.
 *
 * The lists are PyTorch's: of its CUDA device for `wgpu` (made for float16) and of its CPU for `cpu` (made
 * for bfloat16). Names are those of operators without overloads. An operator on no list runs in the
 * types of its inputs; a composite one is decided by the operators it is made of.
 *
 * @see PyTorch's "Autocast Op Reference"
 */
import type { DeviceType } from '../device.js';

/**
 * - `lower`: inputs are cast to the scope's 16-bit type.
 * - `float32`: 16-bit inputs are cast to float32.
 * - `float32-result`: as `float32` unless a dtype argument says otherwise.
 * - `widest`: inputs are cast to the widest floating type among them.
 * - `refused`: an error, because the op is unsafe in float16.
 */
export type AutocastPolicy = 'lower' | 'float32' | 'float32-result' | 'widest' | 'refused';

const PRODUCTS =
  'conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution ' +
  '_convolution prelu addmm addbmm baddbmm bmm mm matmul linear linalg_vecdot ' +
  'scaled_dot_product_attention';

const DISTANCE_LOSSES =
  'cosine_embedding_loss hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss ' +
  'multi_margin_loss multilabel_margin_loss nll_loss nll_loss2d nll_loss_nd poisson_nll_loss ' +
  'smooth_l1_loss soft_margin_loss triplet_margin_loss binary_cross_entropy_with_logits';

const GPU: Readonly<Partial<Record<AutocastPolicy, string>>> = {
  lower: `${PRODUCTS} addmv addr mv einsum chain_matmul linalg_multi_dot`,
  float32:
    `${DISTANCE_LOSSES} acos asin cosh erfinv exp expm1 log log10 log1p log2 reciprocal rsqrt sinh tan ` +
    'pow softplus layer_norm native_layer_norm group_norm norm frobenius_norm nuclear_norm ' +
    'cosine_similarity dist pdist cdist renorm logsumexp upsample_nearest1d _upsample_nearest_exact1d ' +
    'upsample_nearest2d _upsample_nearest_exact2d upsample_nearest3d _upsample_nearest_exact3d ' +
    'upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d ' +
    'upsample_bicubic2d _upsample_bicubic2d_aa',
  'float32-result':
    'prod softmax log_softmax cumprod cumsum sum linalg_vector_norm linalg_matrix_norm',
  widest:
    'addcdiv addcmul atan2 bilinear cat cross dot vdot grid_sampler index_put scatter_add stack tensordot',
  refused: 'binary_cross_entropy',
};

const CPU: Readonly<Partial<Record<AutocastPolicy, string>>> = {
  lower: PRODUCTS,
  float32:
    `${DISTANCE_LOSSES} binary_cross_entropy cross_entropy_loss ctc_loss avg_pool3d grid_sampler prod ` +
    'quantile nanquantile cdist trace cumprod cumsum diag diagflat histc logcumsumexp tril triu ' +
    'adaptive_avg_pool3d adaptive_max_pool3d reflection_pad1d replication_pad1d replication_pad2d ' +
    'replication_pad3d upsample_bicubic2d linalg_norm linalg_matrix_norm linalg_cond linalg_inv ' +
    'linalg_solve linalg_pinv linalg_svdvals linalg_slogdet logdet matrix_exp renorm',
  widest: 'cat stack index_copy',
};

function tableOf(
  lists: Readonly<Partial<Record<AutocastPolicy, string>>>,
): ReadonlyMap<string, AutocastPolicy> {
  return new Map(
    Object.entries(lists).flatMap(([policy, names]) =>
      names.split(' ').map((name) => [`aten::${name}`, policy as AutocastPolicy] as const),
    ),
  );
}

const tables = new Map<DeviceType, ReadonlyMap<string, AutocastPolicy>>();

/** Policy of an operator (name without overload) on a device; undefined if it is on no list. */
export function autocastPolicy(name: string, device: DeviceType): AutocastPolicy | undefined {
  let table = tables.get(device);
  if (table === undefined) tables.set(device, (table = tableOf(device === 'cpu' ? CPU : GPU)));
  return table.get(name);
}
