/**
 * @file The `optim` namespace.
 */
export { Adafactor, type AdafactorOptions, type AdafactorScalars } from './adafactor.js';
export { ASGD, type ASGDOptions, type ASGDScalars } from './asgd.js';
export { Muon, type MuonOptions, type MuonScalars } from './muon.js';
export { Rprop, type RpropOptions, type RpropScalars } from './rprop.js';
export { Adadelta, type AdadeltaOptions, type AdadeltaScalars } from './adadelta.js';
export { Adamax, type AdamaxOptions, type AdamaxScalars } from './adamax.js';
export { LBFGS, type LBFGSOptions, type LBFGSStateDict } from './lbfgs.js';
export type { LBFGSRecord } from './lbfgs-state.js';
export { NAdam, type NAdamOptions, type NAdamScalars } from './nadam.js';
export { RAdam, type RAdamOptions, type RAdamScalars } from './radam.js';
export { Adagrad, type AdagradOptions, type AdagradScalars } from './adagrad.js';
export { Adam, type AdamOptions, type AdamScalars, AdamW } from './adam.js';
export type { Bucket, Carried, ParamState, Structure } from './bucket.js';
export {
  type Hookable,
  type LoadStateDictPostHook,
  type LoadStateDictPreHook,
  type OptimizerStateDictPostHook,
  type OptimizerStateDictPreHook,
  type StepArguments,
  type StepPostHook,
  type StepPreHook,
  registerLoadStateDictPostHook,
  registerLoadStateDictPreHook,
  registerStateDictPostHook,
  registerStateDictPreHook,
  registerStepPostHook,
  registerStepPreHook,
} from './hooks.js';
export type { Lifted } from './lifted.js';
export { Optimizer } from './optimizer.js';
export type { OptimizerStateDict } from './optimizer-state-dict.js';
export type {
  CommonOptions,
  OptimizerParams,
  OptionsInput,
  ParamGroup,
  ParamGroupInput,
} from './param-group.js';
export { RMSprop, type RMSpropOptions, type RMSpropScalars } from './rmsprop.js';
export { SGD, type SGDOptions, type SGDScalars } from './sgd.js';
import * as swaUtils from '../swa-utils/index.js';

export { swaUtils };
