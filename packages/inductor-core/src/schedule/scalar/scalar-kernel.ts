/**
 * @file `ScalarKernel`: the scheduled kernels of machines that do one thing after another.
 *
 * This is all that an emitter for such a machine has to spell. Instances of the grid may run in any order.
 */
import type {
  Condition,
  LoopStmt,
  ScheduledKernel,
  ScheduledStmt,
} from '../kernel/scheduled-kernel.js';
import type { TargetDescription } from '../target-description.js';

/** A machine that does one thing after another: no vectors, no threads that share anything. */
export interface ScalarTarget extends TargetDescription {
  readonly kind: 'scalar';
}

/** A loop, by steps of one. */
export interface ScalarLoop extends LoopStmt {
  readonly pace: 1;
  readonly only?: never;
  readonly body: ScalarBody;
}

/** Statements that happen only where all indices are 0. */
export interface ScalarWhen {
  readonly kind: 'when';
  readonly all: readonly Extract<Condition, { kind: 'first' }>[];
  readonly body: ScalarBody;
}

/** Statements about whole accumulators. */
export interface AccumulatorStmt {
  readonly kind: 'start' | 'settle' | 'part' | 'finish';
  readonly of: readonly string[];
}

/** One statement; see scheduled-kernel.ts for what each does. */
export type ScalarStmt =
  | ScalarLoop
  | ScalarWhen
  | AccumulatorStmt
  | Extract<ScheduledStmt, { kind: 'update' }>
  | Extract<ScheduledStmt, { kind: 'store' }>;

/** Statements in order. */
export type ScalarBody = readonly ScalarStmt[];

/** See the file header. */
export interface ScalarKernel extends ScheduledKernel {
  readonly threads?: never;
  readonly shared: readonly [];
  readonly body: ScalarBody;
}
