/**
 * @file The `parametrize` namespace.
 */
export { cached } from './cached.js';
export {
  type Parametrization,
  ParametrizationList,
  type RegisterParametrizationOptions,
  type RemoveParametrizationsOptions,
  isParametrized,
  registerParametrization,
  removeParametrizations,
} from './register-parametrization.js';
export { type SpectralNormOptions, spectralNorm } from './spectral-norm.js';
export { type WeightNormOptions, weightNorm } from './weight-norm.js';
export { type OrthogonalMap, type OrthogonalOptions, orthogonal } from './orthogonal.js';
