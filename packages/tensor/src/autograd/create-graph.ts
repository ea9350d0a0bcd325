/**
 * @file `grad(…, { createGraph: true })` inside a compiled function.
 *
 * By default, as in PyTorch, it is a graph break: what came before is compiled, the engine runs as
 * ordinary JavaScript, and differentiating the gradient again is an error, since the backward of
 * compiled code records nothing (the first call, which is not compiled yet, must not differ). With
 * `config.autograd.captureCreateGraph` it is captured like any other `grad()`, and its gradients have a
 * history: both derivatives become part of the graph.
 */
import { TesseraError, defineConfig, option } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { activeMode } from '../dispatch/modes.js';
import { defineOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';
import { gradMode } from './grad-mode.js';
import { type GradMeta, GradNode } from './grad-node.js';
import { gradEdge, setHistory } from './history.js';

const settings = defineConfig('autograd', {
  captureCreateGraph: option(
    false,
    'capture grad(createGraph: true) inside compiled functions instead of breaking the graph there',
  ),
});

/** Whether a capture records `grad()` with createGraph. */
export function capturesCreateGraph(): boolean {
  return settings.captureCreateGraph;
}

/** What the next call of the op runs. */
let pending: (() => unknown) | null = null;
const opaqueBackward = defineOp('tessera::grad_with_graph() -> Tensor?[]', {
  tags: ['data-dependent'],
  decompose: () => {
    const call = pending!;
    pending = null;
    return call();
  },
});

/** History of a gradient that was computed in a compiled function: differentiating it is an error. */
class CompiledGradient extends GradNode {
  constructor(grads: readonly GradMeta[], sources: readonly (Tensor | null)[]) {
    const edges = sources.map((source) => (source === null ? null : gradEdge(source)));
    super('CompiledGradientBackward', edges, grads);
  }

  override apply(): never {
    throw new TesseraError(
      'double-backward-compiled',
      'torch.compile with aot_autograd does not currently support double backward: a gradient that a compiled function computed with createGraph was differentiated.',
      {
        hints: [
          "Set config 'autograd.captureCreateGraph' to make both derivatives part of the graph, or do not compile the part that is differentiated twice.",
        ],
      },
    );
  }
}

/**
 * Runs the engine (`run(createGraph)`) for gradients that depend on `sources`. Inside a compiled function
 * their history is an error unless the configuration says otherwise.
 */
export function withCreateGraph(
  run: (createGraph: boolean) => (Tensor | null)[],
  sources: readonly (Tensor | null)[],
): (Tensor | null)[] {
  const mode = activeMode(sources);
  if (mode === null || settings.captureCreateGraph) return run(true);
  mode.onWatch?.(sources.filter((source) => source !== null));
  pending = () => {
    // Fresh tensors: what comes back may be somebody's own.
    const grads = run(false).map((grad) => grad?.detach() ?? null);
    const known = grads.filter((grad) => grad !== null);
    const node = new CompiledGradient(known.map(metaOf), sources);
    if (gradMode.enabled) known.forEach((grad, i) => setHistory(grad, node, i));
    return grads;
  };
  return callOp(opaqueBackward, []) as (Tensor | null)[];
}

function metaOf({ sizes, dtype, device }: Tensor): GradMeta {
  return { sizes, dtype, device };
}
