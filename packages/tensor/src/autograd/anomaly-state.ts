/**
 * @file Whether anomaly mode is on, and what it does for the engine.
 *
 * Kept apart from the mode itself so that a program that never turns it on has nothing of it.
 */
import type { Tensor } from '../tensor.js';
import type { GradNode } from './grad-node.js';

/** Anomaly mode, as recording and the engine see it. */
export interface AnomalyMode {
  /** Notes where a new node was made. */
  noteForwardCall(node: GradNode): void;
  /** Runs a node's backward and judges what it gives. */
  apply(node: GradNode, run: () => readonly (Tensor | null)[]): readonly (Tensor | null)[];
}

/** Read for every node; null where anomaly mode is off. */
export const anomaly: { active: AnomalyMode | null } = { active: null };
