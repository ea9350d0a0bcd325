/**
 * @file Which reductions mean something for which dtypes.
 */
import { TesseraError } from '@tessera/shared';
import { type DType, isFloatingPoint } from '@tessera/tensor';
import type { ReduceOp } from '../communicator.js';

/** The reductions, for messages. */
const REDUCE_OPS: readonly ReduceOp[] = [
  'sum',
  'avg',
  'product',
  'min',
  'max',
  'band',
  'bor',
  'bxor',
];

/** Refuses what no rank could compute, before anything is sent. @throws invalid-argument */
export function checkReduction(name: string, op: ReduceOp, dtype: DType): void {
  if (!REDUCE_OPS.includes(op))
    throw new TesseraError('invalid-argument', `${name}: there is no reduction '${String(op)}'.`, {
      hints: [`Reductions: ${REDUCE_OPS.join(', ')}.`],
    });
  const isFloat = isFloatingPoint(dtype);
  if (isFloat && (op === 'band' || op === 'bor' || op === 'bxor'))
    throw new TesseraError(
      'invalid-argument',
      `${name}: ${op} is an operation on bits, which ${dtype} does not have.`,
      { hints: ['Use it with integers and bool.'] },
    );
  if (!isFloat && op === 'avg')
    throw new TesseraError('invalid-argument', `${name}: an average of ${dtype} is not ${dtype}.`, {
      hints: ['Reduce a floating-point copy, or take the sum.'],
    });
}
