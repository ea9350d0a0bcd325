/**
 * @file `AliasSets`: which values of a graph may share memory, and which memory is written or escapes.
 *
 * Derived from schemas (views, in-place ops, may-alias composites), so it also holds for graphs without
 * metadata. Conservative: a call of unknown code may alias and write everything it is given.
 */
import type { OpOverload } from '@tessera/tensor';
import type { Graph } from '../ir/graph.js';
import { isPureHostFunction } from '../ir/host-functions.js';
import type { Node } from '../ir/node.js';

/** See the file header. A snapshot of the graph, kept up to date by `merge`. */
export class AliasSets {
  private readonly parent = new Map<Node, Node>();
  private readonly written = new Set<Node>();
  private readonly escaping = new Set<Node>();
  private readonly external = new Set<Node>();

  constructor(graph: Graph) {
    const nodes = graph.nodes;
    for (const node of nodes) {
      this.parent.set(node, node);
      for (const source of aliasedInputs(node)) this.merge(node, source);
    }
    for (const node of nodes) {
      for (const target of writtenInputs(node)) this.written.add(this.root(target));
      if (node.op === 'output')
        for (const value of node.allInputNodes()) this.escaping.add(this.root(value));
      if (node.op === 'placeholder' || node.op === 'get_attr') this.external.add(this.root(node));
    }
  }

  /** A representative of the values that may share memory with `node`. */
  root(node: Node): Node {
    let root = node;
    for (let next = this.parent.get(root)!; next !== root; next = this.parent.get(root)!)
      root = next;
    for (let at = node; at !== root;) {
      const next = this.parent.get(at)!;
      this.parent.set(at, root);
      at = next;
    }
    return root;
  }

  /** Whether the memory behind a value is written anywhere in the graph. */
  isWritten(node: Node): boolean {
    return this.written.has(this.root(node));
  }

  /** Whether the graph returns the value, or something that may share its memory. */
  escapes(node: Node): boolean {
    return this.escaping.has(this.root(node));
  }

  /** Whether the value may share memory with an input or an attribute. */
  isExternal(node: Node): boolean {
    return this.external.has(this.root(node));
  }

  /**
   * Whether `value`, freshly computed, may be replaced by `other`, which has the same contents: nobody
   * could tell that they now share memory.
   */
  mayShare(value: Node, other: Node): boolean {
    if (this.isWritten(value) || this.isWritten(other)) return false;
    return !this.escapes(value) || (!this.isExternal(other) && !this.escapes(other));
  }

  /** Two values share memory from now on. */
  merge(a: Node, b: Node): void {
    const from = this.root(a);
    const to = this.root(b);
    if (from === to) return;
    this.parent.set(from, to);
    for (const marked of [this.written, this.escaping, this.external])
      if (marked.has(from)) marked.add(to);
  }
}

/** Inputs with which a node's value may share memory. */
export function aliasedInputs(node: Node): readonly Node[] {
  if (node.op === 'placeholder' || node.op === 'get_attr' || node.op === 'output') return [];
  const { target } = node;
  if (typeof target !== 'object') return node.allInputNodes();
  return inputsAt(node, effectsOf(target).aliased);
}

/** Inputs whose memory a node writes. */
export function writtenInputs(node: Node): readonly Node[] {
  if (node.op === 'call_module') return node.allInputNodes();
  if (node.op !== 'call_function') return [];
  const { target } = node;
  if (typeof target === 'function') return isPureHostFunction(target) ? [] : node.allInputNodes();
  if (typeof target === 'string' || !target.isMutable) return [];
  return inputsAt(node, effectsOf(target).written);
}

/** Positions of arguments with which an operator's results may share memory, and that it writes. */
interface Effects {
  readonly aliased: readonly number[];
  readonly written: readonly number[];
}

const effects = new WeakMap<OpOverload, Effects>();

function effectsOf(op: OpOverload): Effects {
  let found = effects.get(op);
  if (found === undefined) {
    const { args, returns } = op.schema;
    const positions = args.map((_, i) => i);
    const returnsAlias = returns.some((value) => value.alias !== null);
    found = {
      aliased: returnsAlias ? positions.filter((i) => args[i].alias !== null) : [],
      written: positions.filter((i) => args[i].alias?.isWrite === true),
    };
    effects.set(op, found);
  }
  return found;
}

function inputsAt(node: Node, positions: readonly number[]): readonly Node[] {
  if (positions.length === 0) return [];
  const values = new Set<unknown>(positions.flatMap((i) => node.args[i]));
  return node.allInputNodes().filter((input) => values.has(input));
}
