/**
 * @file `useDistributions`: numbers of rarer distributions, and incomplete gamma functions, on WebGPU.
 */
import { useRareDraws } from '@tessera/inductor-core';
import { ownOperators } from '../runtime/own-operators.js';
import { ELEMENT_OPERATORS } from './operators.js';

/**
 * Brings gamma, Poisson, binomial, Cauchy and geometric numbers (and so the distributions that are made of them: Beta, Dirichlet, StudentT and
 * others) and the incomplete gamma functions to `wgpu`. Node has them from the start; a page that draws such numbers or
 * calls `gammainc` with tensors on `wgpu` calls this once, before.
 */
export function useDistributions(): void {
  for (const [name, run] of ELEMENT_OPERATORS) ownOperators.set(name, run);
  useRareDraws();
}
