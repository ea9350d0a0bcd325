/**
 * @file Anomaly mode: backward nodes remember where the forward op was called, and NaN gradients are errors.
 */
import {
  type OptionNames,
  checkOptionNames,
  keepFrames,
  scopesOf,
  checkFunction,
} from '@tessera/shared';
import { checkFinite, withForwardStack } from './anomaly-report.js';
import { untraced } from '../dispatch/untraced.js';
import { type AnomalyMode, anomaly } from './anomaly-state.js';
import { currentBackwardNode } from './current-backward-node.js';
import type { GradNode } from './grad-node.js';

const FRAMES = 24;

const CHECK_NA_N: OptionNames<{ readonly checkNaN?: boolean }> = { checkNaN: true };

const runInScope = /* @__PURE__ */ scopesOf<AnomalyMode | null>(
  () => anomaly.active,
  (active) => (anomaly.active = active),
);

/**
 * Turns anomaly mode on or off; `checkNaN` false keeps stacks but lets NaN pass. It slows every op, and compiled
 * functions run eagerly meanwhile.
 */
export function setDetectAnomaly(on: boolean, options?: { readonly checkNaN?: boolean }): void {
  checkOptionNames('setDetectAnomaly', options, CHECK_NA_N);
  anomaly.active = on ? mode(options?.checkNaN ?? true) : null;
}

function mode(checksNaN: boolean): AnomalyMode {
  return {
    noteForwardCall,
    apply: (node, run) => {
      const results = withForwardStack(node, run);
      if (checksNaN) checkFinite(node, results);
      return results;
    },
  };
}

/** Runs `fn` in anomaly mode. @see torch.autograd.detect_anomaly */
export function detectAnomaly<R>(fn: () => R, options: { readonly checkNaN?: boolean } = {}): R {
  checkOptionNames('detectAnomaly', options, CHECK_NA_N);
  checkFunction('detectAnomaly', fn);
  const run = (): R => untraced('anomaly mode watches the engine', fn);
  return runInScope(mode(options.checkNaN ?? true), run);
}

/** Whether anomaly mode is on. */
export function isAnomalyEnabled(): boolean {
  return anomaly.active !== null;
}

/** Notes the current stack in a new node. */
function noteForwardCall(node: GradNode): void {
  const undo = keepFrames(FRAMES);
  node.forwardStack = new Error('forward').stack?.split('\n').slice(2).join('\n') ?? null;
  undo();
  node.anomalyParent = currentBackwardNode();
}
