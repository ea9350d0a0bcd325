/**
 * @file A form of columns that has a way of packing of its own: parts of words (`pack-parts.ts`).
 *
 * A program registers it if it wants it: pages that never do leave out its code.
 */
import type { BlockLayout, PartsOf, WordParts } from '@tessera/inductor-core';
import type { KernelOptions } from '../body/size-slots.js';
import type { OperandAccess } from './gemm-operands.js';
import type { MatmulProblem } from './problem.js';

/** Which columns have the form, and how they are packed. */
export interface OperandForm {
  readonly partsOf: PartsOf;
  readonly access: (
    problem: MatmulProblem,
    parts: WordParts,
    layout: Extract<BlockLayout, { kind: 'panels' }>,
    tileCols: number,
    options: KernelOptions,
  ) => OperandAccess;
}

/** The form, or null where columns are evaluated element by element. */
export let operandForm: OperandForm | null = null;

/** Makes the form known. */
export function registerOperandForm(form: OperandForm): void {
  operandForm = form;
}
