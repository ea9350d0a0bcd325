/**
 * @file The `init` namespace.
 */
export { type Nonlinearity, calculateFanInAndFanOut, calculateGain } from './fan.js';
export { constant_, normal_, ones_, uniform_, zeros_ } from './fill.js';
export {
  type KaimingOptions,
  kaimingNormal_,
  kaimingUniform_,
  xavierNormal_,
  xavierUniform_,
} from './kaiming.js';
export { orthogonal_ } from './orthogonal.js';
export { dirac_, eye_, sparse_ } from './structured.js';
export { type TruncNormalOptions, truncNormal_ } from './truncated-normal.js';
