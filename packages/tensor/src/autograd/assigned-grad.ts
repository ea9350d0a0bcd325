/**
 * @file What may be assigned to `.grad`.
 */
import { type ErrorCode, TesseraError } from '@tessera/shared';
import { formatSizes, sameNumbers } from '../shape.js';
import type { Tensor } from '../tensor.js';

function refuse(code: ErrorCode, message: string): never {
  throw new TesseraError(code, message, {
    hints: ['A gradient has the shape, dtype and device of its tensor.'],
  });
}

/** @throws shape-mismatch, dtype-mismatch, device-mismatch, invalid-argument */
export function checkAssignedGrad(tensor: Tensor, grad: Tensor): void {
  if (grad === tensor) refuse('invalid-argument', "can't assign a tensor as its own grad");
  if (grad.dtype !== tensor.dtype)
    refuse(
      'dtype-mismatch',
      `attempting to assign a gradient with dtype '${grad.dtype}' to a tensor with dtype '${tensor.dtype}'`,
    );
  if (grad.device !== tensor.device)
    refuse(
      'device-mismatch',
      `assigned grad has data located on a different device: ${grad.device}, the tensor is on ${tensor.device}`,
    );
  if (!sameNumbers(grad.sizes, tensor.sizes))
    refuse(
      'shape-mismatch',
      `attempting to assign a gradient of size ${formatSizes(grad.sizes)} to a tensor of size ${formatSizes(tensor.sizes)}`,
    );
}
