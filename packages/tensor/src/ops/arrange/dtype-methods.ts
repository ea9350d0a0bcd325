/**
 * @file Conversions by PyTorch's names of dtypes, methods only: `x.float()` is `x.to('float32')`.
 */
import type { Tensor } from '../../tensor.js';
import { toDtype } from './copy.js';

/** self as float32. */
export function float(self: Tensor): Tensor {
  return toDtype(self, 'float32');
}

/** self as float64. */
export function double(self: Tensor): Tensor {
  return toDtype(self, 'float64');
}

/** self as float16. */
export function half(self: Tensor): Tensor {
  return toDtype(self, 'float16');
}

/** self as bfloat16. */
export function bfloat16(self: Tensor): Tensor {
  return toDtype(self, 'bfloat16');
}

/** self as int64. */
export function long(self: Tensor): Tensor {
  return toDtype(self, 'int64');
}

/** self as int32. */
export function int(self: Tensor): Tensor {
  return toDtype(self, 'int32');
}

/** self as int16. */
export function short(self: Tensor): Tensor {
  return toDtype(self, 'int16');
}

/** self as int8. */
export function char(self: Tensor): Tensor {
  return toDtype(self, 'int8');
}

/** self as uint8. */
export function byte(self: Tensor): Tensor {
  return toDtype(self, 'uint8');
}

/** self as bool: whether elements differ from 0. */
export function bool(self: Tensor): Tensor {
  return toDtype(self, 'bool');
}
