/**
 * @file A form of operands that has a way of packing of its own, in place of evaluating them element by element.
 *
 * A program registers it if it wants it: pages that never do leave out its code.
 */
import type { KernelOptions } from '../body/size-slots.js';
import type { Blocking } from './blocking.js';
import type { OperandAccess } from './gemm-operands.js';
import type { MatmulProblem } from './problem.js';

/** How columns of the form are packed, or null for others. */
export type OperandForm = (
  problem: MatmulProblem,
  blocking: Blocking,
  options: KernelOptions,
) => OperandAccess | null;

/** How the columns of a product are packed if they have the form, or null. */
export let accessOfForm: OperandForm = () => null;

/** Makes the form known. */
export function registerOperandForm(form: OperandForm): void {
  accessOfForm = form;
}
