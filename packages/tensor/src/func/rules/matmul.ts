/**
 * @file Batching of matrix products: by `matmul`, which folds or broadcasts dimensions in front.
 */
import type { ScalarLike } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { getOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { matmul } from '../../ops/matmul/composite.js';
import { add, mul } from '../../ops/pointwise/arithmetic.js';
import { squeeze, unsqueeze } from '../../ops/view/dims.js';
import type { BatchRule } from '../batch-call.js';

/** `mm` and `bmm`: [M, K] @ [K, N] → [M, N] per example. */
export const product: BatchRule = (call) => {
  const [a, b] = call.tensors();
  return matmul(call.values(a), call.values(b));
};

/** `mv`: [M, K] @ [K] → [M] per example. */
export const matrixVector: BatchRule = (call) => {
  const [matrix, vector] = call.tensors();
  return squeeze(matmul(call.values(matrix), unsqueeze(call.values(vector), -1)), -1);
};

/** `dot`: [K] @ [K] → [] per example. */
export const dot: BatchRule = (call) => {
  const [a, b] = call.tensors();
  const row = unsqueeze(call.spread(a), 1);
  return squeeze(squeeze(matmul(row, unsqueeze(call.spread(b), 2)), 2), 1);
};

type Factor = 'mat1' | 'mat2' | 'batch1' | 'batch2';

/** `addmm` and `baddbmm`: beta · self + alpha · (a @ b). */
export function addedProduct(
  a: Factor,
  b: Factor,
): BatchRule<Record<'self' | Factor, Tensor> & Record<'alpha' | 'beta', ScalarLike>> {
  return (call) => {
    const args = call.named;
    const [left, right, self] = [args[a], args[b], args.self];
    const result = matmul(call.spread(left), call.values(right));
    const scaled = args.alpha === 1 ? result : mul(result, args.alpha);
    if (args.beta === 0) return scaled;
    const bias = call.aligned(self, left.ndim);
    return add(args.beta === 1 ? bias : mul(bias, args.beta), scaled);
  };
}

/** `convolution`: examples become images where the weight is shared, else groups of channels. */
export const convolution: BatchRule<
  Record<'input' | 'weight', Tensor> & { bias: Tensor | null; groups: number; transposed: boolean },
  Tensor
> = (call) => {
  const args = call.named;
  const { input, weight, bias, groups } = args;
  const spatial = input.sizes.slice(2).map(() => 1);
  if (!call.isBatched(weight)) {
    const shared = call.isBatched(bias) ? null : bias;
    const out = call.unfolded(
      call.run(call.replaced(call.args, { input: call.folded(input), bias: shared })),
    );
    if (shared !== null || bias === null) return out;
    return add(out, call.values(bias).reshape([call.size, 1, bias.sizes[0]!, ...spatial]));
  }
  // [B, N, C, …] → [N, B · C, …]
  const channels = call
    .spread(input)
    .transpose(0, 1)
    .reshape([input.sizes[0]!, call.size * input.sizes[1]!, ...input.sizes.slice(2)]);
  const out = callOp(
    getOp('aten::convolution'),
    call.replaced(call.args, {
      input: channels,
      weight: call.folded(weight),
      bias: bias === null ? null : call.folded(bias),
      groups: groups * call.size,
    }),
  );
  const [images, all, ...rest] = out.sizes;
  return out.reshape([images!, call.size, all! / call.size, ...rest]).transpose(0, 1);
};
