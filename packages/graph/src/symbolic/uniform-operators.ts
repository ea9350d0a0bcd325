/**
 * @file Operators that do the same at all sizes: what their rules, parts and derivatives compute from sizes is sums and
 * products of them, without asking how large they are.
 *
 * That is a promise of whoever lists an operator here, which a test checks for every one. It holds for sizes of 2
 * and more that vary, and within a *case*: tensors of one class of layouts, slices that lie inside. Numbers that were
 * right at enough sizes (`SizeSamples`) are right at others of the same case.
 */
import type { OpOverload } from '@tessera/tensor';
import { CASES, type CaseOf, type Shaped, numelOf } from './operator-cases.js';

/** Those without cases, by name; operators on elements are told by their tag. */
const UNIFORM: ReadonlySet<string> = new Set(
  `tessera::leaf tessera::autograd_grad tessera::outer_history tessera::recurrent_states tessera::recurrent_layer tessera::recurrent_layer_backward
  tessera::ctc_alphas tessera::ctc_alphas_backward
  squeeze unsqueeze permute transpose t mT movedim expand expand_as
  detach clone contiguous _to_copy to stack cat split_with_sizes
  unfold
  diag_embed meshgrid flip rot90 fliplr flipud
  pixel_shuffle zeros ones full zeros_like ones_like new_zeros new_ones new_empty_strided arange linspace eye
  tril triu reflection_pad1d_backward reflection_pad2d_backward
  sum mean prod amax amin max min all any argmax argmin logsumexp softmax log_softmax _softmax _log_softmax
  _softmax_backward_data _log_softmax_backward_data linalg_vector_norm
  cumsum sort argsort median
  layer_norm native_layer_norm native_layer_norm_backward rms_norm
  batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional native_batch_norm_backward
  native_group_norm_backward instance_norm
  dropout native_dropout
  cross_entropy_loss nll_loss nll_loss_nd nll_loss_forward nll_loss_backward mse_loss l1_loss smooth_l1_loss
  huber_loss
  kl_div binary_cross_entropy binary_cross_entropy_with_logits
  relu6 square rsub selu celu glu glu_backward
  cosine_similarity pairwise_distance
  linalg_cholesky linalg_cholesky_ex cholesky_solve cholesky_inverse linalg_inv linalg_inv_ex
  linalg_det _linalg_det linalg_slogdet _linalg_slogdet logdet
  linalg_eigh _linalg_eigh linalg_eigvalsh linalg_solve_triangular linalg_lu_solve
  tessera::linalg_cofactor tessera::pivots_to_permutation
  mm bmm mv dot addmm baddbmm matmul linear outer inner einsum tensordot
  _scaled_dot_product_flash_attention_for_cpu
  _scaled_dot_product_flash_attention_for_cpu_backward
  conv_transpose1d conv_transpose2d convolution convolution_backward
  max_pool2d_with_indices_backward
  avg_pool2d_backward
  upsample_nearest2d_backward upsample_bilinear2d_backward
  embedding embedding_dense_backward index_select index_add index_copy index_fill
  scalar_tensor log_sigmoid`.split(/\s+/),
);

/** The arguments of `arange` are (start, end, step), of its overloads fewer. */
const RANGE = 'aten::arange.start_step';

/** Whether an operator does the same at all sizes. */
export function isUniform(op: OpOverload): boolean {
  const name = baseName(op);
  return op.hasTag('pointwise') || UNIFORM.has(name) || name in CASES;
}

/**
 * What tells in which case a call of a uniform operator is, of operands of known classes of layouts: what is known of
 * calls is known of those in the same case. Null for an operator that is in one case at all sizes.
 */
export function casesOf(op: OpOverload): CaseOf | null {
  if (op.qualifiedName === RANGE) return ([, , step]) => ((step ?? 1) === 1 ? '' : null);
  return CASES[baseName(op)] ?? null;
}

/** What operators may ask of a layout: in which order dimensions lie in memory, and which of them could be one. */
export function layoutClass({ sizes, strides }: Shaped): string {
  let code = '';
  for (let i = 0; i < sizes.length; i++) {
    const stride = strides[i]!;
    code += stride === 1 ? '1' : '-';
    for (let j = 0; j < i; j++) {
      const other = strides[j]!;
      const order = other > stride ? '>' : other < stride ? '<' : '=';
      code += other === stride * sizes[i]! || stride === other * sizes[j]! ? `${order}!` : order;
    }
  }
  return code;
}

const names = new WeakMap<OpOverload, string>();

/** The layouts that operators may not tell from an example. */
export class LayoutClass {
  /** Those of the example. */
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  private readonly code: string;
  /** Whether elements lie side by side in the order of dimensions: then those of every layout of the class do. */
  readonly isDense: boolean;

  constructor(example: Shaped) {
    this.sizes = example.sizes;
    this.strides = example.strides;
    this.code = layoutClass(example);
    this.isDense = isDense(example);
  }

  /** Whether a layout is of the class. */
  has({ sizes, strides }: Shaped): boolean {
    const like = this.sizes;
    let i = this.isDense && sizes.length === like.length ? sizes.length - 1 : -2;
    // Those of whose dimensions the same are one, and whose elements lie side by side in their order, are of one class.
    for (let below = 1; i >= 0 && strides[i] === below; i--) {
      const size = sizes[i]!;
      if ((size === 1) !== (like[i] === 1) || size === 0) break;
      below *= size;
    }
    return i === -1 || layoutClass({ sizes, strides }) === this.code;
  }
}

/** Whether elements lie side by side in the order of dimensions. */
function isDense({ sizes, strides }: Shaped): boolean {
  return sizes.every((size, i) => size > 0 && strides[i] === numelOf(sizes.slice(i + 1)));
}

/** Name without PyTorch's namespace, without overload, and without the underscore of writing in place. */
export function baseName(op: OpOverload): string {
  let name = names.get(op);
  if (name === undefined)
    names.set(
      op,
      (name = op.qualifiedName.replace(/^aten::|\..*/g, '').replace(/(?<=[a-z])_$/, '')),
    );
  return name;
}
