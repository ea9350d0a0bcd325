/**
 * @file Operands that have to lie in memory before a kernel reads them many times.
 */
import type { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';

/** Operands of kernels are read many times: they get memory unless they are constants. */
export function readyOperand(l: Lowering, x: LoweredTensor): LoweredTensor {
  if (!x.isRealized && l.costOf(x.expr).loads > 0) x.realize();
  return x;
}
