/**
 * @file Which ops end a graph, and why.
 */
import type { OpOverload } from '@tessera/tensor';
import { type BreakReason, breakReason } from './graph-breaks.js';

/** Why a call cannot be recorded; null if it can. */
export function opBreak(op: OpOverload, args: readonly unknown[]): BreakReason | null {
  if (op.qualifiedName === 'tessera::custom_function')
    return breakReason('GB0007', 'the backward of a custom autograd function cannot be recorded');
  if (op.hasTag('data-dependent'))
    return breakReason('GB0002', `the shape of ${op.qualifiedName} depends on values`);
  if (op.isMutable && op.changesLayout(args))
    return breakReason(
      'GB0008',
      `${op.qualifiedName} changes the shape, strides or history of a tensor in place`,
    );
  return null;
}
