/**
 * @file Partitions: a joint graph cut into a forward and a backward graph.
 *
 * The forward graph computes the results and whatever the backward graph reads; the backward graph
 * takes those saved values and the tangents and computes gradients. A partitioner decides what is saved
 * and what is computed again (`needsSaving`); the cutting is here.
 */
import { getItem } from '@tessera/graph';
import {
  type Argument,
  Graph,
  GraphModule,
  Node,
  emitOp,
  isImpure,
  tensorVals,
} from '@tessera/graph';
import { itemSize } from '@tessera/tensor';
import { getOp } from '@tessera/tensor/internal';
import { replayRandom } from './replay-random.js';

/** A functional joint graph. */
export interface JointGraph {
  readonly module: GraphModule;
  /** Placeholders of the forward pass, in order. */
  readonly inputs: readonly Node[];
  readonly tangents: readonly Node[];
  /** Inputs that the program modifies, whether the graph copies back or the caller does. */
  readonly updated: readonly Node[];
  /** How many of the graph's outputs belong to the forward pass; the others are gradients. */
  readonly forwardOutputs: number;
}

/** Where the forward pass finds a value that the backward graph reads. */
export type SavedSource =
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'output'; readonly index: number }
  /** The generator's state when the forward graph starts: 0 its seed, 1 its offset. */
  | { readonly kind: 'generator'; readonly index: 0 | 1 };

/** Where a gradient comes from; `input` counts the backward graph's inputs. */
export type GradientSource =
  | { readonly kind: 'output'; readonly index: number }
  | { readonly kind: 'input'; readonly index: number };

/** A joint graph in two halves. */
export interface Partition {
  /** Outputs: results, then values saved for backward that are no results. */
  readonly forward: GraphModule;
  /** Inputs: saved values, tangents. Outputs: gradients, each once. */
  readonly backward: GraphModule;
  readonly saved: readonly SavedSource[];
  /** Per gradient of the joint graph; null where there is none. */
  readonly gradients: readonly (GradientSource | null)[];
}

/** Cuts a joint graph. May edit it. */
export type Partitioner = (joint: JointGraph) => Partition;

/** Which nodes run where. */
export interface Assignment {
  /** Nodes of the forward pass. */
  readonly forward: ReadonlySet<Node>;
  /** Nodes of the backward pass that the forward pass does not have. */
  readonly backward: ReadonlySet<Node>;
}

/** Splits the nodes by what the forward results, and the `pinned` nodes, need. */
export function assignNodes(joint: JointGraph, pinned: readonly Node[] = []): Assignment {
  const { forward, wanted } = passesOf(joint, pinned);
  return { forward, backward: closure(wanted, (node) => forward.has(node)) };
}

/** What each pass of a joint graph is for. */
export interface Passes {
  /** What depends on a tangent. */
  readonly late: ReadonlySet<Node>;
  /** What the results and effects of the forward pass need, inputs and `pinned` nodes included. */
  readonly forward: ReadonlySet<Node>;
  /** What the graph returns as gradients. */
  readonly gradients: readonly Node[];
  /** Those, and the effects of the backward pass. */
  readonly wanted: readonly Node[];
}

/** Sorts what the outputs of a joint graph need by the pass that they belong to. */
export function passesOf(joint: JointGraph, pinned: readonly Node[] = []): Passes {
  const nodes = joint.module.graph.nodes;
  const outputs = joint.module.graph.results;
  const late = new Set<Node>(joint.tangents);
  for (const node of nodes)
    if (node.allInputNodes().some((input) => late.has(input))) late.add(node);
  const effects = nodes.filter((node) => isEffect(node));
  const results = nodesOf(outputs.slice(0, joint.forwardOutputs));
  const early = effects.filter((node) => !late.has(node));
  const forward = closure([...results, ...early, ...pinned], () => false);
  for (const input of joint.inputs) forward.add(input);
  // Results of an op with several are made with it: they are what backward can save, not the list.
  for (const node of nodes)
    if (node.target === getItem && forward.has(node.input())) forward.add(node);
  const gradients = nodesOf(outputs.slice(joint.forwardOutputs));
  const wanted = [...gradients, ...effects.filter((node) => late.has(node))];
  return { late, forward, gradients, wanted };
}

function isEffect(node: Node): boolean {
  return node.op !== 'placeholder' && node.op !== 'output' && isImpure(node);
}

function nodesOf(args: readonly Argument[]): Node[] {
  return args.filter((arg): arg is Node => arg instanceof Node);
}

/** Nodes that the roots depend on, up to where `stop` says so. */
export function closure(roots: readonly Node[], stop: (node: Node) => boolean): Set<Node> {
  const seen = new Set<Node>();
  const stack = [...roots];
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (seen.has(node) || stop(node)) continue;
    seen.add(node);
    stack.push(...node.allInputNodes());
  }
  return seen;
}

/**
 * Inputs that the program updates are saved as they were before: a copy, which backward reads instead.
 * Returns the copies, which belong to the forward pass.
 */
export function copyUpdatedInputs(joint: JointGraph): Node[] {
  const { graph } = joint.module;
  const { backward } = assignNodes(joint);
  const first = graph.nodes.find((node) => node.op !== 'placeholder')!;
  const recomputed = viewsReadBy(backward);
  const copies: Node[] = [];
  for (const input of joint.updated) {
    const readers = [...input.users.keys()].filter(
      (user) => backward.has(user) || recomputed.has(user),
    );
    if (readers.length === 0) continue;
    const copy = graph.insertingBefore(first, () =>
      emitOp(graph, getOp('aten::clone'), [input, null]),
    );
    for (const reader of readers) reader.replaceInputWith(input, copy);
    copies.push(copy);
  }
  return copies;
}

/** Views of the forward pass that backward nodes read, directly or through views. */
function viewsReadBy(backward: ReadonlySet<Node>): Set<Node> {
  const views = new Set<Node>();
  const stack = [...backward].flatMap((node) => node.allInputNodes());
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (backward.has(node) || views.has(node) || !isViewNode(node)) continue;
    views.add(node);
    stack.push(...node.allInputNodes());
  }
  return views;
}

/** Whether a node is memory of another one seen differently: free to compute again. */
export function isViewNode(node: Node): boolean {
  if (node.op !== 'call_function') return false;
  if (typeof node.target === 'object') return node.target.isView;
  const list = node.args[0];
  return list instanceof Node && typeof list.target === 'object' && list.target.isView;
}

/** The node whose memory a view shows. */
export function viewedNode(view: Node): Node {
  let node = view;
  while (isViewNode(node)) node = node.input();
  return node;
}

/**
 * Cuts a joint graph; `needsSaving` decides for each forward value that backward reads. `holders` names
 * the forward nodes that hold a saved value in another place: copies, made before the original changes.
 */
export function cut(
  joint: JointGraph,
  assignment: Assignment,
  needsSaving: (node: Node) => boolean,
  holders: ReadonlyMap<Node, Node> = new Map(),
): Partition {
  const nodes = joint.module.graph.nodes;
  const { forward, backward } = assignment;
  const outputs = joint.module.graph.results;
  const results = outputs.slice(0, joint.forwardOutputs);
  const wanted = outputs.slice(joint.forwardOutputs);
  const { saved, again } = chooseSaved(nodes, backward, nodesOf(wanted), needsSaving);
  const resultIndex = new Map<Argument, number>(results.map((result, index) => [result, index]));
  const held = saved.map((node) => holders.get(node) ?? node);
  const extra = held.filter((node) => node.op !== 'placeholder' && !resultIndex.has(node));
  const sources = held.map((node): SavedSource => {
    if (node.op === 'placeholder') return { kind: 'input', index: joint.inputs.indexOf(node) };
    return { kind: 'output', index: resultIndex.get(node) ?? results.length + extra.indexOf(node) };
  });
  const backwardInputs = [...saved, ...joint.tangents];
  const { gradients, unique } = gradientSources(wanted, backwardInputs);
  const early = nodes.filter((node) => forward.has(node));
  const backwardModule = extract(
    joint.module,
    backwardInputs,
    [...held, ...joint.tangents],
    onDemand(nodes, backward, again),
    unique,
  );
  const replays = replayRandom(backwardModule, early, saved.length);
  return {
    forward: extract(joint.module, joint.inputs, joint.inputs, early, [...results, ...extra]),
    backward: backwardModule,
    saved: replays
      ? [...sources, { kind: 'generator', index: 0 }, { kind: 'generator', index: 1 }]
      : sources,
    // Two more inputs come before the tangents.
    gradients: replays
      ? gradients.map((source) =>
          source?.kind === 'input' && source.index >= saved.length
            ? { kind: 'input', index: source.index + 2 }
            : source,
        )
      : gradients,
  };
}

/** Forward values to save, in order of definition, and those to compute again. */
function chooseSaved(
  nodes: readonly Node[],
  backward: ReadonlySet<Node>,
  gradients: readonly Node[],
  needsSaving: (node: Node) => boolean,
): { saved: Node[]; again: Set<Node> } {
  // A gradient may be a value of the forward pass.
  const needed = new Set<Node>(gradients);
  const again = new Set<Node>();
  const saved: Node[] = [];
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i];
    if (backward.has(node)) for (const input of node.allInputNodes()) needed.add(input);
    else if (needed.has(node)) {
      if (node.op === 'placeholder' || (node.op !== 'get_attr' && needsSaving(node)))
        saved.push(node);
      else {
        again.add(node);
        for (const input of node.allInputNodes()) needed.add(input);
      }
    }
  }
  return { saved: saved.filter((node) => !backward.has(node)).reverse(), again };
}

/** Nodes of the backward graph; those that run again come right before what needs them first. */
function onDemand(
  nodes: readonly Node[],
  backward: ReadonlySet<Node>,
  again: ReadonlySet<Node>,
): Node[] {
  const order = new Map(nodes.map((node, i) => [node, i]));
  const placed = new Set<Node>();
  const result: Node[] = [];
  const place = (root: Node): void => {
    const missing = closure([root], (node) => placed.has(node) || !again.has(node));
    for (const node of [...missing].sort((a, b) => order.get(a)! - order.get(b)!)) {
      placed.add(node);
      result.push(node);
    }
  };
  for (const node of nodes) {
    if (!backward.has(node)) continue;
    for (const input of node.allInputNodes()) place(input);
    result.push(node);
  }
  for (const node of again) place(node);
  return result;
}

function gradientSources(
  gradients: readonly Argument[],
  inputs: readonly Node[],
): { gradients: (GradientSource | null)[]; unique: Node[] } {
  const unique: Node[] = [];
  const sources = gradients.map((gradient): GradientSource | null => {
    if (!(gradient instanceof Node)) return null;
    const input = inputs.indexOf(gradient);
    if (input >= 0) return { kind: 'input', index: input };
    let index = unique.indexOf(gradient);
    if (index < 0) index = unique.push(gradient) - 1;
    return { kind: 'output', index };
  });
  return { gradients: sources, unique };
}

/** A module of some nodes of another; `inputs` become placeholders for values laid out as `like`. */
function extract(
  module: GraphModule,
  inputs: readonly Node[],
  like: readonly Node[],
  nodes: readonly Node[],
  outputs: readonly Argument[],
): GraphModule {
  const graph = new Graph();
  const copies = new Map<Node, Node>();
  inputs.forEach((input, i) => {
    const placeholder = graph.placeholder(input.name);
    const { scalar, source } = input.meta;
    const { val } = like[i].meta;
    placeholder.meta = { val, ...(scalar && { scalar }), ...(source !== undefined && { source }) };
    copies.set(input, placeholder);
  });
  graph.copyNodes(nodes, copies);
  graph.output(outputs.map((output) => (output instanceof Node ? copies.get(output)! : output)));
  const part = new GraphModule(module.attributes, graph);
  part.removeUnusedAttributes();
  return part;
}

/** Bytes of a node's tensors. */
export function bytesOf(node: Node): number {
  return tensorVals(node).reduce((sum, tensor) => sum + tensor.numel * itemSize(tensor.dtype), 0);
}
