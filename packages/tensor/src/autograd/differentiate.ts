/**
 * @file `differentiate`: gradients as values, by the engine or as an operator of a captured program.
 *
 * Whatever asks for gradients without touching `.grad` (`grad`, `jacobian`, `hessian`, …) comes through here.
 * A capture records the request as one operator where it knows how the outputs were computed, so that
 * gradients of gradients become part of its graph.
 */
import { callOp } from '../dispatch/dispatcher.js';
import { activeMode } from '../dispatch/modes.js';
import type { Tensor } from '../tensor.js';
import {
  type CreateGraph,
  type GradientRequest,
  autogradGrad,
  autogradGradOuter,
  autogradGradTwice,
  decided,
  engineGradients,
} from './autograd-grad-op.js';
import { gradFnOf, hasGradientHooks } from './history.js';
import { gradOutsideGraph } from './outside-graph.js';

/** The gradients that a request wants; null where the outputs do not depend on an input. */
export function differentiate(request: GradientRequest): (Tensor | null)[] {
  const { outputs, gradOutputs, inputs, retainGraph, createGraph } = request;
  const mode = activeMode(outputs);
  if (mode === null) return engineGradients(request);
  if (outputs.every(isRecorded) && !inputs.some(hasGradientHooks)) {
    const op = operatorFor(createGraph);
    return callOp(op, [outputs, gradOutputs, inputs, retainGraph]);
  }
  // What the capture has recorded so far is part of the histories that the engine reads.
  for (const tensor of [...outputs, ...inputs]) void tensor.gradFn;
  mode.onWatch?.([...inputs, ...outputs]);
  const settled = decided(request);
  return settled.createGraph && !mode.isEager
    ? gradOutsideGraph(settled)
    : engineGradients(settled);
}

function operatorFor(createGraph: CreateGraph): typeof autogradGrad {
  if (createGraph === 'outer') return autogradGradOuter;
  return createGraph ? autogradGradTwice : autogradGrad;
}

/** Whether a capture knows how a tensor was computed; the history of any other lies outside of it. */
export function isRecorded(output: Tensor): boolean {
  return output.isLazy || gradFnOf(output) === null;
}
