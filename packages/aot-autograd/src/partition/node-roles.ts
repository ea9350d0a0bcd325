/**
 * @file Which nodes of a joint graph must run in the forward pass, which in the backward pass, and which
 * may run in either.
 */
import type { Node } from '@tessera/graph';
import { type JointGraph, closure, passesOf } from './partition.js';

/** See the file header. Every node that anything needs is in exactly one of the three. */
export interface NodeRoles {
  /** Nodes in order of definition. */
  readonly nodes: readonly Node[];
  readonly order: ReadonlyMap<Node, number>;
  /** What the results and effects of the forward pass need, inputs included. */
  readonly forward: ReadonlySet<Node>;
  /** What depends on a tangent. */
  readonly backward: ReadonlySet<Node>;
  /** What only backward needs and that depends on no tangent. */
  readonly either: ReadonlySet<Node>;
  /** Forward values that the graph returns as gradients. */
  readonly gradients: ReadonlySet<Node>;
}

/** Sorts the nodes of a joint graph. */
export function nodeRoles(joint: JointGraph): NodeRoles {
  const { nodes } = joint.module.graph;
  const { late, forward, gradients, wanted } = passesOf(joint);
  const backward = new Set<Node>();
  const either = new Set<Node>();
  for (const node of closure(wanted, () => false)) {
    if (late.has(node)) backward.add(node);
    else if (!forward.has(node)) either.add(node);
  }
  return {
    nodes,
    order: new Map(nodes.map((node, i) => [node, i])),
    forward,
    backward,
    either,
    gradients: new Set(gradients),
  };
}
