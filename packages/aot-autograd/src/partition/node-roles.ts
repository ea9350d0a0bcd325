/**
 * @file Which nodes of a joint graph must run in the forward pass, which in the backward pass, and which
 * may run in either.
 */
import { Node, getItem, isImpure } from '@tessera/graph';
import { type JointGraph, closure, outputArguments } from './partition.js';

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
  const outputs = outputArguments(joint);
  const late = new Set<Node>(joint.tangents);
  for (const node of nodes)
    if (node.allInputNodes().some((input) => late.has(input))) late.add(node);
  const effects = nodes.filter(
    (node) => node.op !== 'placeholder' && node.op !== 'output' && isImpure(node),
  );
  const results = outputs.slice(0, joint.forwardOutputs).filter((arg) => arg instanceof Node);
  const forward = closure([...results, ...effects.filter((node) => !late.has(node))], () => false);
  for (const input of joint.inputs) forward.add(input);
  // Results of an op with several are made with it.
  for (const node of nodes)
    if (node.target === getItem && forward.has(node.input())) forward.add(node);
  const gradients = new Set(
    outputs.slice(joint.forwardOutputs).filter((arg) => arg instanceof Node),
  );
  const wanted = closure([...gradients, ...effects.filter((node) => late.has(node))], () => false);
  const backward = new Set<Node>();
  const either = new Set<Node>();
  for (const node of wanted) {
    if (late.has(node)) backward.add(node);
    else if (!forward.has(node)) either.add(node);
  }
  return {
    nodes,
    order: new Map(nodes.map((node, i) => [node, i])),
    forward,
    backward,
    either,
    gradients,
  };
}
