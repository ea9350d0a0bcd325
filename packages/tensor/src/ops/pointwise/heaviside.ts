/**
 * @file The Heaviside step.
 */
import { TesseraError } from '@tessera/shared';
import { pointwise, pointwiseMeta } from '../../kernels/pointwise-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { callOp } from '../../dispatch/dispatcher.js';
import type { Tensor } from '../../tensor.js';

const OPTIONS = { operands: ['self', 'values'], name: 'heaviside' };

const heavisideOp: OpOverload<Tensor> = defineOp(
  'aten::heaviside(Tensor self, Tensor values) -> Tensor',
  {
    ...pointwise((x, value) => (x > 0 ? 1 : x >= 0 ? value : 0), OPTIONS),
    meta: (args) => {
      if (args.self.dtype !== args.values.dtype) {
        throw new TesseraError(
          'dtype-mismatch',
          'heaviside is not yet implemented for tensors with different dtypes.',
          { hints: ['Convert the values: values.to(x.dtype).'] },
        );
      }
      return pointwiseMeta(OPTIONS)(args);
    },
  },
);
const heavisideInplace = defineInplace(heavisideOp);

/** 0 below 0, 1 above, `values` at 0. @throws dtype-mismatch, shape-mismatch */
export function heaviside(self: Tensor, values: Tensor): Tensor {
  return callOp(heavisideOp, [self, values]);
}

/** self = heaviside(self, values) */
export function heaviside_(self: Tensor, values: Tensor): Tensor {
  return callOp(heavisideInplace, [self, values]);
}
