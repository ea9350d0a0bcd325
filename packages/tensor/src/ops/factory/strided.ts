/**
 * @file New tensors of given strides, and of given values in the dtype of another. @see torch.empty_strided
 */
import { TesseraError } from '@tessera/shared';
import { type TensorData, tensor } from '../../create.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { getOp } from '../../op/op-overload.js';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { type TensorOptions, NO_OPTIONS, checkedDtype, empty, finish } from './factory.js';
import { checkTensors } from '../../check-tensors.js';

/** Uninitialised memory of a shape and strides with the dtype and device of a tensor. @throws invalid-argument, shape-mismatch */
export function newEmptyStrided(
  self: Tensor,
  size: readonly number[],
  stride: readonly number[],
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  const dtype = checkedDtype(options);
  if (!Array.isArray(size) || !Array.isArray(stride))
    refuse('empty_strided: sizes and strides are lists of numbers');
  if (size.length !== stride.length)
    refuse(
      `dimensionality of sizes (${size.length}) must match dimensionality of strides (${stride.length})`,
    );
  if (stride.some((step) => !(step >= 0)))
    refuse(
      `Storage size calculation overflowed with sizes=${formatSizes(size)} and strides=${formatSizes(stride)}`,
    );
  const device = options.device ?? null;
  const op = getOp('aten::new_empty_strided');
  return finish(callOp(op, [self, size, stride, dtype, null, device, null]), options);
}

/** Uninitialised memory of a shape and strides, in elements. @throws invalid-argument, shape-mismatch @see torch.empty_strided */
export function emptyStrided(
  size: readonly number[],
  stride: readonly number[],
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  return newEmptyStrided(empty([0], { ...options, requiresGrad: false }), size, stride, options);
}

/**
 * A tensor with a copy of the data, of the dtype and on the device of `self` unless others are given.
 *
 * @throws shape-mismatch, invalid-argument
 * @see torch.Tensor.new_tensor
 */
export function newTensor(
  like: Tensor,
  data: TensorData,
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  checkTensors('newTensor', { like });
  const { dtype, device } = like;
  return tensor(data, { dtype, device, ...options });
}

function refuse(message: string): never {
  throw new TesseraError('invalid-argument', message, {
    hints: ['Give one stride per size; strides are not negative.'],
  });
}
