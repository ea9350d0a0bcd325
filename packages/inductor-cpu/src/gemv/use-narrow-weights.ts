/**
 * @file `useNarrowWeights`: code of their own for products with weights of fewer than 32 bits, and for moving such elements.
 */
import { scheduleGemv, wordParts } from '@tessera/inductor-core';
import { gemvTarget } from '../loops/cpu-target.js';
import { registerLoopForm, type LoopForm } from '../loops/loop-forms.js';
import { rawMoves } from '../loops/raw-moves.js';
import { registerOperandForm } from '../matmul/operand-forms.js';
import { partsAccess } from '../matmul/pack-parts.js';
import { emitGemv } from './emit-gemv.js';

/** One form, as a first call pays for every function that it is the first to call. */
const narrowForm: LoopForm = (kernel, options) => {
  const scheduled = scheduleGemv(kernel, gemvTarget(options));
  if (scheduled !== null) return emitGemv(scheduled, options);
  for (const { dtype } of kernel.params)
    if (dtype === 'float16' || dtype === 'bfloat16' || dtype === 'bool')
      return rawMoves(kernel, options);
  return null;
};

/**
 * Gives products with weights of 16, 8 or 4 bits code of their own on the CPU: of one row, which takes up to a half of the
 * time (what a token of a language model costs), and of many with weights of 8 or 4 bits. 16-bit floats and bools that are
 * only moved are then no longer converted on the way. Node does it from the start; in
 * pages `@tessera/transformers` does, and programs without it call this before they compile.
 */
export function useNarrowWeights(): void {
  registerLoopForm(narrowForm);
  registerOperandForm({ partsOf: wordParts, access: partsAccess });
}
