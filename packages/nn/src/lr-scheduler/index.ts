/**
 * @file The `lrScheduler` namespace.
 */
export { CosineAnnealingLR, type CosineAnnealingLROptions } from './cosine-annealing-lr.js';
export { LambdaLR, type LRLambda } from './lambda-lr.js';
export { LinearLR, type LinearLROptions } from './linear-lr.js';
export { LRScheduler, type LRSchedulerState, type ScheduledOptimizer } from './lr-scheduler.js';
export { StepLR, type StepLROptions } from './step-lr.js';
