/**
 * @file `set_`: makes a tensor show other memory.
 *
 * Not a computation on values, so it cannot be part of a graph: a capture breaks here, and a trace of
 * FakeTensors refuses it.
 */
import { TesseraError } from '@tessera/shared';
import { checkInPlaceLeaf } from '../../autograd/record.js';
import { requiresGrad } from '../../autograd/history.js';
import { gradMode } from '../../autograd/grad-mode.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';

const setOp = defineOp('aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)', {
  tags: ['data-dependent', 'non-differentiable'],
  decompose: ({ self, source }) => setSource(self, source),
});

function setSource(self: Tensor, source: Tensor): Tensor {
  if (gradMode.enabled) checkInPlaceLeaf(self);
  checkSource(self, source);
  self.setStorage(source.storage, source.storageOffset);
  self.sizes = source.sizes;
  self.strides = source.strides;
  self.base = null;
  self.guardSpec = null;
  return self;
}

function checkSource(self: Tensor, source: Tensor): void {
  if (self.dtype !== source.dtype || self.device !== source.device) {
    throw new TesseraError(
      self.dtype === source.dtype ? 'device-mismatch' : 'dtype-mismatch',
      `set_: ${source.dtype} on ${source.device} for ${self.dtype} on ${self.device}.`,
      { hints: ['Convert the source with to() first.'] },
    );
  }
  if (self.isFake || requiresGrad(self)) {
    throw new TesseraError(
      'aot-unsupported',
      self.isFake
        ? 'set_() changes which memory a tensor shows, which a functional graph cannot express.'
        : 'set_() of a tensor that requires grad is not differentiable.',
      { hints: ['Use copy_() to change the values, or detach() first.'] },
    );
  }
}

/**
 * Makes self a tensor over source's memory, with its shape and strides.
 *
 * @throws inplace-leaf, dtype-mismatch, device-mismatch, aot-unsupported inside aotFunction
 * @see torch.Tensor.set_
 */
export function set_(self: Tensor, source: Tensor): Tensor {
  return callOp(setOp, [self, source]);
}
