/**
 * @file `defaultPartition`: the forward pass as it was traced, saving what the backward pass reads.
 *
 * As PyTorch's default_partition, but views are not saved: backward makes them again from what they
 * view, which costs nothing, unless that would keep a larger value alive; and constants are made again.
 */
import type { Node } from '@tessera/graph';
import { emitOp } from '@tessera/graph';
import { getOp } from '@tessera/tensor/internal';
import {
  type JointGraph,
  type Partition,
  assignNodes,
  bytesOf,
  copyUpdatedInputs,
  cut,
  isViewNode,
  viewedNode,
} from './partition.js';

/** See the file header. */
export function defaultPartition(joint: JointGraph): Partition {
  const pinned = copyUpdatedInputs(joint);
  pinned.push(...copySmallViews(joint, pinned));
  return cut(
    joint,
    assignNodes(joint, pinned),
    (node) => !isViewNode(node) && !isFactory(node) && !isViewList(node),
  );
}

function isFactory(node: Node): boolean {
  return (
    typeof node.target === 'object' &&
    node.target.hasTag('factory') &&
    node.allInputNodes().length === 0
  );
}

/** The list result of a view such as split: its items are the views. */
function isViewList(node: Node): boolean {
  return typeof node.target === 'object' && node.target.isView;
}

/** A view that is smaller than the intermediate it views is saved as a copy of its own; returns the copies. */
function copySmallViews(joint: JointGraph, pinned: readonly Node[]): Node[] {
  const { graph } = joint.module;
  const { forward, backward } = assignNodes(joint, pinned);
  const copies: Node[] = [];
  for (const node of graph.nodes) {
    if (!forward.has(node) || !isViewNode(node)) continue;
    const readers = [...node.users.keys()].filter((user) => backward.has(user));
    if (readers.length === 0) continue;
    const root = viewedNode(node);
    if (root.op === 'placeholder' || root.op === 'get_attr' || bytesOf(root) <= bytesOf(node))
      continue;
    if ([...root.users.keys()].some((user) => backward.has(user))) continue;
    const copy = graph.insertingAfter(node, () =>
      emitOp(graph, getOp('aten::clone'), [node, null], { seqNr: node.meta.seqNr }),
    );
    for (const reader of readers) reader.replaceInputWith(node, copy);
    copies.push(copy);
  }
  return copies;
}
