/**
 * @file Scaled dot-product attention: which way to compute it, and the one that keeps the scores.
 *
 * Four-dimensional operands without dropout go to the flash op (attention-flash.ts), as PyTorch's do.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { flashAttention } from './flash.js';
import { additiveMask, causalBias, headsRepeated, scaleOf } from './shape.js';
import { eq } from '../pointwise/comparison.js';
import { toDtype } from '../arrange/copy.js';
import { dropout } from '../random/dropout.js';
import { scalarTensor } from '../factory/factory.js';
import { matmul } from '../matmul/composite.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { all } from '../reduction/logic.js';
import { softmax } from '../activation/softmax.js';
import { transpose } from '../view/dims.js';
import { where } from '../pointwise/where.js';

const safeSoftmaxOp = defineOp(
  'aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor',
  {
    decompose: ({ self, dim, dtype }) => {
      const hidden = all(eq(self, -Infinity), dim, { keepdim: true });
      const zero = ({ dtype, device }: Tensor): Tensor => scalarTensor(0, { dtype, device });
      // The weights of a hidden row would be NaN, and so would their gradient be, even times 0.
      const scores = where(hidden, zero(self), self);
      const weights = softmax(scores, dim, {
        dtype: dtype ?? undefined,
      });
      return where(hidden, zero(weights), weights);
    },
  },
);

/** Arguments of `aten::scaled_dot_product_attention`. */
interface AttentionArgs {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly attn_mask: Tensor | null;
  readonly dropout_p: number;
  readonly is_causal: boolean;
  readonly scale: number | null;
  readonly enable_gqa: boolean;
}

/** @throws dtype-mismatch, shape-mismatch, invalid-argument */
function check({ query, key, value, attn_mask, is_causal }: AttentionArgs): void {
  if (query.dtype !== key.dtype || query.dtype !== value.dtype)
    throw new TesseraError(
      'dtype-mismatch',
      `scaled_dot_product_attention: Expected query, key, and value to have the same dtype, but got query.dtype: ${query.dtype} key.dtype: ${key.dtype} and value.dtype: ${value.dtype} instead.`,
      { hints: ['Convert them: key.to(query.dtype).'] },
    );
  if (query.ndim < 2 || key.ndim < 2 || value.ndim < 2)
    throw new TesseraError(
      'shape-mismatch',
      `scaled_dot_product_attention: Expected query, key, and value to all be at least 2 dimensional, but got query ${formatSizes(query.sizes)}, key ${formatSizes(key.sizes)} and value ${formatSizes(value.sizes)} instead.`,
      { hints: ['They are [N, …, L, E], [N, …, S, E] and [N, …, S, Ev].'] },
    );
  if (attn_mask === null) return;
  if (is_causal === true)
    throw new TesseraError(
      'invalid-argument',
      'scaled_dot_product_attention: explicit attn_mask should not be set when is_causal=True',
      { hints: ['Combine the causal mask into the mask.'] },
    );
  const { dtype } = attn_mask;
  if (dtype !== 'bool' && dtype !== 'float32' && dtype !== query.dtype)
    throw new TesseraError(
      'dtype-mismatch',
      `scaled_dot_product_attention: Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ${dtype} and query.dtype: ${query.dtype} instead.`,
      { hints: ['A bool mask is true where a key takes part.'] },
    );
}

/** Whether the flash op takes a call. @see sdp::use_flash_attention_cpp */
function isFlash({ query, key, value, attn_mask, dropout_p, enable_gqa }: AttentionArgs): boolean {
  const operands = [query, key, value];
  const [batch, heads, length, width] = query.sizes;
  if (dropout_p !== 0 || operands.some((x) => x.ndim !== 4)) return false;
  const shared = (x: Tensor): boolean =>
    x.sizes[1] === heads || (enable_gqa === true && Number.isInteger(heads / x.sizes[1]!));
  return (
    operands.every((x) => x.sizes[0] === batch && x.sizes[3] === width && shared(x)) &&
    operands.every((x) => x.sizes[2]! > 0 && (x.strides[3] === 1 || x.sizes[3] === 1)) &&
    key.sizes[1] === value.sizes[1] &&
    key.sizes[2] === value.sizes[2] &&
    (attn_mask === null || isFlashMask(attn_mask, [batch, heads, length, key.sizes[2]]))
  );
}

function isFlashMask(mask: Tensor, sizes: readonly number[]): boolean {
  if (mask.requiresGrad || (mask.ndim !== 2 && mask.ndim !== 4)) return false;
  const lead = 4 - mask.ndim;
  return mask.sizes.every((size, d) => size === 1 || size === sizes[d + lead]);
}

/** With all scores in memory; in float32 for 16-bit floats. */
function scored(args: AttentionArgs, mask: Tensor | null): Tensor {
  const { dtype } = args.query;
  const low = dtype === 'float16' || dtype === 'bfloat16';
  const wide = (x: Tensor): Tensor => (low ? toDtype(x, 'float32') : x);
  const [query, key, value] = [args.query, args.key, args.value].map((x) => wide(x));
  const shared = (x: Tensor): Tensor => (args.enable_gqa === true ? headsRepeated(x, query) : x);
  // Both factors are scaled by the root, which keeps the products small.
  const scale = scaleOf(query, args.scale);
  const root = Math.sqrt(Math.abs(scale));
  const scaled = mul(query, scale < 0 ? -root : root);
  let scores = matmul(scaled, mul(transpose(shared(key), -2, -1), root));
  if (args.is_causal === true) scores = add(scores, causalBias(scaled, key));
  else if (mask !== null) scores = add(scores, mask);
  let weights = callOp(safeSoftmaxOp, [scores, -1, null]);
  if (args.dropout_p > 0) weights = dropout(weights, { p: args.dropout_p, training: true });
  const out = matmul(weights, shared(value));
  return low ? toDtype(out, dtype) : out;
}

const attentionOp = defineOp(
  'aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor',
  {
    decompose: (args) => {
      check(args);
      const mask = additiveMask(args.attn_mask, args.query);
      if (!isFlash({ ...args, attn_mask: mask })) return scored(args, mask);
      return flashAttention(args.query, args.key, args.value, args.is_causal, mask, args.scale);
    },
  },
);

/** Options of `scaledDotProductAttention`. */
export interface AttentionOptions {
  /** bool: true takes part; otherwise added to the scores. Broadcasts to [N, …, L, S]. */
  readonly attnMask?: Tensor | null;
  /** Share of the weights that is dropped (default 0). */
  readonly dropoutP?: number;
  /** Whether position i sees only positions up to i (default false). */
  readonly isCausal?: boolean;
  /** Factor of the scores (default 1/√E). */
  readonly scale?: number | null;
  /** Whether several heads of the query may share one of key and value (default false). */
  readonly enableGqa?: boolean;
}
const ATTENTION: OptionNames<AttentionOptions> = {
  attnMask: true,
  dropoutP: true,
  isCausal: true,
  scale: true,
  enableGqa: true,
};

/**
 * softmax(query keyᵀ · scale + mask) value: [N, …, L, E], [N, …, S, E], [N, …, S, Ev] → [N, …, L, Ev].
 * Positions that see nothing give zeros.
 *
 * @throws dtype-mismatch, shape-mismatch, invalid-argument for a mask together with isCausal
 * @see torch.nn.functional.scaled_dot_product_attention
 */
export function scaledDotProductAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options: AttentionOptions = {},
): Tensor {
  checkOptionNames('scaledDotProductAttention', options, ATTENTION);
  const {
    attnMask = null,
    dropoutP = 0,
    isCausal = false,
    scale = null,
    enableGqa = false,
  } = options;
  return callOp(attentionOp, [query, key, value, attnMask, dropoutP, isCausal, scale, enableGqa]);
}
