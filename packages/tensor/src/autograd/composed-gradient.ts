/**
 * @file Gradients of an operator through a composition that computes the same.
 *
 * For operators whose derivative is longer than they are (the backward of a normalization): the composition
 * runs with recording on and the engine differentiates it.
 */
import { callOp } from '../dispatch/dispatcher.js';
import { getOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';
import { runBackward } from './engine.js';
import { enableGrad, gradMode } from './grad-mode.js';
import { requiresGrad } from './history.js';

/**
 * Gradients of `inputs` given those of the outputs of `compose`, null where one does not depend on an input.
 * They can be differentiated again if recording is on.
 */
export function composedGradients<K extends string>(
  inputs: Readonly<Record<K, Tensor | null>>,
  grads: readonly (Tensor | null)[],
  compose: (inputs: Record<K, Tensor | null>) => readonly (Tensor | null)[],
): Partial<Record<K, Tensor | null>> {
  const createGraph = gradMode.enabled;
  return enableGrad(() => {
    const names: K[] = [];
    for (const name in inputs) if (inputs[name] !== null) names.push(name);
    const leaves = names.map((name) => ownEdge(inputs[name]!));
    const given: Record<K, Tensor | null> = { ...inputs };
    names.forEach((name, i) => (given[name] = leaves[i]!));
    const pairs = compose(given).flatMap((out, i) =>
      out !== null && grads[i] != null ? [[out, grads[i]] as const] : [],
    );
    if (pairs.length === 0) return {};
    const results = runBackward(
      pairs.map(([out]) => out),
      pairs.map(([, grad]) => grad),
      {
        retainGraph: createGraph,
        createGraph,
        inputs: leaves,
        accumulate: false,
        allowUnused: true,
      },
    );
    const found: Partial<Record<K, Tensor | null>> = {};
    names.forEach((name, i) => (found[name] = results[i]!));
    return found;
  });
}

/** The same values with an edge of their own, so that two uses of one tensor stay apart. */
function ownEdge(tensor: Tensor): Tensor {
  if (requiresGrad(tensor)) return callOp(getOp('aten::alias'), [tensor]);
  const leaf = callOp(getOp('aten::detach'), [tensor]);
  leaf.requiresGradFlag = true;
  return leaf;
}
