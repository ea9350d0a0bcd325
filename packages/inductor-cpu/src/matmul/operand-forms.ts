/**
 * @file Forms of operands that have a way of packing of their own, in place of evaluating them element by element.
 *
 * A program registers those that it wants: pages that never do leave out their code.
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

const forms = new Set<OperandForm>();

/** Makes a form of columns known; those registered first come first. */
export function registerOperandForm(form: OperandForm): void {
  forms.add(form);
}

/** How the columns of a product are packed by the first form that they have, or null. */
export function accessOfForm(...product: Parameters<OperandForm>): OperandAccess | null {
  for (const form of forms) {
    const access = form(...product);
    if (access !== null) return access;
  }
  return null;
}
