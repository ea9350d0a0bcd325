/** @file `floating`: what functions of floats compute with. */
import { TesseraError } from '@tessera/shared';
import { isFloatingPoint } from '../../dtype.js';
import { defaultDType } from '../../default-dtype.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';

/** Floats of what may be integers. @throws invalid-argument for what is no tensor */
export function floating(x: Tensor): Tensor {
  if (!isTensor(x))
    throw new TesseraError('invalid-argument', `argument 'input' must be Tensor, not ${typeof x}`, {
      hints: ['Make one of it: tensor(0.5).'],
    });
  return isFloatingPoint(x.dtype) ? x : toDtype(x, defaultDType());
}
