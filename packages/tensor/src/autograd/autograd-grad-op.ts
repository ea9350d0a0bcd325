/**
 * @file `tessera::autograd_grad`: gradients asked for inside a captured program, as an operator.
 *
 * Capture records `backward()`, `grad()` and what is made of them as this op; running the graph (eagerly, or
 * re-traced by AOT autograd on FakeTensors) runs the real engine over the history that the ops before it
 * recorded. With `.create_graph` the engine's own operators have a history too, and so does what follows.
 */
import { type OpOverload, defineOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';
import { runBackward } from './engine.js';

/** Gradients wanted as values. */
export interface GradientRequest {
  readonly outputs: readonly Tensor[];
  /** One per output; null for the gradient of a scalar. */
  readonly gradOutputs: readonly (Tensor | null)[];
  readonly inputs: readonly Tensor[];
  readonly retainGraph: boolean;
  /** Whether the gradients can be differentiated again. */
  readonly createGraph: boolean;
}

/** What the engine computes for a request; null where an input was not used. */
export function engineGradients(request: GradientRequest): (Tensor | null)[] {
  const { outputs, gradOutputs, inputs, retainGraph, createGraph } = request;
  const options = { retainGraph, createGraph, inputs, accumulate: false, allowUnused: true };
  return runBackward(outputs, gradOutputs, options);
}

/** The request of an operator with these arguments. */
export function requestOf(
  bound: Readonly<Record<string, unknown>>,
  createGraph: boolean,
): GradientRequest {
  return {
    outputs: bound.outputs as Tensor[],
    gradOutputs: bound.grad_outputs as (Tensor | null)[],
    inputs: bound.inputs as Tensor[],
    retainGraph: bound.retain_graph === true,
    createGraph,
  };
}

function define(overload: string, createGraph: boolean): OpOverload {
  return defineOp(
    `tessera::autograd_grad${overload}(Tensor[] outputs, Tensor?[] grad_outputs, Tensor[] inputs, bool retain_graph=False) -> Tensor?[]`,
    { decompose: (bound) => engineGradients(requestOf(bound, createGraph)) },
  );
}

/** Gradients of `outputs` with respect to `inputs`. */
export const autogradGrad: OpOverload = define('', false);
/** The same, to be differentiated again. */
export const autogradGradTwice: OpOverload = define('.create_graph', true);
