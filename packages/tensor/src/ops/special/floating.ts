/** @file `floating`: what functions of floats compute with. */
import { TesseraError } from '@tessera/shared';
import { isFloatingPoint } from '../../dtype.js';
import { defaultDType } from '../../default-dtype.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';

/** @throws invalid-argument for what is no tensor */
export function checkInput(x: unknown): void {
  if (isTensor(x)) return;
  throw new TesseraError('invalid-argument', `argument 'input' must be Tensor, not ${typeof x}`, {
    hints: ['Make one of it: tensor(0.5).'],
  });
}

/** Floats of what may be integers. @throws invalid-argument for what is no tensor */
export function floating(x: Tensor): Tensor {
  checkInput(x);
  return isFloatingPoint(x.dtype) ? x : toDtype(x, defaultDType());
}
