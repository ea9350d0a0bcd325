/**
 * @file In-place changes of layout: `t_` and its kin, and `detach_`.
 *
 * `self` takes the layout of the view that the op is named after; its memory, and other tensors on it,
 * stay as they are. Below autograd, which records the view's own backward node (autograd/record.ts).
 */
import { TesseraError } from '@tessera/shared';
import { type OpOverload, getOp } from '../op/op-overload.js';
import type { ViewMeta } from '../op/op-record.js';
import type { Tensor } from '../tensor.js';

/** Runs the op. @throws invalid-argument for `detach_` of a view */
export function updateLayout(op: OpOverload, args: readonly unknown[]): Tensor {
  const self = args[0] as Tensor;
  const view = getOp(op.record.layoutOf!);
  if (view.hasTag('non-differentiable')) {
    forget(op, self);
    return self;
  }
  const layout = view.record.view!(view.bind(args)) as ViewMeta;
  self.storage.tellKeepers();
  self.sizes = layout.sizes;
  self.strides = layout.strides;
  self.storageOffset = layout.offset;
  self.guardSpec = null;
  self.storage.version++;
  return self;
}

/** Drops the history of a tensor; its values, and so its version, do not change. */
function forget(op: OpOverload, self: Tensor): void {
  if (self.base !== null)
    throw new TesseraError(
      'invalid-argument',
      `${op.schema.name}: Can't detach views in-place. Use detach() instead.`,
      { hints: ['x = x.detach()'] },
    );
  if (self.autograd !== null) self.autograd.gradFn = null;
  self.requiresGradFlag = false;
  self.guardSpec = null;
}
