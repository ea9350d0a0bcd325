/**
 * @file Sliding windows over a dimension as a view, and its backward.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { arange } from '../factory/range.js';
import { zeros } from '../factory/factory.js';
import { indexAdd } from '../indexing/select.js';
import { movedim } from './dims.js';
import { reshape } from './view.js';

// Overlapping windows add up at the elements they share.
export const unfoldBackwardOp: OpOverload<Tensor> = defineOp(
  'aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor',
  {
    decompose: ({ grad_in, input_sizes: sizes, dim, size, step }) => {
      const options = { dtype: grad_in.dtype, device: grad_in.device };
      const at = wrapDim(dim, sizes.length, 'unfold_backward');
      if (sizes.length === 0) return reshape(grad_in.sum(), []);
      const positions = reshape(
        unfold(arange(sizes[at]!, { dtype: 'int64', device: grad_in.device }), 0, size, step),
        [-1],
      );
      const windows = movedim(grad_in, -1, at + 1);
      const flat = [...sizes.slice(0, at), positions.numel, ...sizes.slice(at + 1)];
      return indexAdd(zeros(sizes, options), at, positions, reshape(windows, flat));
    },
  },
);

export const unfoldOp: OpOverload<Tensor> = defineOp(
  'aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)',
  {
    view: ({ self, dimension, size, step }) => {
      const at = wrapDim(dimension, self.ndim, 'unfold');
      const scalar = self.ndim === 0;
      const length = scalar ? 1 : self.sizes[at];
      if (size < 0 || size > length || !(step > 0)) {
        throw new TesseraError(
          'invalid-argument',
          step > 0
            ? `unfold: maximum size for tensor at dimension ${at} is ${length} but size is ${size}`
            : `unfold: step is ${step} but must be > 0`,
          { hints: ['Windows fit, steps are positive.'] },
        );
      }
      const sizes = [...self.sizes, size];
      const strides = [...self.strides, scalar ? 1 : self.strides[at]];
      if (!scalar) {
        sizes[at] = Math.floor((length - size) / step) + 1;
        strides[at] = strides[at]! * step;
      }
      return { sizes, strides, offset: self.storageOffset };
    },
    vjp: ({ self, dimension, size, step }, { grad }) => ({
      self: () => callOp(unfoldBackwardOp, [grad, self.sizes, dimension, size, step]),
    }),
  },
);

/** Windows of `size` elements of a dimension, `step` apart, as a new last dimension. @throws invalid-dim, invalid-argument */
export function unfold(self: Tensor, dimension: number, size: number, step: number): Tensor {
  return callOp(unfoldOp, [self, dimension, size, step]);
}
