/**
 * @file What eager autograd would keep for the results of a program, and what a `backward()` has dropped of it.
 */
import { type GradNode, type Storage, type Tensor } from '@tessera/tensor';
import { nodesBehind } from '@tessera/tensor/internal';

/** Those that keep tensors, and so run once. */
function singleUseNodes(tensor: Tensor): Set<GradNode> {
  const seen = nodesBehind([tensor]);
  for (const node of seen) if (!node.keepsTensors) seen.delete(node);
  return seen;
}

/** Whether gradients of a tensor arrive at one of these nodes. */
export function leadsToSome(tensor: Tensor, nodes: ReadonlySet<GradNode>): boolean {
  for (const node of nodesBehind([tensor])) if (nodes.has(node)) return true;
  return false;
}

/** Whether differentiating the tensor would run into a node that a `backward()` of the program has used up. */
export function isUsedUp(tensor: Tensor): boolean {
  for (const node of singleUseNodes(tensor)) if (node.released) return true;
  return false;
}

/** What eager autograd keeps to differentiate a tensor of several. */
export interface EagerHistory {
  /** The tensors that it has single-use nodes in common with, by number. */
  readonly sharing: ReadonlySet<number>;
  /** Memory that must not be modified before. */
  readonly storages: ReadonlySet<Storage>;
  /** The single-use nodes that run for the gradients of some inputs, by number. */
  readonly nodesTowards: (inputs: ReadonlySet<number>) => ReadonlySet<GradNode>;
}

/** Nodes from which one of others can be reached. */
function leadingTo(nodes: ReadonlySet<GradNode>, ends: ReadonlySet<GradNode>): Set<GradNode> {
  const leading = new Set<GradNode>();
  const leads = new Map<GradNode, boolean>();
  for (const start of nodes) {
    const stack = [start];
    while (stack.length > 0) {
      const node = stack.at(-1)!;
      const next = node.nextEdges.flatMap((edge) => (edge === null ? [] : [edge.node]));
      const open = leads.has(node) ? [] : next.filter((other) => !leads.has(other));
      if (open.length > 0 && !ends.has(node)) {
        stack.push(...open);
        continue;
      }
      leads.set(node, ends.has(node) || next.some((other) => leads.get(other) === true));
      stack.pop();
    }
    if (leads.get(start) === true) leading.add(start);
  }
  return leading;
}

/** The history of each tensor; `inputs`: the nodes at which the gradients of inputs arrive. */
export function eagerHistories(
  tensors: readonly Tensor[],
  inputs: readonly GradNode[],
): EagerHistory[] {
  const owners = new Map<GradNode, number[]>();
  const nodes = tensors.map(singleUseNodes);
  nodes.forEach((set, i) => {
    for (const node of set) {
      const list = owners.get(node);
      if (list === undefined) owners.set(node, [i]);
      else list.push(i);
    }
  });
  return nodes.map((set) => ({
    sharing: new Set([...set].flatMap((node) => owners.get(node)!)),
    storages: new Set([...set].flatMap((node) => node.savedStorages())),
    nodesTowards: (wanted) => leadingTo(set, new Set(inputs.filter((_, i) => wanted.has(i)))),
  }));
}
