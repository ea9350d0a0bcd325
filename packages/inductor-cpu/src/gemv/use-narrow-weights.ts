/**
 * @file `useNarrowWeights`: code of its own for products of one row with weights of fewer than 32 bits.
 */
import { registerLoopForm, type LoopForm } from '../loops/loop-forms.js';
import { gemvProblem } from './gemv-problem.js';
import { generateGemv } from './generate-gemv.js';

const narrowGemv: LoopForm = (kernel, options) => {
  const problem = gemvProblem(kernel);
  return problem === null ? null : generateGemv(problem, options);
};

/**
 * Gives products of one row with weights of 16, 8 or 4 bits code of their own on the CPU, which takes up to a half of the
 * time: what a token of a language model costs. Node does it from the start; in pages `@tessera/transformers` does,
 * and programs without it call this before they compile.
 */
export function useNarrowWeights(): void {
  registerLoopForm(narrowGemv);
}
