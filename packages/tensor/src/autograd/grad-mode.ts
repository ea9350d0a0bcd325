/**
 * @file Grad mode: whether ops record a backward graph.
 */
import { type RunInScope, checkFunction, scopesOf } from '@tessera/shared';
import { activeMode } from '../dispatch/modes.js';

/** Read on every op; write only through the functions below. */
export const gradMode: { enabled: boolean; inference: boolean } = {
  enabled: true,
  inference: false,
};

/** Whether gradients are recorded. */
export function isGradEnabled(): boolean {
  return gradMode.enabled;
}

/** Turns recording on or off until changed again. */
export function setGradEnabled(enabled: boolean): void {
  if (gradMode.enabled === enabled) return;
  activeMode()?.onGradMode(enabled);
  gradMode.enabled = enabled;
}

/** Runs `fn` with grad mode set; an async `fn` keeps it until its promise settles. */
export const withGradMode: RunInScope<boolean> = /* @__PURE__ */ scopesOf(
  isGradEnabled,
  setGradEnabled,
);

/**
 * Runs `fn` without recording gradients. An async `fn` keeps it until its promise settles, and so does whatever else runs
 * before that: start calls that wait at the same time in one scope.
 * @throws invalid-argument unless it is a function
 */
export function noGrad<R>(fn: () => R): R {
  checkFunction('noGrad', fn);
  return withGradMode(false, fn);
}

/** Runs `fn` recording gradients, inside `noGrad` too. @throws invalid-argument unless it is a function */
export function enableGrad<R>(fn: () => R): R {
  checkFunction('enableGrad', fn);
  return withGradMode(true, fn);
}
