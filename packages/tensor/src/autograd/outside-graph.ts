/**
 * @file Gradients with `createGraph` of what a capture cannot record: the engine computes them, outside of any graph.
 *
 * What came before is compiled, and the backward of compiled code records nothing, so these gradients have a
 * history that is an error to differentiate. The first call, in which nothing is compiled yet, must not
 * differ from those that follow.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import type { BackwardCall } from '../dispatch/modes.js';
import { type OpOverload, defineOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';
import { AccumulateGrad } from './accumulate-grad.js';
import { autogradMeta } from './autograd-meta.js';
import {
  type CreateGraph,
  type GradientRequest,
  autogradGradOuter,
  autogradGradTwice,
  decided,
  engineGradients,
  requestOf,
} from './autograd-grad-op.js';
import { runBackward } from './engine.js';
import { type Edge, type GradMeta, GradNode, metaOf } from './grad-node.js';
import { gradEdge, nodesBehind, setHistory } from './history.js';

/** History of a gradient that was computed over compiled code: differentiating it is an error. */
export class EndOfGraph extends GradNode {
  /** @param what the gradient, in words; `hints`, what to do */
  constructor(
    name: string,
    edges: readonly (Edge | null)[],
    grads: readonly GradMeta[],
    private readonly what: string,
    private readonly hints: readonly string[],
  ) {
    super(name, edges, grads);
  }

  override apply(): never {
    throw new TesseraError(
      'double-backward-compiled',
      `torch.compile with aot_autograd does not currently support double backward: ${this.what} was differentiated.`,
      { hints: this.hints },
    );
  }
}

/** Runs the engine for gradients that look differentiable, if they are to be. */
function withoutGraph(request: GradientRequest): (Tensor | null)[] {
  const settled = decided(request);
  if (!settled.createGraph) return engineGradients(settled);
  const { outputs, gradOutputs, inputs } = settled;
  // Fresh tensors: what comes back may be somebody's own.
  const grads = engineGradients({ ...settled, createGraph: false }).map(
    (grad) => grad?.detach() ?? null,
  );
  const known = grads.filter((grad) => grad !== null);
  endHistory(known, [...outputs, ...gradOutputs, ...inputs]);
  return grads;
}

/** Makes gradients depend on tensors in a way that cannot be differentiated. */
function endHistory(grads: readonly Tensor[], sources: readonly (Tensor | null)[]): void {
  const edges = sources.map((source) => (source === null ? null : gradEdge(source)));
  const node = new EndOfGraph(
    'CompiledGradientBackward',
    edges,
    grads.map(metaOf),
    'a gradient that was computed with createGraph outside of a graph',
    [
      'Inside a compiled function, run the forward pass, grad() or backward(), and what differentiates the result, without a graph break between and without hooks, so that all become one graph; explain(fn)(...args) lists the breaks.',
      'Or do not compile the part that is differentiated twice.',
    ],
  );
  grads.forEach((grad, i) => setHistory(grad, node, i));
}

function define(overload: string, createGraph: CreateGraph): OpOverload<(Tensor | null)[]> {
  return defineOp(
    `tessera::grad_outside_graph${overload}(Tensor[] outputs, Tensor?[] grad_outputs, Tensor[] inputs, bool retain_graph=False) -> Tensor?[]`,
    {
      tags: ['data-dependent'],
      decompose: (bound) => withoutGraph(requestOf(bound, createGraph)),
    },
  );
}

/** A capture ends its graph at this operator. */
const outsideGraph = define('', true);
const outsideGraphOuter = define('.outer', 'outer');

/** The operator that ends the graph and asks the engine for differentiable gradients. */
export function gradOutsideGraph(request: GradientRequest): (Tensor | null)[] {
  const { outputs, gradOutputs, inputs, retainGraph } = request;
  return callOp(outsideGraph, [outputs, gradOutputs, inputs, retainGraph]);
}

/** What runs instead of a recorded `grad()` where its graph has to end before it. */
export function outsideGraphOp(op: OpOverload): OpOverload {
  if (op === autogradGradOuter) return outsideGraphOuter;
  return op === autogradGradTwice ? outsideGraph : op;
}

/** A `backward()` that the engine runs, with `createGraph` for gradients that look differentiable. */
export function backwardOutsideGraph(call: BackwardCall): void {
  const { tensors, gradTensors, retainGraph, createGraph, inputs } = call;
  const leaves = inputs ?? leavesBehind(tensors);
  runBackward(tensors, gradTensors, {
    retainGraph,
    createGraph,
    inputs,
    accumulate: true,
    allowUnused: true,
  });
  if (!createGraph) return;
  const given = leaves.filter((leaf) => leaf.grad?.requiresGradFlag === true);
  // A gradient may be somebody's own tensor: its history stays.
  for (const leaf of given) autogradMeta(leaf).grad = leaf.grad!.detach();
  endHistory(
    given.map((leaf) => leaf.grad!),
    [...tensors, ...gradTensors, ...leaves],
  );
}

/** The leaves at which gradients of tensors arrive. */
function leavesBehind(tensors: readonly Tensor[]): Tensor[] {
  return [...nodesBehind(tensors)].flatMap((node) =>
    node instanceof AccumulateGrad ? [node.leaf] : [],
  );
}
