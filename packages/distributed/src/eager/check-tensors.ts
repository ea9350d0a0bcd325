/**
 * @file Whether the tensors of a collective fit each other and the group.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import type { ProcessGroup } from '../process-group.js';
import { checkTensor } from './staged-tensor.js';

/** A list of a tensor per rank, all of one dtype. @throws invalid-argument, dtype-mismatch */
export function checkList(
  name: string,
  what: string,
  tensors: readonly Tensor[],
  group: ProcessGroup,
  dtype: Tensor['dtype'],
): void {
  if (!Array.isArray(tensors) || tensors.length !== group.size)
    throw new TesseraError(
      'invalid-argument',
      `${name}: ${what} must be ${group.size} tensors, one for each rank of group '${group.name}'.`,
    );
  for (const tensor of tensors) {
    checkTensor(name, tensor);
    checkDType(name, tensor, dtype);
  }
}

/** Both sides of a collective have one dtype. @throws dtype-mismatch */
export function checkDType(name: string, tensor: Tensor, dtype: Tensor['dtype']): void {
  if (tensor.dtype !== dtype)
    throw new TesseraError(
      'dtype-mismatch',
      `${name}: expected tensors of one dtype, got ${dtype} and ${tensor.dtype}.`,
      { hints: ['Convert one of them with to(dtype).'] },
    );
}

/** @throws shape-mismatch */
export function checkNumel(name: string, what: string, tensor: Tensor, expected: number): void {
  if (tensor.numel !== expected)
    throw new TesseraError(
      'shape-mismatch',
      `${name}: ${what} must have ${expected} elements, its shape ${formatSizes(tensor.sizes)} has ${tensor.numel}.`,
    );
}
