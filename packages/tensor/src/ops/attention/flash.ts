/**
 * @file Attention as one op that keeps no scores: its backward computes them again from their log Σ exp.
 *
 * The gradient of a gradient is written in plain operators, which do keep scores.
 */
import { TesseraError } from '@tessera/shared';
import { isGradEnabled } from '../../autograd/grad-mode.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { type Attention, attend, attendBackward } from '../../kernels/attention-kernel.js';
import { writeNumbers } from '../../kernels/elements.js';
import { formatStrides } from '../../memory-format.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { GradsOf, TensorMeta, VjpContext } from '../../op/op-record.js';
import { contiguousStrides, formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { causalBias, headsRepeated, scaleOf } from './shape.js';
import { matmul } from '../matmul/composite.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';
import { softmax } from '../activation/softmax.js';
import { reshape } from '../view/view.js';
import { transpose } from '../view/dims.js';

/** Arguments that forward and backward have in common. */
type FlashArgs = {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly dropout_p: number;
  readonly is_causal: boolean;
  readonly attn_mask: Tensor | null;
  readonly scale: number | null;
};

function attentionOf({ query, key, value, attn_mask, is_causal, scale }: FlashArgs): Attention {
  return {
    query,
    key,
    value,
    mask: attn_mask ?? null,
    isCausal: is_causal,
    scale: scaleOf(query, scale),
  };
}

/** @throws shape-mismatch, invalid-argument */
function check({ query, key, value, dropout_p }: FlashArgs): void {
  const operands = { query, key, value };
  for (const [name, tensor] of Object.entries(operands)) {
    if (tensor.ndim === 4 && tensor.sizes[3] === query.sizes[3]) continue;
    throw new TesseraError(
      'shape-mismatch',
      `scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K} with the same head size, but ${name} is ${formatSizes(tensor.sizes)}`,
      { hints: ['Use scaledDotProductAttention, which takes other shapes too.'] },
    );
  }
  if (dropout_p !== 0)
    throw new TesseraError(
      'invalid-argument',
      `scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0, but got ${dropout_p}`,
      { hints: ['Use scaledDotProductAttention, which does.'] },
    );
}

/** [B, H, L, …] in the memory order B, L, H, …. */
function lengthFirst(like: Tensor, sizes: readonly number[], dtype = like.dtype): TensorMeta {
  const [b, h, l, ...rest] = sizes;
  const [sb, sl, sh, ...inner] = contiguousStrides([b, l, h, ...rest]);
  return { sizes, strides: [sb, sh, sl, ...inner], dtype, device: like.device };
}

const flashOp: OpOverload<[Tensor, Tensor]> = defineOp(
  'aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)',
  {
    tags: ['compute-intensive'],
    meta: (args) => {
      check(args);
      const query = args.query;
      const { dtype, device, sizes } = query;
      return [
        { sizes, strides: formatStrides(query, null), dtype, device },
        lengthFirst(query, sizes.slice(0, 3), dtype === 'float64' ? dtype : 'float32'),
      ];
    },
    kernel: (args, [out, logSumExp]) => {
      const results = attend(attentionOf(args));
      writeNumbers(out!, results.out);
      writeNumbers(logSumExp!, results.logSumExp);
    },
    saved: ['query', 'key', 'value', 'attn_mask', 'out'],
    constantOutputs: [1],
    vjp: (args, context) => gradients(args, context),
  },
);

const flashBackwardOp: OpOverload<[Tensor, Tensor, Tensor]> = defineOp(
  'aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)',
  {
    tags: ['compute-intensive'],
    meta: (args) => {
      check(args);
      return [args.query, args.key, args.value].map((tensor) => lengthFirst(tensor, tensor.sizes));
    },
    kernel: (args, outs) => {
      const { query, key, value } = attendBackward(
        attentionOf(args),
        args.grad_out,
        args.out,
        args.logsumexp,
      );
      [query, key, value].forEach((grads, i) => writeNumbers(outs[i]!, grads));
    },
  },
);

function gradients(args: FlashArgs, { grad, outs }: VjpContext): GradsOf<FlashArgs> {
  if (isGradEnabled()) return composedGradient(args, grad);
  const { query, key, value, dropout_p, is_causal, attn_mask, scale } = args;
  const [dQuery, dKey, dValue] = callOp(flashBackwardOp, [
    grad,
    query,
    key,
    value,
    outs[0],
    outs[1],
    dropout_p,
    is_causal,
    attn_mask,
    scale,
  ]);
  return { query: dQuery, key: dKey, value: dValue };
}

/** Sums the gradients of query heads that share a key head. */
function headsSummed(grad: Tensor, heads: number): Tensor {
  const [b, h, ...rest] = grad.sizes;
  return h === heads ? grad : sum(reshape(grad, [b, heads, h / heads, ...rest]), 2);
}

/** A gradient that must itself be differentiable is written in primitive ops. */
function composedGradient(args: FlashArgs, grad: Tensor): GradsOf<FlashArgs> {
  const { query, key, value, isCausal, mask, scale } = attentionOf(args);
  const keys = headsRepeated(key, query);
  const values = headsRepeated(value, query);
  let scores = mul(matmul(query, transpose(keys, -2, -1)), scale);
  if (isCausal) scores = add(scores, causalBias(query, key));
  if (mask !== null) scores = add(scores, mask);
  const weights = softmax(scores, -1);
  const slopes = matmul(grad, transpose(values, -2, -1));
  const total = sum(mul(slopes, weights), -1, { keepdim: true });
  const steps = mul(mul(weights, sub(slopes, total)), scale);
  const heads = key.sizes[1]!;
  return {
    query: () => matmul(steps, keys),
    key: () => headsSummed(matmul(transpose(steps, -2, -1), query), heads),
    value: () => headsSummed(matmul(transpose(weights, -2, -1), grad), heads),
  };
}

/** The flash op with an additive mask or none. @throws shape-mismatch */
export function flashAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  isCausal: boolean,
  mask: Tensor | null,
  scale: number | null,
): Tensor {
  return callOp(flashOp, [query, key, value, 0, isCausal, mask, scale])[0]!;
}
