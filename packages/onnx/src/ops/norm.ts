/**
 * @file Normalisations.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, pad } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../registry.js';
import { inDType, inFloat32, range, widened } from './like.js';

/** A vector of channels, to broadcast over [N, C, …]. */
function perChannel(vector: Tensor, rank: number): Tensor {
  return vector.reshape([1, -1, ...Array<number>(Math.max(0, rank - 2)).fill(1)]);
}

/** With running statistics, or in training mode with the batch's own, whose running means are outputs. */
function batchNorm(call: NodeCall): Tensor[] {
  const [x, weight, bias, mean, variance] = call.tensors();
  const eps = call.float('epsilon', 1e-5);
  const isTraining = call.opset >= 14 ? call.flag('training_mode') : call.outputCount > 1;
  const isUniform = [weight, bias, mean, variance].every(({ dtype }) => dtype === x.dtype);
  if (!isTraining && isUniform)
    return [F.batchNorm(x, { weight, bias, runningMean: mean, runningVar: variance, eps })];
  const wide = widened(x);
  const dims = range(x.ndim).filter((dim) => dim !== 1);
  const own = isTraining ? wide.mean(dims) : mean.to(wide.dtype);
  const spread = isTraining
    ? wide.sub(perChannel(own, x.ndim)).square().mean(dims)
    : variance.to(wide.dtype);
  const scale = spread.add(eps).rsqrt().mul(weight);
  const y = wide
    .sub(perChannel(own, x.ndim))
    .mul(perChannel(scale, x.ndim))
    .add(perChannel(bias, x.ndim));
  const momentum = call.float('momentum', 0.9);
  const running = (before: Tensor, now: Tensor): Tensor =>
    inDType(before.mul(momentum).add(now.mul(1 - momentum)), before.dtype);
  return isTraining
    ? [inDType(y, x.dtype), running(mean, own), running(variance, spread)]
    : [inDType(y, x.dtype)];
}

/** Over all dimensions from an axis on; also the mean and the inverse deviation, where they are wanted. */
function layerNorm(call: NodeCall): Tensor[] {
  const x = call.tensor(0);
  const axis = call.dim(call.int('axis', -1), x.ndim);
  const dims = range(x.ndim).slice(axis);
  const shape = x.shape.slice(axis);
  const eps = call.float('epsilon', 1e-5);
  const [weight, bias] = [call.tensor(1), call.optional(2)];
  const isPlain =
    weight.shape.join() === shape.join() && (bias?.shape ?? shape).join() === shape.join();
  if (isPlain && call.outputCount === 1) return [F.layerNorm(x, shape, { weight, bias, eps })];
  const wide = widened(x);
  const mean = wide.mean(dims, { keepdim: true });
  const centered = wide.sub(mean);
  const deviation = centered.square().mean(dims, { keepdim: true }).add(eps).rsqrt();
  const scaled = inDType(centered.mul(deviation), x.dtype).mul(weight);
  return [bias === null ? scaled : scaled.add(bias), mean.to('float32'), deviation.to('float32')];
}

function rmsNorm(call: NodeCall): Tensor {
  const [x, weight] = [call.tensor(0), call.tensor(1)];
  const axis = call.dim(call.int('axis', -1), x.ndim);
  const eps = call.float('epsilon', 1e-5);
  const shape = x.shape.slice(axis);
  if (weight.shape.join() === shape.join() && weight.dtype === x.dtype)
    return F.rmsNorm(x, shape, { weight, eps });
  const dims = range(x.ndim).slice(axis);
  const normal = inFloat32(x, (wide) =>
    wide.mul(wide.square().mean(dims, { keepdim: true }).add(eps).rsqrt()),
  );
  return normal.mul(weight);
}

function groupNorm(call: NodeCall): Tensor {
  const [x, scale, bias] = [call.tensor(0), call.tensor(1), call.tensor(2)];
  const groups = call.int('num_groups');
  const eps = call.float('epsilon', 1e-5);
  // Before opset 21 there was a weight per group.
  const each = (weights: Tensor): Tensor =>
    weights.shape[0] === x.shape[1]
      ? weights
      : weights
          .reshape([groups, 1])
          .expand([groups, x.shape[1]! / groups])
          .reshape([-1]);
  return F.groupNorm(x, groups, { weight: each(scale), bias: each(bias), eps });
}

/** x / (bias + alpha / size · Σ x²)^beta, the sum over neighbouring channels. */
function localResponseNorm(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const size = call.int('size');
  const before = Math.floor((size - 1) / 2);
  const channels = x.shape[1]!;
  // Pads are listed from the last dimension on; the channels are the second.
  const list = [...Array<number>(2 * (x.ndim - 2)).fill(0), before, size - 1 - before];
  const squares = pad(x.square(), list);
  const sum = range(size)
    .map((i) => squares.narrow(1, i, channels))
    .reduce((a, b) => a.add(b));
  const base = sum.mul(call.float('alpha', 1e-4) / size).add(call.float('bias', 1));
  return x.div(base.pow(call.float('beta', 0.75)));
}

function lpNormalization(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const dim = call.dim(call.int('axis', -1), x.ndim);
  const p = call.int('p', 2);
  const length =
    p === 1 ? x.abs().sum(dim, { keepdim: true }) : x.square().sum(dim, { keepdim: true }).sqrt();
  // A vector of zeros stays one.
  return x.div(length.add(length.eq(0).to(x.dtype)));
}

function meanVariance(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const dims = call.dims(call.ints('axes') ?? [0, 2, 3], x.ndim);
  const mean = x.mean(dims, { keepdim: true });
  const variance = x.square().mean(dims, { keepdim: true }).sub(mean.square());
  return x.sub(mean).div(variance.sqrt().add(1e-9));
}

/** Operators of the standard domain with one output. */
export const norms: OperatorTable = {
  RMSNormalization: rmsNorm,
  GroupNormalization: groupNorm,
  LRN: localResponseNorm,
  LpNormalization: lpNormalization,
  MeanVarianceNormalization: meanVariance,
  InstanceNormalization: (call) =>
    F.instanceNorm(call.tensor(0), {
      weight: call.tensor(1),
      bias: call.tensor(2),
      eps: call.float('epsilon', 1e-5),
    }),
};

/** Operators of the standard domain with several outputs. */
export const normLists: ListOperatorTable = {
  BatchNormalization: batchNorm,
  LayerNormalization: layerNorm,
};
