/**
 * @file Whether operators are recorded rather than run.
 */
import { isFakeMode } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { activeMode, modes } from './modes.js';

/** Whether operators on these tensors are recorded, or only compute metadata. */
export function isTraced(tensors: readonly Tensor[]): boolean {
  return (
    activeMode(tensors) !== null ||
    modes.stack.length > 0 ||
    isFakeMode() ||
    tensors.some((tensor) => tensor.isFake)
  );
}
