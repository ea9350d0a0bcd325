/**
 * @file Whether a result still depends on something outside of the derivative that is being taken.
 *
 * A derivative of a function is taken with respect to inputs made for it: leaves (leaf-op.ts), or aliases of what
 * takes gradients outside. At the other ends of the history are a module's parameters, inputs of enclosing
 * derivatives, which were made before, and inputs of derivatives inside, which were made since and are nobody's now.
 */
import type { Tensor } from '../tensor.js';
import { AccumulateGrad } from './accumulate-grad.js';
import type { GradNode } from './grad-node.js';
import { gradEdge, nodesBehind } from './history.js';

/** Whether gradients of these tensors arrive outside of the derivative with respect to these inputs. */
export function hasOuterHistory(tensors: readonly Tensor[], inputs: readonly Tensor[]): boolean {
  const own = nodesOf(inputs);
  const since = Math.min(...own.map(madeAt));
  return [...nodesBehind(tensors)].some(
    (node) => node.nextEdges.every((edge) => edge === null) && !isInside(node, own, since),
  );
}

function nodesOf(tensors: readonly Tensor[]): GradNode[] {
  return tensors.flatMap((tensor) => gradEdge(tensor)?.node ?? []);
}

/** A leaf that a captured program got from an earlier graph was made before all others in its graph. */
function madeAt(node: GradNode): number {
  return node instanceof AccumulateGrad ? (node.madeAt ?? 0) : node.sequenceNr;
}

/** Whether an end of a history is a leaf of the derivative with these inputs, or of one that began since. */
function isInside(node: GradNode, own: readonly GradNode[], since: number): boolean {
  if (!(node instanceof AccumulateGrad)) return false;
  return own.includes(node) || (node.madeAt !== null && node.madeAt >= since);
}
