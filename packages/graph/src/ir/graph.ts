/**
 * @file `Graph`: an ordered list of nodes with exact uses.
 *
 * Order is a valid execution order (checked by `lint`). Edits go through this class and Node, which
 * keep uses and order consistent. Modelled on torch.fx.Graph.
 */
import type { OpOverload } from '@tessera/tensor';
import {
  type Argument,
  type HostFunction,
  Node,
  type Opcode,
  type Target,
  mapArgument,
} from './node.js';
import { graphError } from './graph-error.js';
import { lintGraph } from './lint.js';
import { NameSpace } from './name-space.js';
import type { GraphSymbols } from '../symbolic/graph-symbols.js';

/** See the file header. */
export class Graph {
  private readonly names = new NameSpace();
  private readonly root: Node;
  /** New nodes go before this one. */
  private insertPoint: Node;
  private count = 0;
  /** Grows with every edit: whoever caches something derived from the graph compares it. */
  revision = 0;
  /** The sizes that vary; null for a graph of fixed sizes. */
  symbols: GraphSymbols | null = null;

  constructor() {
    this.root = new Node(this, '', 'output', 'root');
    this.insertPoint = this.root;
  }

  /** The nodes in order, as a fresh array: safe to edit the graph while walking it. */
  get nodes(): Node[] {
    const list: Node[] = [];
    for (let node = this.root.next; node !== this.root; node = node.next) list.push(node);
    return list;
  }

  /** Number of nodes. */
  get size(): number {
    return this.count;
  }

  /** The placeholders in input order. */
  get placeholders(): Node[] {
    return this.nodes.filter((node) => node.op === 'placeholder');
  }

  /** The output node, or null while building. */
  get outputNode(): Node | null {
    const last = this.root.prev;
    return last !== this.root && last.op === 'output' ? last : null;
  }

  /** What the graph returns: the items of its list. */
  get results(): readonly Argument[] {
    return [this.outputNode?.args[0]].flat();
  }

  /** Adds a node at the insertion point. */
  createNode(op: Opcode, target: Target, args: readonly Argument[] = [], name?: string): Node {
    const node = new Node(this, this.names.unique(name ?? candidateName(target)), op, target);
    node.args = args;
    this.link(node, this.insertPoint);
    this.count++;
    this.revision++;
    return node;
  }

  placeholder(name: string): Node {
    return this.createNode('placeholder', name, [], name);
  }

  getAttr(path: string): Node {
    return this.createNode('get_attr', path, [], path.replace(/\W+/g, '_'));
  }

  callFunction(target: OpOverload | HostFunction, args: readonly Argument[], name?: string): Node {
    return this.createNode('call_function', target, args, name);
  }

  callModule(path: string, args: readonly Argument[]): Node {
    return this.createNode('call_module', path, args, path.replace(/\W+/g, '_'));
  }

  output(value: Argument): Node {
    return this.createNode('output', 'output', [value], 'output');
  }

  /** Runs `fn` with new nodes going before `node`. */
  insertingBefore<R>(node: Node, fn: () => R): R {
    const saved = this.insertPoint;
    this.insertPoint = node;
    try {
      return fn();
    } finally {
      this.insertPoint = saved;
    }
  }

  /** Runs `fn` with new nodes going after `node`. */
  insertingAfter<R>(node: Node, fn: () => R): R {
    return this.insertingBefore(node.next, fn);
  }

  /** Removes a node without users. */
  eraseNode(node: Node): void {
    if (node.users.size > 0) {
      throw graphError(
        `Cannot erase '${node.name}': it is used by ${[...node.users.keys()].map((user) => user.name).join(', ')}.`,
        'Replace its uses first (replaceAllUsesWith).',
      );
    }
    if (node.erased) return;
    node.args = [];
    node.prev.next = node.next;
    node.next.prev = node.prev;
    if (this.insertPoint === node) this.insertPoint = node.next;
    node.erased = true;
    this.count--;
    this.revision++;
  }

  /** Moves a node to just before another. */
  moveBefore(node: Node, before: Node): void {
    node.prev.next = node.next;
    node.next.prev = node.prev;
    this.link(node, before);
    this.revision++;
  }

  /** Copies a node of another graph, its arguments mapped by `mapNode`; meta is shared shallowly. */
  nodeCopy(node: Node, mapNode: (node: Node) => Argument): Node {
    const copy = this.createNode(
      node.op,
      node.target,
      node.args.map((arg) => mapArgument(arg, mapNode)),
      node.name,
    );
    copy.meta = { ...node.meta };
    return copy;
  }

  /** Copies nodes of another graph, in order, but those that have a copy already; `copies` are told of each. */
  copyNodes(nodes: Iterable<Node>, copies: Map<Node, Node>): void {
    for (const node of nodes)
      if (!copies.has(node))
        copies.set(
          node,
          this.nodeCopy(node, (input) => copies.get(input)!),
        );
  }

  /** Checks the rules of the IR. @throws graph-lint */
  lint(): void {
    lintGraph(this);
  }

  private link(node: Node, before: Node): void {
    node.prev = before.prev;
    node.next = before;
    before.prev.next = node;
    before.prev = node;
  }
}

function candidateName(target: Target): string {
  if (typeof target === 'string') return target.replace(/\W+/g, '_');
  if (typeof target === 'function') return functionResultName(target.name);
  return target.schema.name;
}

/** A name for the result of a function that is not the function's own name. */
function functionResultName(name: string): string {
  const snake = name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
  return snake === name ? `${name}_result` : snake;
}
