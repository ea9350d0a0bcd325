/**
 * @file The `optim.swaUtils` namespace: averages of weights.
 */
export {
  AveragedModel,
  type AveragedModelOptions,
  type AvgFn,
  type MultiAvgFn,
  getEmaAvgFn,
  getEmaMultiAvgFn,
  getSwaAvgFn,
  getSwaMultiAvgFn,
} from './averaged-model.js';
export { SWALR, type SWALROptions } from './swa-lr.js';
export { updateBn, type UpdateBnOptions } from './update-bn.js';
