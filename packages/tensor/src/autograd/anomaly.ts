/**
 * @file Anomaly mode: backward nodes remember where the forward op was called, and NaN gradients are errors.
 */

let enabled = false;

/** Turns anomaly mode on or off. It slows every op. */
export function setDetectAnomaly(on: boolean): void {
  enabled = on;
}

/** Whether anomaly mode is on. */
export function isAnomalyEnabled(): boolean {
  return enabled;
}

/** The current stack, if anomaly mode is on. */
export function anomalyStack(): string | null {
  return enabled ? (new Error('forward').stack ?? null) : null;
}
