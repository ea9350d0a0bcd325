/**
 * @file Why an op that changes a tensor's layout in place ends a graph.
 */
import type { OpOverload } from '@tessera/tensor';

/** The reason, as it is logged and explained. */
export function layoutBreak(op: OpOverload): string {
  return `${op.qualifiedName} changes the shape, strides or history of a tensor in place`;
}
