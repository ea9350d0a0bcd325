/**
 * @file Leaves that a program makes inside, with `requiresGrad_()` of a value of the same graph.
 *
 * Gradients reach them inside the graph, by `grad()` or `backward()`. Compiled code brings none from outside: if a
 * result whose history leads to such a leaf, or the leaf itself, outlives the segment, the graph ends before the
 * leaf from the next call on, so that it is an input of what follows.
 */
import type { GradNode, Tensor } from '@tessera/tensor';
import { AccumulateGrad, isHistoryRefused, nodesBehind } from '@tessera/tensor/internal';
import type { OpStep } from './step.js';

/** See the file header. */
export interface OwnLeaf {
  readonly slot: number;
  readonly fake: Tensor;
  /** The step that makes it, once there is one. */
  step: OpStep | null;
}

/** From the next call on, the graph ends before a leaf is made. */
export function endAtLeaf({ step }: OwnLeaf): void {
  if (step !== null) step.isWatched = true;
}

/** Whether a `backward()` has freed what a node needs: another one is an error. Those that keep nothing run again. */
function isSpent({ released, keepsTensors, runsProgram }: GradNode): boolean {
  return released && keepsTensors && !runsProgram;
}

/** Whether gradients of a value may arrive at a leaf. */
export function leadsTo(value: Tensor, leaf: Tensor): boolean {
  if (isHistoryRefused(value)) return false;
  return [...nodesBehind([value], (node) => !isSpent(node))].some(
    (node) => node instanceof AccumulateGrad && node.leaf === leaf,
  );
}
