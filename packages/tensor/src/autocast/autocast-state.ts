/**
 * @file What autocast is set to, per device.
 *
 * Kept apart from the casting itself so that the dispatcher's check costs one property read, and a program without
 * `autocast()` has nothing of it.
 */
import type { DeviceType } from '../device.js';
import type { DType } from '../dtype.js';
import type { OpOverload } from '../op/op-overload.js';

/** A 16-bit type that autocast may compute in. */
export type AutocastDType = Extract<DType, 'float16' | 'bfloat16'>;

/** A scope of `autocast()`; shared by all its ops. */
export interface AutocastSettings {
  /** Type of lower-precision ops by device; a device that is not listed is left alone. */
  readonly dtypes: ReadonlyMap<DeviceType, AutocastDType>;
  /** Calls an operator in the scope. */
  call(op: OpOverload, args: readonly unknown[]): unknown;
  /** The same settings, with casts of their own. */
  afresh(): AutocastSettings;
}

/** Read on every op; null where autocast is off. */
export const autocastState: { active: AutocastSettings | null } = { active: null };

/** Settings in words, for guards: `cpu=bfloat16`; empty if autocast is off. */
export function autocastKey(): string {
  if (autocastState.active === null) return '';
  return [...autocastState.active.dtypes].map(([device, dtype]) => `${device}=${dtype}`).join();
}

/** Runs `fn` with other settings. */
export function withAutocastSettings<R>(settings: AutocastSettings | null, fn: () => R): R {
  const saved = autocastState.active;
  autocastState.active = settings;
  try {
    return fn();
  } finally {
    autocastState.active = saved;
  }
}
