/**
 * @file The gated linear unit: one half of a tensor times the sigmoid of the other.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { pointwiseStrides } from '../../kernels/pointwise-strides.js';
import { restrictedTo } from '../../kernels/restrict-dtypes.js';
import { logistic } from '../../kernels/special-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { contiguousStrides, numelOf, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { cat } from '../arrange/join.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { rsub } from '../pointwise/rsub.js';
import { sigmoid } from '../pointwise/trigonometric.js';
import { narrow } from '../view/slice.js';

/** Sizes of a half. @throws invalid-argument for odd sizes and 0-d tensors */
function halfSizes(self: Tensor, dim: number): number[] {
  if (self.ndim === 0) {
    throw new TesseraError('invalid-argument', 'glu does not support 0-dimensional tensors', {
      hints: ['Unsqueeze it.'],
    });
  }
  const at = wrapDim(dim, self.ndim);
  const size = self.sizes[at]!;
  if (size % 2 !== 0) {
    throw new TesseraError(
      'invalid-argument',
      `Halving dimension must be even, but dimension ${at} is size ${size}`,
      { context: { sizes: self.sizes }, hints: ['It is split in two.'] },
    );
  }
  return self.sizes.map((length, d) => (d === at ? length / 2 : length));
}

/** Visits pairs of the halves in row-major order: their positions in the whole, and in a half. */
function forEachPair(
  sizes: readonly number[],
  dim: number,
  visit: (first: number, second: number, position: number) => void,
): void {
  const at = wrapDim(dim, sizes.length);
  const inner = numelOf(sizes.slice(at + 1));
  const half = (sizes[at]! / 2) * inner;
  const outer = numelOf(sizes.slice(0, at));
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < half; i++) visit(2 * o * half + i, (2 * o + 1) * half + i, o * half + i);
}

const gluOp = defineOp(
  'aten::glu(Tensor self, int dim=-1) -> Tensor',
  restrictedTo('floating', 'glu', {
    meta: ({ self, dim }) => {
      const { strides, dtype, device } = self;
      const sizes = halfSizes(self, dim);
      return { sizes, strides: pointwiseStrides(sizes, [{ sizes, strides }]), dtype, device };
    },
    kernel: ({ self, dim }, [out]) => {
      const x = readNumbers(self);
      const y = new Float64Array(x.length / 2);
      forEachPair(self.sizes, dim, (a, b, i) => {
        y[i] = x[a]! * logistic(x[b]!);
      });
      writeNumbers(out!, y);
    },
    saved: ['self'],
    vjp: ({ self, dim }, { grad }) => ({
      self: () => gluBackward(grad, self, dim),
    }),
  }),
);

const gluBackwardOp: OpOverload<Tensor> = defineOp(
  'aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor',
  {
    meta: ({ self, dim }) => {
      halfSizes(self, dim);
      const { sizes, dtype, device } = self;
      return { sizes, strides: contiguousStrides(sizes), dtype, device };
    },
    kernel: ({ grad_output, self, dim }, [out]) => {
      const x = readNumbers(self);
      const grad = readNumbers(grad_output);
      const result = new Float64Array(x.length);
      forEachPair(self.sizes, dim, (a, b, i) => {
        const gate = logistic(x[b]!);
        result[a] = grad[i]! * gate;
        result[b] = grad[i]! * x[a]! * gate * (1 - gate);
      });
      writeNumbers(out!, result);
    },
    savedFor: { grad_output: ['self'], self: ['grad_output', 'self'] },
    vjp: ({ grad_output, self, dim: at }, { grad }) => {
      const halves = (x: Tensor): [Tensor, Tensor] => {
        const size = x.size(at) / 2;
        return [narrow(x, at, 0, size), narrow(x, at, size, size)];
      };
      const [forFirst, forSecond] = halves(grad);
      // The gate's slope s(1 - s); the op gives [g·s, g·a·s(1 - s)].
      const parts = (): { a: Tensor; gate: Tensor; slope: Tensor } => {
        const [a, b] = halves(self);
        const gate = sigmoid(b);
        return { a, gate, slope: mul(gate, rsub(gate, 1)) };
      };
      return {
        grad_output: () => {
          const { a, gate, slope } = parts();
          return add(mul(forFirst, gate), mul(forSecond, mul(a, slope)));
        },
        self: () => {
          const { a, gate, slope } = parts();
          const scaled = mul(grad_output, slope);
          const bend = mul(mul(forSecond, a), rsub(mul(gate, 2), 1));
          return cat([mul(scaled, forSecond), mul(scaled, add(forFirst, bend))], at);
        },
      };
    },
  },
);

function gluBackward(grad: Tensor, self: Tensor, dim: number): Tensor {
  return callOp(gluBackwardOp, [grad, self, dim]);
}

/** a · sigmoid(b) for the halves a, b of self along dim. @throws invalid-argument @see https://arxiv.org/abs/1612.08083 */
export function glu(self: Tensor, dim = -1): Tensor {
  return callOp(gluOp, [self, dim]);
}
