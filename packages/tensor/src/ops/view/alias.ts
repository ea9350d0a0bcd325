/**
 * @file `alias`: the view that changes nothing. A function only, as in PyTorch.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';

export const aliasOp: OpOverload<Tensor> = defineOp('aten::alias(Tensor(a) self) -> Tensor(a)', {
  view: ({ self }) => ({ sizes: self.sizes, strides: self.strides, offset: self.storageOffset }),
  vjp: (_args, { grad }) => ({ self: grad }),
});

/** Another tensor over the same memory, with gradient history. */
export function alias(self: Tensor): Tensor {
  return callOp(aliasOp, [self]);
}
