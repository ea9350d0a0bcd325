/**
 * @file Activations.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, where } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { asMatrix, inFloat32 } from './like.js';

/**
 * Softmax and its like along an axis. Before opset 13 the input is taken as a matrix, its rows ending before the axis.
 */
function along(compute: (x: Tensor, dim: number) => Tensor) {
  return (call: NodeCall): Tensor => {
    const x = call.tensor(0);
    const axis = call.dim(call.int('axis', call.opset < 13 ? 1 : -1), x.ndim);
    if (call.opset >= 13) return compute(x, axis);
    return compute(asMatrix(x, axis), 1).reshape(x.shape);
  };
}

/** 1 at the first largest element, 0 elsewhere. */
function hardmax(x: Tensor, dim: number): Tensor {
  const best = x.argmax(dim, { keepdim: true });
  return x.mul(0).scatter(dim, best, 1);
}

function prelu(call: NodeCall): Tensor {
  const [x, given] = [call.tensor(0), call.tensor(1)];
  // Before opset 7 a vector was one slope per channel.
  const isOld = call.opset < 7 && given.ndim === 1 && x.ndim > 1;
  const slope = isOld ? given.reshape([-1, ...Array<number>(x.ndim - 2).fill(1)]) : given;
  return where(x.lt(0), x.mul(slope), x);
}

/** x · sigmoid(alpha x) */
function swish(x: Tensor, alpha: number): Tensor {
  return x.mul((alpha === 1 ? x : x.mul(alpha)).sigmoid());
}

function swiglu(call: NodeCall): Tensor {
  const [gate, value] = [call.tensor(0), call.tensor(1)];
  return swish(gate, call.float('alpha', 1)).mul(value);
}

function shrink(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const [bias, lambd] = [call.float('bias', 0), call.float('lambd', 0.5)];
  const zero = x.mul(0);
  return where(x.lt(-lambd), x.add(bias), where(x.gt(lambd), x.sub(bias), zero)).to(x.dtype);
}

/** Operators of the standard domain. */
export const activations: OperatorTable = {
  Relu: (call) => call.tensor(0).relu(),
  LeakyRelu: (call) => F.leakyRelu(call.tensor(0), { negativeSlope: call.float('alpha', 0.01) }),
  Elu: (call) => F.elu(call.tensor(0), { alpha: call.float('alpha', 1) }),
  Celu: (call) => F.celu(call.tensor(0), { alpha: call.float('alpha', 1) }),
  Selu: (call) => {
    const [alpha, gamma] = [
      call.float('alpha', 1.67326319217681884765625),
      call.float('gamma', 1.05070102214813232421875),
    ];
    return F.elu(call.tensor(0), { alpha }).mul(gamma);
  },
  Gelu: (call) =>
    F.gelu(call.tensor(0), { approximate: call.choice('approximate', ['none', 'tanh'], 'none') }),
  PRelu: prelu,
  ThresholdedRelu: (call) => {
    const x = call.tensor(0);
    return where(x.gt(call.float('alpha', 1)), x, x.mul(0));
  },
  HardSigmoid: (call) =>
    call.tensor(0).mul(call.float('alpha', 0.2)).add(call.float('beta', 0.5)).clamp(0, 1),
  HardSwish: (call) => F.hardswish(call.tensor(0)),
  Mish: (call) => F.mish(call.tensor(0)),
  Swish: (call) => swish(call.tensor(0), call.float('alpha', 1)),
  SwiGLU: swiglu,
  Softplus: (call) => inFloat32(call.tensor(0), (x) => F.softplus(x)),
  Softsign: (call) => {
    const x = call.tensor(0);
    return x.div(x.abs().add(1));
  },
  Shrink: shrink,
  Softmax: along((x, dim) => F.softmax(x, dim)),
  LogSoftmax: along((x, dim) => F.logSoftmax(x, dim)),
  Hardmax: along(hardmax),
};
