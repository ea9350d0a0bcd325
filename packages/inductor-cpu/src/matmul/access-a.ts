/**
 * @file How a product gets at its rows: where they lie, or packed.
 */
import type { KernelOptions } from '../body/size-slots.js';
import { type Blocking, isAdjacentInDepth } from './blocking.js';
import {
  directAccess,
  expressionAccess,
  panelAccess,
  type OperandAccess,
} from './gemm-operands.js';
import type { MatmulProblem } from './problem.js';

/** Column blocks narrower than this do not repay packing A. */
const PACK_A_COLS = 96;

/** Chooses between the two. */
export function accessA(
  problem: MatmulProblem,
  blocking: Blocking,
  options: KernelOptions,
): OperandAccess {
  const { a } = problem;
  if (a.plain === null) return expressionAccess(problem, a, blocking, options);
  const inPlace =
    isAdjacentInDepth(problem) && (blocking.colBlock < PACK_A_COLS || blocking.tileRows === 1);
  return inPlace
    ? directAccess(problem, a.plain, blocking.tileRows)
    : panelAccess(problem, a, a.plain, blocking);
}
