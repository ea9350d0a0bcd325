/**
 * @file `overrideLowering`: puts another lowering in the place of an operator's for a while.
 */
import { TesseraError } from '@tessera/shared';
import { findLowering } from './find-lowering.js';
import { type LoweringFn, registerLowering, registeredLowerings } from './registry.js';

/**
 * Makes `wrap(original)` the lowering of an operator until the returned function is called.
 *
 * @throws kernel-missing if the operator has none
 * @see torch._inductor.virtualized's override_lowering in PyTorch's tests
 */
export function overrideLowering(
  op: string,
  wrap: (original: LoweringFn) => LoweringFn,
): () => void {
  const original = findLowering(op);
  if (original === undefined) {
    throw new TesseraError('kernel-missing', `${op} has no lowering to override.`, {
      context: { op },
      hints: [`Register one: registerLowering('${op}', fn).`],
    });
  }
  const before = registeredLowerings.get(op);
  registerLowering(op, wrap(original));
  return () => {
    if (before === undefined) registeredLowerings.delete(op);
    else registeredLowerings.set(op, before);
  };
}
