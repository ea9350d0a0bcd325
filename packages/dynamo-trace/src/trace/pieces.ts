/**
 * @file Pieces: a segment's graph cut behind values whose gradients the engine is asked for.
 *
 * Compiled code has one backward node for all its results, in which gradients that flow from one result to
 * another are out of sight: of hooks, of `retainGrad()`, of `grad()` by that result. So what uses such a value
 * is compiled alone and takes the value, with its history, as an input.
 */
import { Graph, GraphModule, type Node, getItem, tensorVals } from '@tessera/graph';
import { type Storage, type Tensor, gradMode } from '@tessera/tensor';
import type { CompiledSegment, SegmentInput } from '../backend.js';
import { setGradEnabledNode } from '../capture/set-grad-enabled.js';

/** Part of a graph between two cuts. */
interface Piece {
  readonly module: GraphModule;
  /** Nodes of the whole graph whose values it takes and gives. */
  readonly inputs: readonly Node[];
  readonly outputs: readonly Node[];
  /** Grad mode where it begins. */
  readonly gradEnabled: boolean;
}

/** Marks a node behind which a graph is cut if what follows reads `memory`. */
export function endPiece({ meta }: Node, memory: Storage): void {
  meta.custom = { ...meta.custom, piece: [...endedMemory(meta), memory] };
}

function endedMemory({ custom }: Node['meta']): readonly Storage[] {
  return (custom?.piece as readonly Storage[] | undefined) ?? [];
}

/**
 * The graph in pieces, each compiled when it runs first; null if it is one piece.
 *
 * @param startGradMode grad mode where the graph begins
 */
export function inPieces(
  module: GraphModule,
  startGradMode: boolean,
  compile: (module: GraphModule, inputs: readonly SegmentInput[]) => CompiledSegment,
): CompiledSegment | null {
  const { placeholders, outputNode } = module.graph;
  const groups = cutNodes(module.graph);
  if (groups.length < 2) return null;
  // What differentiates through several pieces is left to the engine.
  if (groups.slice(1).flat().some(isBackward))
    return (inputs) => module.forward(...inputs) as Tensor[];
  const results = outputNode!.args[0] as readonly Node[];
  let gradEnabled = startGradMode;
  const pieces = groups.map((nodes, i): Piece => {
    const piece = makePiece(nodes, [...groups.slice(i + 1).flat(), outputNode!], gradEnabled);
    for (const { target, args } of nodes)
      if (target === setGradEnabledNode) gradEnabled = args[0] as boolean;
    return piece;
  });
  const compiled: CompiledSegment[] = [];
  return (inputs) => {
    const values = new Map<Node, SegmentInput>(placeholders.map((node, i) => [node, inputs[i]!]));
    pieces.forEach((piece, i) => {
      const given = piece.inputs.map((node) => values.get(node)!);
      gradMode.enabled = piece.gradEnabled;
      compiled[i] ??= compile(piece.module, given);
      const made = compiled[i]!(given);
      piece.outputs.forEach((node, k) => values.set(node, made[k]!));
    });
    return results.map((node) => values.get(node) as Tensor);
  };
}

/** Nodes in order, in groups; one that makes a list stays with the items of the list. */
function cutNodes(graph: Graph): Node[][] {
  const nodes = graph.nodes.filter(({ op }) => op !== 'placeholder' && op !== 'output');
  const groups: Node[][] = [[]];
  const ended: Storage[] = [];
  nodes.forEach((node, i) => {
    groups.at(-1)!.push(node);
    ended.push(...endedMemory(node.meta));
    if (ended.length === 0 || nodes[i + 1]?.target === getItem) return;
    if (nodes.slice(i + 1).some((later) => reads(later, ended))) groups.push([]);
    ended.length = 0;
  });
  return groups;
}

function reads(node: Node, memory: readonly Storage[]): boolean {
  return node
    .allInputNodes()
    .some((input) =>
      tensorVals(input).some(({ storageOrNull }) => memory.includes(storageOrNull!)),
    );
}

function isBackward({ target }: Node): boolean {
  return typeof target === 'object' && target.qualifiedName.startsWith('tessera::autograd_grad');
}

function makePiece(nodes: readonly Node[], later: readonly Node[], gradEnabled: boolean): Piece {
  const own = new Set(nodes);
  const inputs = [
    ...new Set(nodes.flatMap((node) => node.allInputNodes()).filter((node) => !own.has(node))),
  ];
  const read = new Set(later.flatMap((node) => node.allInputNodes()));
  const outputs = nodes.filter((node) => read.has(node));
  const graph = new Graph();
  const copies = new Map<Node, Node>();
  for (const input of inputs) {
    const copy = graph.placeholder(input.name);
    const { val, source, scalar } = input.meta;
    copy.meta = input.op === 'placeholder' ? { val, source, scalar } : { val };
    copies.set(input, copy);
  }
  for (const node of nodes)
    copies.set(
      node,
      graph.nodeCopy(node, (input) => copies.get(input)!),
    );
  graph.output(outputs.map((node) => copies.get(node)!));
  return { module: new GraphModule([], graph), inputs, outputs, gradEnabled };
}
