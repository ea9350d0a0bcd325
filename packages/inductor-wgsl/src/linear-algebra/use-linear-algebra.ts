/**
 * @file `useLinearAlgebra`: factorizations, systems of equations, eigenvalues and singular values on WebGPU.
 */
import { ownOperators } from '../runtime/own-operators.js';
import { MATRIX_OPERATORS } from './operators.js';

/**
 * Brings the operators of linear algebra to `wgpu`. Node has them from the start; a page that calls `linalg` functions with
 * tensors on `wgpu` calls this once, before them.
 */
export function useLinearAlgebra(): void {
  for (const [name, run] of MATRIX_OPERATORS) ownOperators.set(name, run);
}
