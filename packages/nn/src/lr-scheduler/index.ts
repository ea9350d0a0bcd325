/**
 * @file The `lrScheduler` namespace.
 */
export {
  ChainedScheduler,
  type ChainedSchedulerOptions,
  type ChainedSchedulerState,
} from './chained-scheduler.js';
export { CyclicLR, type CyclicLROptions } from './cyclic-lr.js';
export { MultiplicativeLR } from './multiplicative-lr.js';
export { ConstantLR, type ConstantLROptions } from './constant-lr.js';
export {
  CosineAnnealingWarmRestarts,
  type CosineAnnealingWarmRestartsOptions,
  type CosineAnnealingWarmRestartsState,
} from './cosine-annealing-warm-restarts.js';
export { ExponentialLR, type ExponentialLROptions } from './exponential-lr.js';
export { MultiStepLR, type MultiStepLROptions } from './multi-step-lr.js';
export { OneCycleLR, type OneCycleLROptions } from './one-cycle-lr.js';
export { PolynomialLR, type PolynomialLROptions } from './polynomial-lr.js';
export {
  ReduceLROnPlateau,
  type ReduceLROnPlateauOptions,
  type ReduceLROnPlateauState,
} from './reduce-lr-on-plateau.js';
export { SequentialLR, type SequentialLROptions, type SequentialLRState } from './sequential-lr.js';
export { CosineAnnealingLR, type CosineAnnealingLROptions } from './cosine-annealing-lr.js';
export { LambdaLR, type LRLambda } from './lambda-lr.js';
export { LinearLR, type LinearLROptions } from './linear-lr.js';
export {
  LRScheduler,
  type LRSchedulerState,
  type ScheduleOptions,
  type ScheduledOptimizer,
} from './lr-scheduler.js';
export { StepLR, type StepLROptions } from './step-lr.js';
