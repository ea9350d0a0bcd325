/**
 * @file Public API of `@tessera/tensor/func`: functions of functions, as `torch.func`.
 */
// Who has tensors has the index; said here, it makes of what both share one file, which compresses better.
import '../index.js';
export { type DerivativeOptions, type GradFunctionOptions, grad, gradAndValue } from './grad.js';
export { hessian, jacfwd, jacrev } from './jacobian.js';
export { type AuxOptions, jvp, linearize, vjp } from './products.js';
export { rearrange } from './rearrange.js';
export type { Randomness } from './rules/random.js';
export { type BatchDims, type VmapOptions, vmap } from './vmap.js';
