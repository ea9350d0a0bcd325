/**
 * @file Which ops end a graph, and why.
 */
import type { OpOverload } from '@tessera/tensor';

/** Why a call cannot be recorded, as it is logged and explained; null if it can. */
export function breakReason(op: OpOverload, args: readonly unknown[]): string | null {
  if (op.hasTag('data-dependent')) return `the shape of ${op.qualifiedName} depends on values`;
  if (op.isMutable && op.changesLayout(args))
    return `${op.qualifiedName} changes the shape, strides or history of a tensor in place`;
  return null;
}
