/**
 * @file Operators of the `com.microsoft` domain on each element: activations and sums with a bias.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, ones } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../registry.js';
import { product } from './like.js';

/** x, and a bias where there is one. */
function biased(call: NodeCall): Tensor {
  const [x, bias] = [call.tensor(0), call.optional(1)];
  return bias === null ? x : x.add(bias);
}

/** The first half of each row times gelu of the second. */
function biasSplitGelu(call: NodeCall): Tensor {
  const x = biased(call);
  const width = x.shape.at(-1)!;
  if (width % 2 !== 0) call.fail(`rows of ${width} elements have no halves`);
  const [value, gate] = x.chunk(2, -1);
  return value.mul(F.gelu(gate));
}

/**
 * Softmax over all dimensions from an axis on, of the sum with a bias. The bias lacks some dimensions in front of the
 * axis: the inner ones, or the outer ones.
 */
function biasSoftmax(call: NodeCall): Tensor {
  const [x, bias] = [call.tensor(0), call.tensor(1)];
  const axis = call.dim(call.int('axis', 1), x.ndim);
  const rows = product(x.shape.slice(0, axis));
  const columns = product(x.shape.slice(axis));
  const own = bias.numel / columns;
  if (!Number.isInteger(rows / own))
    call.fail(`a bias of ${bias.numel} elements does not fit ${rows} rows of ${columns}`);
  const flat = bias.reshape([own, columns]);
  const whole = call.flag('is_inner_broadcast')
    ? x.reshape([own, rows / own, columns]).add(flat.unsqueeze(1))
    : x.reshape([rows / own, own, columns]).add(flat);
  return F.softmax(whole, -1).reshape(x.shape);
}

/** Outside of training: x + bias + residual, and a mask of ones. */
function biasDropout(call: NodeCall): Tensor[] {
  if (call.has(4) && call.number(4) !== 0) call.unsupported('training_mode');
  const [x, residual] = [biased(call), call.optional(2)];
  const y = residual === null ? x : x.add(residual);
  return call.wants(1) ? [y, ones(x.shape, { dtype: 'bool', device: call.device })] : [y];
}

/** Operators with one output. */
export const contribPointwise: OperatorTable = {
  Gelu: (call) => F.gelu(call.tensor(0)),
  BiasGelu: (call) => F.gelu(biased(call)),
  FastGelu: (call) => F.gelu(biased(call), { approximate: 'tanh' }),
  QuickGelu: (call) => {
    const x = call.tensor(0);
    return x.mul(x.mul(call.float('alpha', 1.702)).sigmoid());
  },
  BiasSplitGelu: biasSplitGelu,
  BiasAdd: (call) => biased(call).add(call.tensor(2)),
  BiasSoftmax: biasSoftmax,
};

/** Operators with several outputs. */
export const contribPointwiseLists: ListOperatorTable = { BiasDropout: biasDropout };
