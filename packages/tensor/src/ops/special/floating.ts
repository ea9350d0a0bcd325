/** @file `floating`: what functions of floats compute with. */
import { isFloatingPoint } from '../../dtype.js';
import { defaultDType } from '../../default-dtype.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';

/** Floats of what may be integers. */
export function floating(x: Tensor): Tensor {
  return isFloatingPoint(x.dtype) ? x : toDtype(x, defaultDType());
}
