/**
 * @file log(sigmoid(x)) and the ops that PyTorch makes it of.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { pointwise } from '../../kernels/pointwise-kernel.js';
import { restrictedTo } from '../../kernels/restrict-dtypes.js';
import { denseMeta } from '../../kernels/suggest-format.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { mul, neg } from '../pointwise/arithmetic.js';
import { rsub } from '../pointwise/rsub.js';
import { sigmoid } from '../pointwise/trigonometric.js';

/** `buffer` is e^-|x|, kept for the backward op. */
const forwardOp = defineOp(
  'aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)',
  restrictedTo('floating', 'log_sigmoid', {
    tags: ['pointwise'],
    meta: ({ self }) => [denseMeta(self, self.sizes), denseMeta(self, self.sizes)],
    kernel: ({ self }, [output, buffer]) => {
      const x = readNumbers(self);
      const decay = x.map((value) => Math.exp(-Math.abs(value)));
      writeNumbers(
        output!,
        x.map((value, i) => Math.min(value, 0) - Math.log1p(decay[i]!)),
      );
      writeNumbers(buffer!, decay);
    },
    saved: ['self', 'out.1'],
    constantOutputs: [1],
    vjp: ({ self }, { grad, outs }) => ({
      self: () => logSigmoidBackward(grad, self, outs[1]!),
    }),
  }),
);

const backwardOp: OpOverload<Tensor> = defineOp(
  'aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor',
  pointwise((grad, x, decay) => grad * (x < 0 ? 1 - decay / (1 + decay) : decay / (1 + decay)), {
    operands: ['grad_output', 'self', 'buffer'],
    savedFor: { grad_output: ['self', 'buffer'], self: ['grad_output', 'self'] },
    vjp: ({ grad_output, self, buffer }, { grad }) => ({
      grad_output: () => logSigmoidBackward(grad, self, buffer),
      self: () => {
        const s = sigmoid(self);
        return neg(mul(mul(grad, grad_output), mul(s, rsub(s, 1))));
      },
    }),
  }),
);

const logSigmoidOp = defineOp('aten::log_sigmoid(Tensor self) -> Tensor', {
  decompose: ({ self }) => callOp(forwardOp, [self])[0]!,
});

function logSigmoidBackward(grad: Tensor, self: Tensor, buffer: Tensor): Tensor {
  return callOp(backwardOp, [grad, self, buffer]);
}

/** log(sigmoid(x)), without underflow. */
export const logSigmoid: Unary = unaryFunction(logSigmoidOp);
