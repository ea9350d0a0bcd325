/**
 * @file What autocast is set to, per device.
 *
 * Kept apart from the casting itself so that the dispatcher's check costs one property read.
 */
import type { DeviceType } from '../device.js';
import type { DType } from '../dtype.js';
import type { Tensor } from '../tensor.js';

/** A 16-bit type that autocast may compute in. */
export type AutocastDType = Extract<DType, 'float16' | 'bfloat16'>;

/** Settings in force; shared by all ops of a scope. */
export interface AutocastSettings {
  /** Type of lower-precision ops by device; a device that is not listed is left alone. */
  readonly dtypes: ReadonlyMap<DeviceType, AutocastDType>;
  /** Casts of parameters made in this scope, so that a weight used twice is cast once; null: no cache. */
  readonly casts: Map<Tensor, Tensor> | null;
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
