/**
 * @file `Node`: one value of a graph.
 *
 * Opcodes, as in FX:
 * - `placeholder`: an input; `target` is its name, in the order of the graph's inputs;
 * - `get_attr`: a constant tensor or submodule of the owning GraphModule; `target` is its dotted path;
 * - `call_function`: `target` is an OpOverload, or a function (`getItem`, a host function);
 * - `call_module`: `target` is the dotted path of a submodule;
 * - `output`: the only consumer without a value; `args[0]` is the returned structure.
 *
 * `args` are positional in the order of the target's schema and complete (defaults filled in), so that
 * passes match by position alone; there are no keyword arguments for ops. Arguments may be Nodes,
 * numbers, booleans, strings, null, dtypes, expressions of the graph's symbols, or arrays of these. Ops with several results are followed
 * by `getItem(node, i)` nodes. Uses are tracked: `users` is exact after every edit made through the
 * methods of Node and Graph.
 */
import { SymInt } from '@tessera/shared';
import type { OpOverload, Tensor } from '@tessera/tensor';
import type { Graph } from './graph.js';
import { graphError } from './graph-error.js';
import type { SymbolicVal } from '../symbolic/symbolic-shape.js';

/** What a node does. */
export type Opcode = 'placeholder' | 'get_attr' | 'call_function' | 'call_module' | 'output';

/** A function that a graph may call besides ops: whoever makes the node sees that its arguments fit. */
export type HostFunction = { fn(...args: readonly unknown[]): unknown }['fn'] & {
  readonly name: string;
};

/** Target of a node; see the file header for which opcode has which. */
export type Target = OpOverload | HostFunction | string;

/** An argument: nodes inside nested arrays and records are uses. */
export type Argument =
  | Node
  | SymInt
  | number
  | bigint
  | boolean
  | string
  | null
  | undefined
  | readonly Argument[]
  | { readonly [key: string]: Argument };

/** What is known about a node's value and origin. */
export interface NodeMeta {
  /** FakeTensor(s) or example scalar of the value: shape, stride, dtype, and storage identity for aliasing. */
  val?: Tensor | readonly (Tensor | null)[] | number | boolean | null;
  /** Sizes and strides of the value as expressions, where they depend on symbols. */
  symbolicVal?: SymbolicVal;
  /** The arguments as expressions, where a graph for given sizes has numbers that depend on symbols. */
  symbolicArgs?: readonly Argument[];
  /** Real value seen while tracing, where kept. */
  exampleValue?: unknown;
  /** The user's source line, `file:line:column function`. */
  stackTrace?: string;
  /** Sequence number of autograd: a backward node carries that of its forward node. */
  seqNr?: number;
  /** Whether the node was made while running backward. */
  isBackward?: boolean;
  /** Path and class of the enclosing modules, outermost first. */
  nnModuleStack?: readonly { readonly path: string; readonly type: string }[];
  /** Place in the program, in a functional graph: of an operator its own, of the update of an input that of the last write. */
  programOrder?: number;
  /** Op from which a decomposition made this node. */
  originalAten?: OpOverload;
  /** Name of the function the user called. */
  sourceFn?: string;
  /** Where a placeholder's value comes from: `L['x']`, `L['self'].layers[0].weight`. */
  source?: string;
  /** A placeholder whose own memory the program returns, besides what the graph computes. */
  returned?: boolean;
  /** A placeholder that is a runtime scalar, not a tensor. */
  scalar?: { readonly kind: 'float' | 'int' | 'bool' };
  /** Free space for passes, under their own names. */
  custom?: Record<string, unknown>;
}

/** See the file header. Made by Graph only. */
export class Node {
  readonly graph: Graph;
  readonly op: Opcode;
  name: string;
  meta: NodeMeta = {};
  /** Nodes that use this one, in order of first use. */
  readonly users: Map<Node, null> = new Map();
  /** Neighbours in the graph's order; the graph's root joins the ends. */
  prev: Node;
  next: Node;
  erased = false;
  private targetValue: Target;
  private argValues: readonly Argument[] = [];
  /** The nodes among `argValues`; kept, as every pass asks for them. */
  private inputs: readonly Node[] = [];

  constructor(graph: Graph, name: string, op: Opcode, target: Target) {
    this.graph = graph;
    this.name = name;
    this.op = op;
    this.targetValue = target;
    this.prev = this;
    this.next = this;
  }

  get target(): Target {
    return this.targetValue;
  }

  /** Replaces what the node calls; arguments stay. */
  set target(target: Target) {
    this.targetValue = target;
    this.graph.revision++;
  }

  /** The target as text: the dotted path of a `get_attr` or `call_module`. */
  get path(): string {
    return String(this.targetValue);
  }

  get args(): readonly Argument[] {
    return this.argValues;
  }

  /** Replaces the arguments and keeps uses exact. */
  set args(args: readonly Argument[]) {
    for (const input of this.inputs) input.users.delete(this);
    this.argValues = args;
    this.inputs = nodesIn(args);
    for (const input of this.inputs) input.users.set(this, null);
    this.graph.revision++;
  }

  /** The argument at a position, where it is a node: what a schema calls a tensor. @throws graph-lint where it is none */
  input(index = 0): Node {
    return this.argument(index, isNode, 'node');
  }

  /** The same for a list of tensors. @throws graph-lint */
  inputList(index = 0): readonly Node[] {
    return this.argument(index, listOf(isNode), 'list of nodes');
  }

  /** The argument at a position, where it is a number. @throws graph-lint where it is none */
  number(index: number): number {
    return this.argument(index, isNumber, 'number');
  }

  /** The same for a list of numbers. @throws graph-lint */
  numbers(index: number): readonly number[] {
    return this.argument(index, listOf(isNumber), 'list of numbers');
  }

  private argument<T extends Argument>(
    index: number,
    is: (arg: Argument) => arg is T,
    what: string,
  ): T {
    const arg = this.argValues[index];
    if (is(arg)) return arg;
    throw graphError(
      `Argument ${index} of ${this.name} is no ${what}.`,
      'Give tensors of a call by the nodes that make them.',
    );
  }

  /** Nodes among the arguments, each once, in order. */
  allInputNodes(): readonly Node[] {
    return this.inputs;
  }

  /** Replaces one argument position. */
  updateArg(index: number, value: Argument): void {
    const args = [...this.argValues];
    args[index] = value;
    this.args = args;
  }

  /** Replaces `old` by `replacement` in the arguments. */
  replaceInputWith(old: Node, replacement: Argument): void {
    this.args = this.argValues.map((arg) =>
      mapArgument(arg, (node) => (node === old ? replacement : node)),
    );
  }

  /** Makes every user of this node use `replacement` instead; returns those users. */
  replaceAllUsesWith(replacement: Node, except?: (user: Node) => boolean): Node[] {
    const changed: Node[] = [];
    for (const user of [...this.users.keys()]) {
      if (except?.(user) === true) continue;
      user.replaceInputWith(this, replacement);
      changed.push(user);
    }
    return changed;
  }

  toString(): string {
    return this.name;
  }
}

const isNode = (arg: Argument): arg is Node => arg instanceof Node;
const isNumber = (arg: Argument): arg is number => typeof arg === 'number';
const listOf =
  <T extends Argument>(is: (arg: Argument) => arg is T) =>
  (arg: Argument): arg is readonly T[] =>
    Array.isArray(arg) && arg.every(is);

/** Nodes inside arguments, each once, in order. */
function nodesIn(args: readonly Argument[]): Node[] {
  const found: Node[] = [];
  // Lists of operands grow to hundreds; most nodes have one to three.
  const seen = args.length > 3 || args.some(Array.isArray) ? new Set<Node>() : null;
  const visit = (arg: Argument): void => {
    if (arg instanceof Node) {
      if (seen === null ? found.includes(arg) : seen.has(arg)) return;
      seen?.add(arg);
      found.push(arg);
    } else if (Array.isArray(arg)) for (const item of arg) visit(item);
    else if (typeof arg === 'object' && arg !== null && !(arg instanceof SymInt))
      for (const item of Object.values(arg)) visit(item);
  };
  for (const arg of args) visit(arg);
  return found;
}

/** Rebuilds an argument with every Node mapped. */
export function mapArgument(arg: Argument, fn: (node: Node) => Argument): Argument {
  if (arg instanceof Node) return fn(arg);
  if (arg instanceof SymInt) return arg;
  if (Array.isArray(arg)) return arg.map((item) => mapArgument(item, fn));
  if (typeof arg === 'object' && arg !== null) {
    return Object.fromEntries(
      Object.entries(arg).map(([key, value]) => [key, mapArgument(value, fn)]),
    );
  }
  return arg;
}
