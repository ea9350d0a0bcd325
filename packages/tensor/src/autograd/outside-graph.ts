/**
 * @file `grad(…, { createGraph: true })` of what a capture cannot record: the engine runs it, outside of any graph.
 *
 * What came before is compiled, and the backward of compiled code records nothing, so these gradients have a
 * history that is an error to differentiate. The first call, in which nothing is compiled yet, must not
 * differ from those that follow.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';
import {
  type GradientRequest,
  autogradGradTwice,
  engineGradients,
  requestOf,
} from './autograd-grad-op.js';
import { type GradMeta, GradNode } from './grad-node.js';
import { gradEdge, setHistory } from './history.js';

/** History of a gradient that was computed over compiled code: differentiating it is an error. */
class CompiledGradient extends GradNode {
  constructor(grads: readonly GradMeta[], sources: readonly (Tensor | null)[]) {
    const edges = sources.map((source) => (source === null ? null : gradEdge(source)));
    super('CompiledGradientBackward', edges, grads);
  }

  override apply(): never {
    throw new TesseraError(
      'double-backward-compiled',
      'torch.compile with aot_autograd does not currently support double backward: a gradient that grad() with createGraph computed outside of a graph was differentiated.',
      {
        hints: [
          'Inside a compiled function, run the forward pass, grad() and what differentiates its result without a graph break between and without hooks on what grad() is asked for, so that all become one graph; explain(fn)(...args) lists the breaks.',
          'Or do not compile the part that is differentiated twice.',
        ],
      },
    );
  }
}

/** Runs the engine for gradients that look differentiable. */
function withoutGraph(request: GradientRequest): (Tensor | null)[] {
  const { outputs, gradOutputs, inputs } = request;
  // Fresh tensors: what comes back may be somebody's own.
  const grads = engineGradients({ ...request, createGraph: false }).map(
    (grad) => grad?.detach() ?? null,
  );
  const known = grads.filter((grad) => grad !== null);
  const node = new CompiledGradient(known.map(metaOf), [...outputs, ...gradOutputs, ...inputs]);
  known.forEach((grad, i) => setHistory(grad, node, i));
  return grads;
}

function metaOf({ sizes, dtype, device }: Tensor): GradMeta {
  return { sizes, dtype, device };
}

/** A capture ends its graph at this operator. */
const outsideGraph = defineOp(
  'tessera::grad_outside_graph(Tensor[] outputs, Tensor?[] grad_outputs, Tensor[] inputs, bool retain_graph=False) -> Tensor?[]',
  {
    tags: ['data-dependent'],
    decompose: (bound) => withoutGraph(requestOf(bound, true)),
  },
);

/** The operator that ends the graph and asks the engine for differentiable gradients. */
export function gradOutsideGraph(request: GradientRequest): (Tensor | null)[] {
  const { outputs, gradOutputs, inputs, retainGraph } = request;
  return callOp(outsideGraph, [outputs, gradOutputs, inputs, retainGraph]) as (Tensor | null)[];
}

/** What runs instead of a recorded `grad()` where its graph has to end before it. */
export function outsideGraphOp(op: OpOverload): OpOverload {
  return op === autogradGradTwice ? outsideGraph : op;
}
