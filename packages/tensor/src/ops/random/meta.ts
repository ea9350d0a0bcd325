/**
 * @file What random operators after a tensor share: the result is like the tensor, and says nothing about it.
 */
import { TesseraError } from '@tessera/shared';
import { isFloatingPoint } from '../../dtype.js';
import { metaOfSelf } from '../../memory-format.js';
import type { TensorMeta, Vjp } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { zerosLike } from '../factory/like.js';

/** Numbers drawn do not depend on what was there. */
export const zeroGradient: Vjp = (_args, { grad }) => ({ self: () => zerosLike(grad) });

/** The result is like `self`, which holds floats. @throws dtype-unsupported */
export function floatingMeta(name: string): (args: { self: Tensor }) => TensorMeta {
  return (args) => {
    const meta = metaOfSelf(args);
    if (!isFloatingPoint(meta.dtype))
      throw new TesseraError('dtype-unsupported', `${name} is not implemented for ${meta.dtype}`, {
        hints: ['Fill a floating-point tensor and convert it.'],
      });
    return meta;
  };
}
