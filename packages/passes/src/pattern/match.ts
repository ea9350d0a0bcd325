/**
 * @file `Match`: a part of a graph that fits a pattern, and ways to replace it.
 */
import {
  type Argument,
  type Graph,
  type GraphModule,
  Node,
  graphError,
  mapArgument,
  traceOnFakes,
  type HostFunction,
} from '@tessera/graph';
import { isTensor, noGrad } from '@tessera/tensor';
import { withoutModes } from '@tessera/tensor/internal';
import type { MatchState } from './match-state.js';
import { MultiOutputPattern, type Pattern } from './pattern.js';

/** See the file header. */
export class Match {
  /** Matched calls, inputs before users. */
  readonly nodes: readonly Node[];
  /** Values of `Arg()`, in order. */
  readonly args: readonly Argument[];
  /** Values of `KeywordArg(name)`. */
  readonly kwargs: Readonly<Record<string, Argument>>;
  /** Nodes of the pattern's outputs; null for one that is not there. */
  readonly outputs: readonly (Node | null)[];

  constructor(
    readonly module: GraphModule,
    pattern: Pattern,
    state: MatchState,
  ) {
    this.nodes = state.nodes;
    this.args = state.args;
    this.kwargs = Object.fromEntries(state.kwargs);
    const outputs = pattern instanceof MultiOutputPattern ? pattern.outputs : [pattern];
    this.outputs = outputs.map((output) => (output === null ? null : state.bound.get(output)!));
  }

  get graph(): Graph {
    return this.module.graph;
  }

  /** The node of the (first) output. */
  get output(): Node {
    return this.outputs[0]!;
  }

  /** Removes the matched calls that nobody uses any more. */
  eraseNodes(): void {
    for (const node of this.nodes.toReversed())
      if (!node.erased && node.users.size === 0) this.graph.eraseNode(node);
  }

  /**
   * Replaces the match by what `fn` does with `args`: traced on their values, one result per output.
   *
   * @throws graph-lint when the results do not fit the outputs
   */
  replaceByExample(fn: HostFunction, args: readonly Argument[]): void {
    this.replaceWithGraph(traceOn(fn, args), args);
  }

  /**
   * Replaces the match by a copy of a graph, whose placeholders become the nodes among `args`.
   *
   * @throws graph-lint when the graph's results do not fit the outputs
   */
  replaceWithGraph(replacement: GraphModule, args: readonly Argument[]): void {
    const inputs = args.filter((arg) => arg instanceof Node);
    const { output } = this;
    const map = new Map<Node, Argument>();
    const place = insertionPoint(this, inputs);
    if (place === null) {
      throw graphError(
        `Pattern at '${output.name}': an output is used before all inputs of the match are known.`,
        'Check canReplace(inputs) first.',
      );
    }
    let results: readonly Argument[] = [];
    this.graph.insertingBefore(place, () => {
      replacement.graph.placeholders.forEach((node, i) => map.set(node, inputs[i]));
      for (const node of replacement.graph.nodes) {
        const at = (input: Node): Argument => map.get(input)!;
        if (node.op === 'placeholder') continue;
        if (node.op === 'output')
          results = replacement.graph.results.map((arg) => mapArgument(arg, at));
        else map.set(node, copyOf(this, replacement, node, at));
      }
    });
    if (results.length !== this.outputs.length) {
      throw graphError(
        `The replacement of the pattern at '${output.name}' has ${results.length} results instead of ${this.outputs.length}.`,
        'Return one value per output of the pattern.',
      );
    }
    this.outputs.forEach((old, i) => {
      if (old === null) return;
      const made = results[i];
      if (!(made instanceof Node))
        throw graphError(
          `Result ${i} of the replacement of the pattern at '${output.name}' is no tensor.`,
          'Return the tensors that take the place of the outputs.',
        );
      if (!inputs.includes(made)) made.meta = { ...old.meta, val: made.meta.val };
      old.replaceAllUsesWith(made);
    });
    this.eraseNodes();
  }

  /** Whether there is a place in the graph behind all of `inputs` and before all uses of the outputs. */
  canReplace(inputs: readonly Argument[]): boolean {
    return (
      insertionPoint(
        this,
        inputs.filter((arg) => arg instanceof Node),
      ) !== null
    );
  }
}

/** Traces a function on the recorded values of arguments. */
export function traceOn(fn: HostFunction, args: readonly Argument[]): GraphModule {
  return traceOnValues(fn, args.map(exampleOf));
}

/** Traces a function on fakes of values. */
export function traceOnValues(fn: HostFunction, values: readonly unknown[]): GraphModule {
  return withoutModes(() => noGrad(() => traceOnFakes(fn, values, { stackTraces: false })));
}

function exampleOf(arg: Argument): unknown {
  if (arg instanceof Node) {
    const { val } = arg.meta;
    return Array.isArray(val) ? [...val] : val;
  }
  return Array.isArray(arg) ? arg.map(exampleOf) : arg;
}

function copyOf(
  match: Match,
  replacement: GraphModule,
  node: Node,
  at: (input: Node) => Argument,
): Node {
  const { graph, module, output } = match;
  if (node.op === 'get_attr') {
    const value = replacement.getAttribute(node.path);
    const constant = graph.getAttr(module.addAttribute('_pattern_constant', value));
    constant.meta = { ...node.meta };
    return constant;
  }
  const copy = graph.nodeCopy(node, at);
  const { stackTrace, nnModuleStack, sourceFn, seqNr } = output.meta;
  copy.meta = { stackTrace, nnModuleStack, sourceFn, seqNr, ...copy.meta };
  if (!isTensor(copy.meta.val) && copy.meta.val === undefined) copy.meta.val = output.meta.val;
  return copy;
}

/** Where a replacement goes: behind its inputs, before every user of an output; null if there is no place. */
function insertionPoint(match: Match, inputs: readonly Node[]): Node | null {
  const { nodes } = match.graph;
  const position = new Map(nodes.map((node, i) => [node, i]));
  const positions = (list: readonly Node[]): number[] => list.map((node) => position.get(node)!);
  const outputs = match.outputs.filter((output) => output !== null);
  const first = Math.min(...positions(outputs));
  const inputsEnd = Math.max(-1, ...positions(inputs));
  if (inputsEnd < first) return nodes[first]!;
  const users = outputs.flatMap((output) => [...output.users.keys()]);
  const firstUse = Math.min(...positions(users.filter((user) => !match.nodes.includes(user))));
  return inputsEnd < firstUse ? nodes[inputsEnd + 1]! : null;
}
