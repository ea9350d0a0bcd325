/**
 * @file Where the symbols of a graph get their values: dims of placeholders, and integers of the program.
 */
import { SymInt } from '@tessera/shared';
import type { Graph } from '../ir/graph.js';
import type { Argument, Node } from '../ir/node.js';
import { tensorVal } from '../ir/value-meta.js';

/** A dim of an input. */
export interface SymbolPlace {
  readonly node: Node;
  readonly dim: number;
  /** The size that the graph's example has there. */
  readonly value: number;
}

/** The first dim of a placeholder that is the symbol, for each that there is. */
export function symbolPlaces(graph: Graph): Map<SymInt, SymbolPlace> {
  const places = new Map<SymInt, SymbolPlace>();
  for (const node of graph.placeholders) {
    const shape = node.meta.symbolicVal;
    const val = tensorVal(node);
    if (shape === undefined || !('sizes' in shape) || val === null) continue;
    shape.sizes.forEach((size, dim) => {
      if (typeof size === 'number' || size.kind !== 'symbol' || places.has(size)) return;
      places.set(size, { node, dim, value: val.sizes[dim] });
    });
  }
  return places;
}

/** What each symbol is in the example: sizes of placeholders, and arguments that are the symbol. */
export function symbolValues(graph: Graph): Map<SymInt, number> {
  const values = new Map<SymInt, number>();
  for (const [symbol, { value }] of symbolPlaces(graph)) values.set(symbol, value);
  const visit = (arg: Argument, symbolic: Argument): void => {
    if (symbolic instanceof SymInt) {
      if (symbolic.kind === 'symbol' && typeof arg === 'number' && !values.has(symbolic))
        values.set(symbolic, arg);
    } else if (Array.isArray(symbolic) && Array.isArray(arg)) {
      symbolic.forEach((item, i) => visit(arg[i], item));
    }
  };
  for (const node of graph.nodes)
    node.meta.symbolicArgs?.forEach((symbolic, i) => visit(node.args[i], symbolic));
  return values;
}

/** An argument with its numbers replaced by the expressions that they are. */
export function withSymbols(arg: Argument, symbolic: Argument): Argument {
  if (symbolic instanceof SymInt) return typeof arg === 'number' ? symbolic : arg;
  if (!Array.isArray(symbolic) || !Array.isArray(arg)) return arg;
  return arg.map((item, i) => withSymbols(item, symbolic[i]));
}
