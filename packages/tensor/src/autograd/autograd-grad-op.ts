/**
 * @file `tessera::autograd_grad`: gradients asked for inside a captured program, as an operator.
 *
 * Capture records `backward()`, `grad()` and what is made of them as this op; running the graph (eagerly, or
 * re-traced by AOT autograd on FakeTensors) runs the real engine over the history that the ops before it
 * recorded. With `.create_graph` the engine's own operators have a history too, and so does what follows; with
 * `.outer` they have one if the outputs depend on more than the inputs.
 */
import { type OpOverload, defineOp } from '../op/op-overload.js';
import type { SchemaArgs } from '../op/schema-types.js';
import type { Tensor } from '../tensor.js';
import { runBackward } from './engine.js';
import { hasOuterHistory } from './outer-history.js';

interface Request<Create extends CreateGraph> {
  readonly outputs: readonly Tensor[];
  /** One per output; null for the gradient of a scalar. */
  readonly gradOutputs: readonly (Tensor | null)[];
  readonly inputs: readonly Tensor[];
  readonly retainGraph: boolean;
  /** Whether the gradients can be differentiated again. */
  readonly createGraph: Create;
}

/** Gradients wanted as values. */
export type GradientRequest = DecidedRequest | Request<'outer'>;

/** `'outer'`: if the outputs depend on anything that takes gradients besides the inputs; the graph is retained then. */
export type CreateGraph = boolean | 'outer';

/** A request of which the histories have told whether the gradients can be differentiated again. */
export type DecidedRequest = Request<boolean>;

/** Decides a request by the histories that the outputs have. */
export function decided(request: GradientRequest): DecidedRequest {
  const { outputs, inputs, retainGraph } = request;
  if (request.createGraph !== 'outer') return request;
  const createGraph = hasOuterHistory(outputs, inputs);
  return { ...request, createGraph, retainGraph: retainGraph || createGraph };
}

/** What the engine computes for a request; null where an input was not used. */
export function engineGradients(request: GradientRequest): (Tensor | null)[] {
  const { outputs, gradOutputs, inputs, retainGraph, createGraph } = decided(request);
  const options = { retainGraph, createGraph, inputs, accumulate: false, allowUnused: true };
  return runBackward(outputs, gradOutputs, options);
}

/** Arguments and results of operators that give gradients. */
type GradientSchema =
  '(Tensor[] outputs, Tensor?[] grad_outputs, Tensor[] inputs, bool retain_graph=False) -> Tensor?[]';

/** The request of an operator with these arguments. */
export function requestOf(
  bound: SchemaArgs<GradientSchema>,
  createGraph: CreateGraph,
): GradientRequest {
  return {
    outputs: bound.outputs,
    gradOutputs: bound.grad_outputs,
    inputs: bound.inputs,
    retainGraph: bound.retain_graph === true,
    createGraph,
  };
}

function define(overload: string, createGraph: CreateGraph): OpOverload<(Tensor | null)[]> {
  return defineOp(
    `tessera::autograd_grad${overload}(Tensor[] outputs, Tensor?[] grad_outputs, Tensor[] inputs, bool retain_graph=False) -> Tensor?[]`,
    { decompose: (bound) => engineGradients(requestOf(bound, createGraph)) },
  );
}

/** Gradients of `outputs` with respect to `inputs`. */
export const autogradGrad: OpOverload<(Tensor | null)[]> = define('', false);
/** The same, to be differentiated again. */
export const autogradGradTwice: OpOverload<(Tensor | null)[]> = define('.create_graph', true);
/** The same, to be differentiated again by whatever the outputs depend on besides the inputs. */
export const autogradGradOuter: OpOverload<(Tensor | null)[]> = define('.outer', 'outer');
