/**
 * @file Normalisations of the `com.microsoft` domain: of sums, of embeddings, of groups of channels.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, index, zeros } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../registry.js';
import { inDType, range, widened } from './like.js';

/** The norm over all dimensions from an axis on, and the inverse of the root mean square. */
function simplifiedNorm(call: NodeCall): Tensor[] {
  const [x, weight] = [call.tensor(0), call.tensor(1)];
  const axis = call.dim(call.int('axis', -1), x.ndim);
  const eps = call.float('epsilon', 1e-5);
  const y = F.rmsNorm(x, x.shape.slice(axis), { weight, eps });
  if (!call.wants(1)) return [y];
  const dims = range(x.ndim - axis).map((i) => axis + i);
  return [y, x.to('float32').square().mean(dims, { keepdim: true }).add(eps).rsqrt()];
}

/** The mean of each row and the inverse of its deviation, in float32. */
function statistics(x: Tensor, eps: number, isSimple: boolean): [mean: Tensor, inverse: Tensor] {
  const wide = x.to('float32');
  const mean = wide.mean([-1], { keepdim: true });
  const centered = isSimple ? wide : wide.sub(mean);
  return [mean, centered.square().mean([-1], { keepdim: true }).add(eps).rsqrt()];
}

/** The norm of a sum; mean and inverse deviation of each row where they are wanted; the sum. */
function skipNorm(isSimple: boolean) {
  return (call: NodeCall): (Tensor | null)[] => {
    const [x, skip, weight] = [call.tensor(0), call.tensor(1), call.tensor(2)];
    const [beta, bias] = isSimple ? [null, call.optional(3)] : [call.optional(3), call.optional(4)];
    const eps = call.float('epsilon', 1e-12);
    const sum = bias === null ? x.add(skip) : x.add(skip).add(bias);
    const shape = [sum.shape.at(-1)!];
    const y = isSimple
      ? F.rmsNorm(sum, shape, { weight, eps })
      : F.layerNorm(sum, shape, { weight, bias: beta, eps });
    const rows = call.wants(1) || call.wants(2) ? statistics(sum, eps, isSimple) : [null, null];
    return [y, ...rows, sum];
  };
}

/** Rows of a table; indices from 0 on. */
function looked(table: Tensor, at: Tensor): Tensor {
  return index(table, at.to('int64'));
}

/** The norm of the sum of embeddings of words, positions and segments; the length of each sequence; the sum. */
function embedNorm(call: NodeCall): (Tensor | null)[] {
  const [ids, segments] = [call.tensor(0), call.optional(1)];
  if (ids.ndim !== 2) call.fail(`input_ids has ${ids.ndim} dimensions instead of two`);
  const [batch, length] = ids.shape;
  const positions = call.optional(8);
  const places =
    positions === null ? call.tensor(3).narrow(0, 0, length) : looked(call.tensor(3), positions);
  let sum = looked(call.tensor(2), ids).add(places);
  if (segments !== null) {
    if (!call.has(4)) call.fail('segment_ids are given, and segment_embedding is missing');
    sum = sum.add(looked(call.tensor(4), segments));
  }
  const [weight, bias] = [call.tensor(5), call.tensor(6)];
  const y = F.layerNorm(sum, [sum.shape[2]!], { weight, bias, eps: call.float('epsilon', 1e-12) });
  const mask = call.optional(7);
  // Where padding comes last, the count of ones is where each sequence ends.
  const ends = (): Tensor =>
    mask === null
      ? zeros([batch], { dtype: 'int32', device: call.device })
      : inDType(mask.eq(1).to('int32').sum([1]), 'int32');
  return [y, call.wants(1) ? ends() : null, sum];
}

/** The norm of groups of channels, which come last or second, with an activation. */
function groupNorm(call: NodeCall, x: Tensor): Tensor {
  const isLast = call.flag('channels_last', true);
  const first = isLast ? x.movedim(-1, 1) : x;
  const wide = F.groupNorm(widened(first), call.int('groups'), {
    weight: widened(call.tensor(1)),
    bias: widened(call.tensor(2)),
    eps: call.float('epsilon', 1e-5),
  });
  const activation = call.int('activation');
  if (activation !== 0 && activation !== 1)
    call.fail(`activation is ${activation} instead of 0 (none) or 1 (SiLU)`);
  const y = inDType(activation === 1 ? F.silu(wide) : wide, x.dtype);
  return isLast ? y.movedim(1, -1) : y;
}

/** The norm of a sum with a skip, [N, H, W, C] or [N, C], and a bias; the sum. */
function skipGroupNorm(call: NodeCall): Tensor[] {
  const [x, given, bias] = [call.tensor(0), call.tensor(3), call.optional(4)];
  const isLast = call.flag('channels_last', true);
  const channels = (value: Tensor): Tensor =>
    isLast ? value : value.reshape([...value.shape, ...range(x.ndim - 2).map(() => 1)]);
  const skip =
    given.ndim === 2
      ? given.reshape(
          range(x.ndim).map((i) =>
            i === 0 ? given.shape[0]! : i === (isLast ? x.ndim - 1 : 1) ? given.shape[1]! : 1,
          ),
        )
      : given;
  const sum = bias === null ? x.add(skip) : x.add(skip).add(channels(bias));
  return [groupNorm(call, sum), sum];
}

/** Operators with one output. */
export const contribNorms: OperatorTable = {
  GroupNorm: (call) => groupNorm(call, call.tensor(0)),
};

/** Operators with several outputs. */
export const contribNormLists: ListOperatorTable = {
  SkipLayerNormalization: skipNorm(false),
  SkipSimplifiedLayerNormalization: skipNorm(true),
  SimplifiedLayerNormalization: simplifiedNorm,
  EmbedLayerNormalization: embedNorm,
  SkipGroupNorm: skipGroupNorm,
};
