/**
 * @file Leaky relu with a learned slope per channel.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { pointwise, pointwiseMeta } from '../../kernels/pointwise-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { ge } from '../pointwise/comparison.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { reshape } from '../view/view.js';
import { where } from '../pointwise/where.js';

const kernelOp = defineOp(
  'aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor',
  pointwise((x, slope) => (x > 0 ? x : slope * x), {
    operands: ['self', 'weight'],
    name: 'prelu',
    saved: ['self', 'weight'],
    vjp: ({ self, weight }, { grad }) => {
      let both: readonly Tensor[] | undefined;
      const gradients = (): readonly Tensor[] =>
        (both ??= callOp(backwardOp, [grad, self, weight]));
      return { self: () => gradients()[0]!, weight: () => gradients()[1]! };
    },
  }),
);

const backwardMeta = pointwiseMeta({ operands: ['self', 'grad_output', 'weight'], name: 'prelu' });

/** Gradients of both, of the shape of `self`: that of the slope is still to be summed over what it was broadcast to. */
const backwardOp: OpOverload<[Tensor, Tensor]> = defineOp(
  'aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)',
  {
    tags: ['pointwise'],
    meta: (args): TensorMeta[] => [backwardMeta(args), backwardMeta(args)],
    kernel: ({ grad_output, self, weight }, [gradSelf, gradWeight]) => {
      const [grad, x, slope] = [grad_output, self, weight].map((tensor) =>
        readNumbers(tensor, gradSelf!.sizes),
      );
      writeNumbers(
        gradSelf!,
        grad.map((g, i) => (x[i]! > 0 ? g : slope[i]! * g)),
      );
      writeNumbers(
        gradWeight!,
        grad.map((g, i) => (x[i]! > 0 ? 0 : x[i]! * g)),
      );
    },
    saved: ['grad_output', 'self', 'weight'],
    vjp: ({ grad_output, self, weight }, { grads: [forSelf, forWeight] }) => {
      // Unlike the slope, PyTorch's derivative of it counts 0 among the positive.
      const isPositive = ge(self, 0);
      /** What the two results contribute where the slope applies, null where neither does. */
      const sum = (a: Tensor | null, b: Tensor | null): Tensor | null =>
        a === null ? b : b === null ? a : add(a, b);
      const times = (g: Tensor | null | undefined, x: Tensor): Tensor | null =>
        g === null || g === undefined ? null : mul(g, x);
      const sloped = (value: Tensor | null): Tensor | null =>
        value === null ? null : where(isPositive, 0, value);
      return {
        grad_output: () =>
          sum(
            forSelf === null || forSelf === undefined
              ? null
              : where(isPositive, forSelf, mul(forSelf, weight)),
            sloped(times(forWeight, self)),
          ),
        self: () => sloped(times(forWeight, grad_output)),
        weight: () => sloped(times(forSelf, grad_output)),
      };
    },
  },
);

/** The slopes in a shape that broadcasts over the channels of `self`. @throws invalid-argument, dtype-mismatch */
function channelSlopes(self: Tensor, weight: Tensor): Tensor {
  if (self.dtype !== weight.dtype) {
    throw new TesseraError(
      'dtype-mismatch',
      `prelu: Type promoting not supported. Got ${self.dtype} and ${weight.dtype}`,
      { hints: ['Convert the weight.'] },
    );
  }
  if (weight.ndim > 1) {
    throw new TesseraError(
      'invalid-argument',
      `prelu: Expected \`weight\` to be a scalar or 1D tensor, but got: ndim = ${weight.ndim}`,
      { hints: ['Give one slope, or one per channel.'] },
    );
  }
  if (weight.numel !== 1) {
    if (self.ndim === 0) {
      throw new TesseraError('invalid-argument', 'Not allow zero-dim input tensor.', {
        hints: ['Give one slope.'],
      });
    }
    const channels = self.ndim > 1 ? self.sizes[1]! : 1;
    if (channels !== weight.numel) {
      throw new TesseraError(
        'invalid-argument',
        `Mismatch of parameter numbers and input channel size. Found parameter numbers = ${weight.numel}, and channel size = ${channels}.`,
        { hints: ['Channels are dim 1.'] },
      );
    }
  }
  if (self.ndim === weight.ndim) return weight;
  return reshape(
    weight,
    self.sizes.map((_, d) => (d === 1 ? weight.numel : 1)),
  );
}

const preluOp = defineOp('aten::prelu(Tensor self, Tensor weight) -> Tensor', {
  decompose: ({ self, weight }) => callOp(kernelOp, [self, channelSlopes(self, weight)]),
});

/** x for positive x, else weight · x, with one weight per channel (dim 1) or one for all. @throws invalid-argument, dtype-mismatch */
export function prelu(self: Tensor, weight: Tensor): Tensor {
  return callOp(preluOp, [self, weight]);
}
