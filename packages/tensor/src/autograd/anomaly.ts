/**
 * @file Anomaly mode: backward nodes remember where the forward op was called, and NaN gradients are errors.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { currentBackwardNode } from './current-backward-node.js';
import type { GradNode } from './grad-node.js';
import { scoped } from './scope.js';

const FRAMES = 24;

let enabled = false;
let checkNaN = true;

const CHECK_NA_N: OptionNames<{ readonly checkNaN?: boolean }> = { checkNaN: true };

/** Turns anomaly mode on or off; `checkNaN` false keeps stacks but lets NaN pass. It slows every op. */
export function setDetectAnomaly(on: boolean, options?: { readonly checkNaN?: boolean }): void {
  checkOptionNames('setDetectAnomaly', options, CHECK_NA_N);
  enabled = on;
  checkNaN = options?.checkNaN ?? true;
}

/** Runs `fn` in anomaly mode. @see torch.autograd.detect_anomaly */
export function detectAnomaly<R>(fn: () => R, options: { readonly checkNaN?: boolean } = {}): R {
  checkOptionNames('detectAnomaly', options, CHECK_NA_N);
  const saved = [enabled, checkNaN] as const;
  setDetectAnomaly(true, options);
  return scoped(fn, () => ([enabled, checkNaN] = saved));
}

/** Whether anomaly mode is on. */
export function isAnomalyEnabled(): boolean {
  return enabled;
}

/** Whether anomaly mode refuses NaN. */
export function checksNaN(): boolean {
  return checkNaN;
}

/** In anomaly mode, notes the current stack in a new node. */
export function noteForwardCall(node: GradNode): void {
  if (!enabled) return;
  const limit = Error.stackTraceLimit;
  // `node --frozen-intrinsics` does not let it be changed.
  const changes = Object.isExtensible(Error);
  if (changes) Error.stackTraceLimit = FRAMES;
  node.forwardStack = new Error('forward').stack?.split('\n').slice(2).join('\n') ?? null;
  if (changes) Error.stackTraceLimit = limit;
  node.anomalyParent = currentBackwardNode();
}
