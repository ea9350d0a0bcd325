/**
 * @file `splitModule`: cuts a GraphModule into submodules by a partition of its nodes.
 *
 * Every computing node goes to the partition that `partitionOf` names for it. The result calls the
 * submodules `submod_<partition>` in an order in which each comes after those it reads; writes to memory, random
 * draws and effects keep their order. Modelled on torch.fx.passes.split_module.
 */
import { getItem } from '../ir/get-item.js';
import { graphError } from '../ir/graph-error.js';
import { GraphModule } from '../ir/graph-module.js';
import { Graph } from '../ir/graph.js';
import { memoryOrder } from './memory-order.js';
import { type Argument, type Node, mapArgument } from '../ir/node.js';

type PartitionName = number | string;

interface Partition {
  readonly name: PartitionName;
  readonly nodes: Node[];
  /** Values from outside, in order of first use. */
  readonly inputs: Set<Node>;
  /** Values used outside, in order of definition. */
  readonly outputs: Set<Node>;
  /** Partitions that come before it: it reads their values, or memory is used by both. */
  readonly after: Set<Partition>;
}

/** Splits a module. @throws graph-lint when the partitions depend on each other in a circle */
export function splitModule(
  module: GraphModule,
  partitionOf: (node: Node) => PartitionName,
): GraphModule {
  const { owner, partitions } = assign(module.graph, partitionOf);
  connect(module.graph, owner);
  const result = new GraphModule([], new Graph());
  const values = new Map<Node, Argument>();
  for (const placeholder of module.graph.placeholders) {
    const copy = result.graph.placeholder(placeholder.name);
    copy.meta = { ...placeholder.meta };
    values.set(placeholder, copy);
  }
  for (const partition of inOrder(partitions)) emitCall(module, result, partition, values);
  emitOutput(module, result, values);
  return result;
}

function assign(
  graph: Graph,
  partitionOf: (node: Node) => PartitionName,
): { owner: Map<Node, Partition>; partitions: Partition[] } {
  const owner = new Map<Node, Partition>();
  const byName = new Map<PartitionName, Partition>();
  for (const node of graph.nodes) {
    if (node.op !== 'call_function' && node.op !== 'call_module') continue;
    const name = partitionOf(node);
    let partition = byName.get(name);
    if (partition === undefined) {
      partition = { name, nodes: [], inputs: new Set(), outputs: new Set(), after: new Set() };
      byName.set(name, partition);
    }
    partition.nodes.push(node);
    owner.set(node, partition);
  }
  return { owner, partitions: [...byName.values()] };
}

function connect(graph: Graph, owner: ReadonlyMap<Node, Partition>): void {
  const order = memoryOrder(graph);
  for (const node of graph.nodes) {
    const mine = owner.get(node);
    for (const before of order.get(node)!) {
      const theirs = owner.get(before);
      if (theirs !== undefined && theirs !== mine) mine?.after.add(theirs);
    }
    for (const input of node.allInputNodes()) {
      const theirs = owner.get(input);
      if (theirs !== undefined && theirs !== mine) {
        theirs.outputs.add(input);
        mine?.after.add(theirs);
      }
      // Attributes are copied into each partition; other values from outside become inputs.
      if (mine !== undefined && theirs !== mine && input.op !== 'get_attr') mine.inputs.add(input);
    }
  }
}

/** Partitions after those that come before them. */
function inOrder(partitions: readonly Partition[]): Partition[] {
  const waiting = new Map(partitions.map((partition) => [partition, partition.after.size]));
  const followers = new Map<Partition, Partition[]>();
  for (const partition of partitions) {
    for (const before of partition.after)
      followers.set(before, [...(followers.get(before) ?? []), partition]);
  }
  const ready = partitions.filter((partition) => partition.after.size === 0);
  const order: Partition[] = [];
  while (ready.length > 0) {
    const partition = ready.shift()!;
    order.push(partition);
    for (const follower of followers.get(partition) ?? []) {
      const left = waiting.get(follower)! - 1;
      waiting.set(follower, left);
      if (left === 0) ready.push(follower);
    }
  }
  if (order.length < partitions.length) {
    const stuck = partitions
      .filter((partition) => !order.includes(partition))
      .map((partition) => String(partition.name));
    throw graphError(
      `splitModule: partitions ${stuck.join(', ')} depend on each other in a circle.`,
      'Give nodes on a path from a partition back to itself the same partition.',
    );
  }
  return order;
}

function emitCall(
  module: GraphModule,
  result: GraphModule,
  partition: Partition,
  values: Map<Node, Argument>,
): void {
  const path = `submod_${partition.name}`;
  result.setAttribute(path, buildSubmodule(module, partition));
  const call = result.graph.callModule(
    path,
    [...partition.inputs].map((input) => values.get(input)),
  );
  const outputs = [...partition.outputs];
  if (outputs.length === 1) {
    call.meta = { ...outputs[0].meta };
    values.set(outputs[0], call);
    return;
  }
  outputs.forEach((output, index) => {
    const element = result.graph.callFunction(getItem, [call, index], 'getitem');
    element.meta = { ...output.meta };
    values.set(output, element);
  });
}

function buildSubmodule(module: GraphModule, partition: Partition): GraphModule {
  const part = new GraphModule([], new Graph());
  const copies = new Map<Node, Node>();
  for (const input of partition.inputs) {
    const placeholder = part.graph.placeholder(input.name);
    placeholder.meta = { ...input.meta };
    copies.set(input, placeholder);
  }
  const copyOf = (node: Node): Node => {
    let copy = copies.get(node);
    if (copy === undefined) copies.set(node, (copy = copyAttribute(module, part, node)));
    return copy;
  };
  for (const node of partition.nodes) {
    const copy = part.graph.nodeCopy(node, copyOf);
    if (node.op === 'call_module') part.setAttribute(node.path, module.getAttribute(node.path));
    copies.set(node, copy);
  }
  const outputs = [...partition.outputs].map((node) => copies.get(node)!);
  part.graph.output(outputs.length === 1 ? outputs[0] : outputs);
  return part;
}

function copyAttribute(from: GraphModule, to: GraphModule, node: Node): Node {
  const path = node.path;
  to.setAttribute(path, from.getAttribute(path));
  return to.graph.nodeCopy(node, (input) => input);
}

function emitOutput(module: GraphModule, result: GraphModule, values: Map<Node, Argument>): void {
  const output = module.graph.outputNode;
  if (output === null)
    throw graphError('The graph has no output node.', 'End it with graph.output(value).');
  const valueOf = (node: Node): Argument => {
    if (!values.has(node)) values.set(node, copyAttribute(module, result, node));
    return values.get(node);
  };
  result.graph.output(mapArgument(output.args[0], valueOf));
}
