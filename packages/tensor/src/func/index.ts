/**
 * @file Public API of `@tessera/tensor/func`: functions of functions, as `torch.func`.
 */
export {
  type DerivativeOptions,
  type GradFunctionOptions,
  grad,
  gradAndValue,
  jacrev,
} from './grad.js';
export type { Randomness } from './rules/random.js';
export { type BatchDims, type VmapOptions, vmap } from './vmap.js';
