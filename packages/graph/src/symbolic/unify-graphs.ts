/**
 * @file `unifyGraphs`: one graph with symbolic sizes from traces of the same program at several sizes.
 *
 * Every number that differs between the traces becomes the expression of the symbols that it is in all
 * of them (anti-unification); so do the sizes and strides of values. An expression is a conjecture: a
 * run of the graph compares every result's sizes with it, and operators check their own arguments.
 */
import { type FitTerm, type Size, SizeFitter } from '@tessera/shared';
import type { GraphModule } from '../ir/graph-module.js';
import { type Argument, Node } from '../ir/node.js';
import { printNode } from '../ir/print-graph.js';
import type { SizeRun } from './explore-sizes.js';
import type { GraphSymbols } from './graph-symbols.js';
import { holdsSymbol } from './symbolic-argument.js';
import { type SymbolicVal, fittedShape } from './symbolic-shape.js';
import { isNumbers } from './window-sizes.js';

/** A number that follows no expression of the symbols. */
export interface Unfit {
  readonly node: Node;
  readonly what: string;
  readonly values: readonly number[];
}

/** Fits numbers of traces; remembers the first that fits nothing. */
export class GraphUnifier {
  unfit: Unfit | null = null;
  private readonly fitter: SizeFitter;

  /** @param symbolValues per symbol, its value in each run */
  constructor(
    private readonly runs: readonly SizeRun<GraphModule>[],
    symbols: GraphSymbols,
    symbolValues: readonly (readonly number[])[],
  ) {
    this.fitter = new SizeFitter(
      symbols.symbols.map((symbol, i): FitTerm => ({ size: symbol, at: symbolValues[i] })),
    );
  }

  /** Makes the graph of the first run symbolic, unless something fits no expression. */
  unify(): boolean {
    const lists = this.runs.map(({ result }) => result.graph.nodes);
    const shapes = new Map<Node, SymbolicVal>();
    const args = new Map<Node, readonly Argument[]>();
    lists[0].forEach((node, n) => {
      const nodes = lists.map((list) => list[n]);
      const shape = fittedShape(
        this.fitter,
        nodes.map((other) => other.meta.val),
        (sizes, dim) => this.fit(node, `size ${dim} of its value`, sizes),
      );
      if (shape !== null) shapes.set(node, shape);
      const unified = node.args.map((_, i) =>
        this.argument(
          node,
          i,
          nodes.map((other) => other.args[i]),
        ),
      );
      args.set(node, unified);
    });
    if (this.unfit !== null) return false;
    for (const [node, shape] of shapes) node.meta.symbolicVal = shape;
    for (const [node, unified] of args)
      if (unified.some((arg) => holdsSymbol(arg))) node.args = unified;
    return true;
  }

  /** The expression of a number; notes one that has none. */
  fit(node: Node, what: string, values: readonly number[]): Size {
    const found = this.fitter.fit(values);
    if (found !== null) return found;
    this.unfit ??= { node, what, values };
    return values[0];
  }

  private argument(node: Node, i: number, values: readonly Argument[]): Argument {
    const first = values[0];
    if (first instanceof Node) return first;
    if (isNumbers(values)) {
      if (values.every((value) => Object.is(value, first))) return first;
      const formal = typeof node.target === 'object' ? node.target.schema.args[i].name : `${i}`;
      return this.fit(node, `argument '${formal}'`, values);
    }
    if (Array.isArray(first)) {
      return first.map((_, k) =>
        this.argument(
          node,
          i,
          values.map((value) => (Array.isArray(value) ? value[k] : null)),
        ),
      );
    }
    if (typeof first !== 'object' || first === null) return first;
    return Object.fromEntries(
      Object.keys(first).map((key) => [
        key,
        this.argument(
          node,
          i,
          values.map((value) => (value as Record<string, Argument>)[key]),
        ),
      ]),
    );
  }
}

/** What was wrong, with the values at the sizes tried. */
export function describeUnfit({ node, what, values }: Unfit, sizes: readonly string[]): string {
  const shown = values.slice(0, 4).map((value, i) => `${value} at ${sizes[i]}`);
  return `${what} in \`${printNode(node, { shapes: false })}\` is ${shown.join(', ')}, which is no expression of the sizes that was found`;
}
