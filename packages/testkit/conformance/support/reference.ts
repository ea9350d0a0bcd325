/**
 * @file Eager results that do not come from the compiler: its kernels run eager operators too, so that a fault in
 * one would change what it is compared with.
 */
import { config } from '@tessera/compile';

/** Runs eager code on `cpu` with the reference kernels. */
export function byReference<R>(fn: () => R): R {
  return config.patch({ 'eager.kernels': 'reference' }, fn);
}
