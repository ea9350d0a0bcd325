/**
 * @file Grad mode: whether ops record a backward graph.
 */
import { checkFunction } from '@tessera/shared';
import { activeMode } from '../dispatch/modes.js';
import { scoped } from './scope.js';

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
export function withGradMode<R>(enabled: boolean, fn: () => R): R {
  const saved = gradMode.enabled;
  setGradEnabled(enabled);
  return scoped(fn, () => setGradEnabled(saved));
}

/** Runs `fn` without recording gradients. @throws invalid-argument unless it is a function */
export function noGrad<R>(fn: () => R): R {
  checkFunction('noGrad', fn);
  return withGradMode(false, fn);
}

/** Runs `fn` recording gradients, inside `noGrad` too. @throws invalid-argument unless it is a function */
export function enableGrad<R>(fn: () => R): R {
  checkFunction('enableGrad', fn);
  return withGradMode(true, fn);
}
