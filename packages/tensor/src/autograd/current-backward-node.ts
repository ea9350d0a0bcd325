/**
 * @file The backward node that the engine is running, for whoever traces a backward pass.
 */
import { profiling } from '@tessera/shared';
import type { GradNode } from './grad-node.js';
import { profileNode } from './profile-node.js';

let current: GradNode | null = null;

/** The backward node being run, or null outside a backward pass. */
export function currentBackwardNode(): GradNode | null {
  return current;
}

/** Runs a node with itself as the current one. */
export function applyAsCurrent(
  node: GradNode,
  grads: Parameters<GradNode['apply']>[0],
  isWanted: Parameters<GradNode['apply']>[1],
): ReturnType<GradNode['apply']> {
  const saved = current;
  current = node;
  try {
    return profiling.active === null
      ? node.apply(grads, isWanted)
      : profileNode(node, grads, () => node.apply(grads, isWanted));
  } finally {
    current = saved;
  }
}
