/**
 * @file Feeding a capture the steps that a replay had matched: what they recorded is recorded again.
 */
import { gradMode } from '@tessera/tensor';
import { instantiate } from '../trace/pattern.js';
import { type RegionStep, type Step, observeStep } from '../trace/step.js';
import { captureBackward } from './capture-backward.js';
import type { Capture } from './capture.js';
import { setGradEnabledNode } from './set-grad-enabled.js';

/** Feeds a step; follows grad mode, which the caller restores. */
export function adoptStep(capture: Capture, step: Step): void {
  const { run, shapes } = capture;
  switch (step.kind) {
    case 'op':
      observeStep(step, shapes.call, run);
      capture.recordOp(
        step.op,
        step.args.map((pattern) => instantiate(pattern, run)),
        step,
      );
      break;
    case 'grad-mode':
      capture.builder.graph.callFunction(setGradEnabledNode, [step.enabled]);
      gradMode.enabled = step.enabled;
      capture.follow(step);
      break;
    case 'backward':
      captureBackward(capture, null, step);
      break;
    case 'region':
      observeStep(step, shapes.call, run);
      capture.follow(step);
      adoptJump(capture, step);
      break;
    default:
      capture.follow(step);
  }
}

/** What a region makes inside stays there. */
function adoptJump(capture: Capture, { jump }: RegionStep): void {
  if (jump === null) return;
  for (const inner of jump.steps) capture.innerSteps.add(inner);
  for (const { slot } of jump.produced) capture.visible.push(slot);
}
