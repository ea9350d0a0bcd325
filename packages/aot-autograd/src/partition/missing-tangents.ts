/**
 * @file A backward graph for a pass in which some tangents have no gradient.
 *
 * Eager autograd runs no node that no gradient reaches. Zeros in place of the missing tangents would differ
 * from that: zero times infinity is not a number, and a saved value that nobody needs might have been modified.
 * A backward pass is linear in its tangents, so what is computed from missing ones alone is missing too, and
 * such a term drops out of a sum. Elsewhere it is zero.
 *
 * @see Symbolic zeros in JAX
 */
import {
  type Argument,
  Graph,
  GraphModule,
  Node,
  eliminateDeadCode,
  isImpure,
  tensorVal,
} from '@tessera/graph';
import { type Tensor, isFloatingPoint } from '@tessera/tensor';
import { fullOp, sameNumbers } from '@tessera/tensor/internal';
import { Emitter } from '../functionalize/emitter.js';
import { isDense } from '../layout.js';
import type { GradientSource } from './partition.js';

/** Part of a backward graph. */
export interface BackwardPart {
  readonly module: GraphModule;
  /** The inputs of the whole graph that this one takes. */
  readonly inputs: readonly number[];
  /** Per gradient; inputs are counted as in the whole graph. */
  readonly gradients: readonly (GradientSource | null)[];
}

/** The part of a backward graph that runs if the inputs `missing` are tangents without a gradient. */
export function withoutTangents(
  whole: GraphModule,
  gradients: readonly (GradientSource | null)[],
  tangents: readonly number[],
  missing: ReadonlySet<number>,
): BackwardPart {
  return new Pruner(whole, tangents, missing).prune(gradients);
}

class Pruner {
  private readonly graph = new Graph();
  private readonly emitter = new Emitter(this.graph);
  /** Old nodes to new ones; null for what is missing. */
  private readonly copies = new Map<Argument, Node | null>();
  /** Old nodes that depend on a tangent. */
  private readonly late = new Set<Node>();

  constructor(
    private readonly whole: GraphModule,
    tangents: readonly number[],
    missing: ReadonlySet<number>,
  ) {
    whole.graph.placeholders.forEach((node, i) => {
      if (tangents.includes(i)) this.late.add(node);
      this.copies.set(node, missing.has(i) ? null : this.graph.nodeCopy(node, (input) => input));
    });
  }

  prune(gradients: readonly (GradientSource | null)[]): BackwardPart {
    const { graph } = this;
    for (const node of this.whole.graph.nodes) {
      if (node.op === 'placeholder' || node.op === 'output') continue;
      if (node.allInputNodes().some((input) => this.late.has(input))) this.late.add(node);
      this.emitter.from(node);
      this.copies.set(node, this.isMissing(node) ? null : this.copy(node));
    }
    const { outputs, sources } = this.results(gradients);
    graph.output(outputs);
    eliminateDeadCode(graph);
    const inputs = [...this.whole.graph.placeholders.keys()].filter((i) => this.isRead(i));
    for (const node of graph.placeholders) if (node.users.size === 0) graph.eraseNode(node);
    const module = new GraphModule(this.whole.attributes, graph);
    module.removeUnusedAttributes();
    return { module, inputs, gradients: sources };
  }

  private isRead(input: number): boolean {
    const copy = this.copies.get(this.whole.graph.placeholders[input]);
    return copy != null && copy.users.size > 0;
  }

  /** Whether a node is computed from missing tangents alone. Comparisons of them are computed. */
  private isMissing(node: Node): boolean {
    const late = node.allInputNodes().filter((input) => this.late.has(input));
    if (late.length === 0 || late.some((input) => this.copies.get(input) !== null)) return false;
    const val = tensorVal(node);
    return !isImpure(node) && (val === null || isFloatingPoint(val.dtype));
  }

  private copy(node: Node): Node {
    const [left, right, alpha] = node.args;
    if (isSum(node) && (alpha ?? 1) === 1) {
      const other = this.missing(left) ? right : this.missing(right) ? left : null;
      const kept = other instanceof Node ? this.copies.get(other) : null;
      const sum = tensorVal(node)!;
      if (kept != null && sameShape(tensorVal(other)!, sum)) return this.laidLike(sum, kept);
    }
    return this.graph.nodeCopy(node, (input) => this.copies.get(input) ?? this.zeros(input));
  }

  /** A value with the strides of the sum that it stands for: what views the sum was traced with those. */
  private laidLike({ sizes, strides }: Tensor, node: Node): Node {
    return isDense(sizes, strides) ? this.emitter.restride(node, { sizes, strides }) : node;
  }

  private missing(arg: Argument | undefined): boolean {
    return arg instanceof Node && this.copies.get(arg) === null;
  }

  /** A missing value where one is needed after all. */
  private zeros(node: Node): Node {
    const { emitter } = this;
    const val = tensorVal(node)!;
    const { sizes, strides, dtype, device } = val;
    const distinct = sizes.map((size, d) => (strides[d] === 0 ? 1 : size));
    const full = emitter.emit(fullOp, [distinct, 0, dtype, null, device, null]);
    const laid = isDense(distinct, strides)
      ? emitter.restride(full, { sizes: distinct, strides })
      : full;
    return sameNumbers(distinct, sizes) ? laid : emitter.emit('aten::expand', [laid, sizes, false]);
  }

  private results(gradients: readonly (GradientSource | null)[]): {
    outputs: Node[];
    sources: (GradientSource | null)[];
  } {
    const { placeholders, results: old } = this.whole.graph;
    const inputOf = new Map(placeholders.map((node, i) => [this.copies.get(node), i]));
    const outputs: Node[] = [];
    const sources = gradients.map((source): GradientSource | null => {
      if (source === null) return null;
      const copy = this.copies.get((source.kind === 'input' ? placeholders : old)[source.index]);
      if (copy == null) return null;
      const input = inputOf.get(copy);
      if (input !== undefined) return { kind: 'input', index: input };
      const known = outputs.indexOf(copy);
      return { kind: 'output', index: known >= 0 ? known : outputs.push(copy) - 1 };
    });
    return { outputs, sources };
  }
}

function isSum(node: Node): boolean {
  return typeof node.target === 'object' && node.target.qualifiedName === 'aten::add.Tensor';
}

function sameShape(a: Tensor, b: Tensor): boolean {
  return a.dtype === b.dtype && sameNumbers(a.sizes, b.sizes);
}

/** Per tangent, the other inputs that a backward graph reads for it. */
export function readsOfTangents(
  { graph }: GraphModule,
  tangents: readonly number[],
): ReadonlySet<number>[] {
  const { placeholders } = graph;
  return tangents.map((tangent) => {
    const late = new Set<Node>([placeholders[tangent]]);
    for (const node of graph.nodes)
      if (node.op !== 'output' && node.allInputNodes().some((input) => late.has(input)))
        late.add(node);
    const needed = new Set<Node>();
    const stack = [...late];
    while (stack.length > 0) {
      const node = stack.pop()!;
      if (needed.has(node)) continue;
      needed.add(node);
      stack.push(...node.allInputNodes());
    }
    return new Set([...placeholders.keys()].filter((i) => needed.has(placeholders[i])));
  });
}
