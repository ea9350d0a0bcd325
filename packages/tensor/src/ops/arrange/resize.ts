/**
 * @file `resize_`: other sizes for a tensor, whose memory grows if it has to.
 *
 * Made of `set_`, so a capture breaks here as it does there. @see torch.Tensor.resize_
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { requiresGrad } from '../../autograd/history.js';
import { type MemoryFormat, formatStrides } from '../../memory-format.js';
import { contiguousStrides, numelOf, sameNumbers, storageExtent } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { storageBytes } from '../../tensor-factory.js';
import { empty } from '../factory/factory.js';
import { asStrided } from '../view/strided.js';
import { narrow } from '../view/slice.js';
import { copy_ } from './copy.js';
import { set_ } from './set-storage.js';
import { checkTensors } from '../../check-tensors.js';

const OPTIONS: OptionNames<{ memoryFormat?: MemoryFormat }> = { memoryFormat: true };

/**
 * Gives self other sizes, in row-major order (or another format) over its memory, of which the contents stay in their
 * places; a tensor of these sizes stays as it is. Where the memory is too small self gets a larger one with the same
 * contents and uninitialised elements behind them: other tensors on the old memory stay there, as they do not in PyTorch.
 * A graph break inside a compiled function.
 *
 * @throws invalid-argument for tensors that require gradients, shape-mismatch
 */
export function resize_(
  self: Tensor,
  size: readonly number[],
  options: { memoryFormat?: MemoryFormat } = {},
): Tensor {
  checkOptionNames('resize_', options, OPTIONS);
  checkTensors('resize_', { self });
  if (requiresGrad(self))
    throw new TesseraError('invalid-argument', 'cannot resize variables that require grad', {
      hints: ['Resize x.detach(), or make another tensor: reshape(), pad(), narrow().'],
    });
  if (!Array.isArray(size) || !size.every((n) => Number.isInteger(n) && n >= 0))
    throw new TesseraError('invalid-argument', `resize_(): ${String(size)} is no list of sizes.`, {
      hints: ['Write resize_(x, [2, 3]).'],
    });
  const { memoryFormat } = options;
  if (memoryFormat === undefined && sameNumbers(size, self.sizes)) return self;
  const strides =
    memoryFormat === undefined
      ? contiguousStrides(size)
      : formatStrides({ sizes: size, strides: contiguousStrides(size) }, memoryFormat);
  const { dtype, device, storage, storageOffset } = self;
  const extent = storageOffset + storageExtent(size, strides);
  if (numelOf(size) === 0 || storageBytes(device, dtype, extent) <= storage.nbytes)
    return set_(self, asStrided(self, size, strides, storageOffset));
  const held = Math.floor(storage.nbytes / storageBytes(device, dtype, 1));
  const grown = empty([extent], { dtype, device });
  copy_(narrow(grown, 0, 0, held), asStrided(self, [held], [1], 0));
  return set_(self, asStrided(grown, size, strides, storageOffset));
}
