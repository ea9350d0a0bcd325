/**
 * @file Whether a call has the tensors that its lowering takes for granted.
 *
 * Calls that were traced were checked by eager's dispatcher. Graphs that were read from a file or made by hand come here
 * first.
 */
import { TesseraError } from '@tessera/shared';
import type { OpOverload } from '@tessera/tensor';
import { LoweredTensor } from './lowered-tensor.js';
import { isOperand } from './ops/elementwise.js';
import type { LoweredArg } from './registry.js';

/** @throws invalid-argument */
export function checkOperands(op: OpOverload, args: readonly LoweredArg[]): void {
  for (const at of op.tensorArgs) {
    const { list, optional } = op.schema.args[at]!.type;
    const arg = args[at];
    if (list || arg instanceof LoweredTensor || (optional && arg == null)) continue;
    // The second operand of a composite, as of `max.other`, is one of what it is composed of.
    const isPointwise = op.hasTag('pointwise') || (at > 0 && op.record.decompose !== undefined);
    if (isPointwise && isOperand(arg)) continue;
    throw new TesseraError(
      'invalid-argument',
      `${op.qualifiedName}: expected a tensor for '${op.schema.args[at]!.name}' while lowering, got ${String(arg)}.`,
      {
        context: { op: op.qualifiedName },
        hints: ['Arguments of graph nodes are positional, in the order of the schema.'],
      },
    );
  }
}
