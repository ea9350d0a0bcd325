/**
 * @file The model as it is run: the file's messages checked and with plain values.
 *
 * Everything that a name may be missing from, or a number may be too large for, has been checked when one of these
 * exists, so that running needs no checks of the file's form.
 */
import type { ElementType } from './element-types.js';

/** The domain of classical models: trees, linear models, support vectors. */
export const ML_DOMAIN = 'ai.onnx.ml';

/** The values of a tensor in a file. */
export interface TensorLiteral {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** Little-endian elements of `type.dtype`: already widened where the file's type is narrower. */
  readonly bytes: Uint8Array;
}

/** A value of an attribute. */
export type AttributeValue =
  | { readonly kind: 'int' | 'float'; readonly value: number }
  | { readonly kind: 'ints' | 'floats'; readonly value: readonly number[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'strings'; readonly value: readonly string[] }
  | { readonly kind: 'tensor'; readonly value: TensorLiteral }
  | { readonly kind: 'graph'; readonly value: OnnxGraph }
  /** In a function: the value of the caller's attribute. */
  | { readonly kind: 'reference'; readonly value: string }
  /** Types, sparse tensors and lists of graphs, which no supported operator reads. */
  | { readonly kind: 'other'; readonly value: null };

/** One operator call. Empty names stand for inputs and outputs that are left out. */
export interface OnnxNode {
  readonly name: string;
  /** '' for the standard operators. */
  readonly domain: string;
  readonly type: string;
  readonly overload: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, AttributeValue>;
  /** Version of the operator set of the node's domain. */
  readonly opset: number;
}

/** A declared input or output. A dimension is a number, a name (of a dynamic axis), or null if nothing is known. */
export interface ValueDescription {
  readonly name: string;
  /** Null for sequences, optionals and undeclared types. */
  readonly type: ElementType | null;
  readonly shape: readonly (number | string | null)[] | null;
}

/** A graph: the model's own, or the body of a control-flow operator. */
export interface OnnxGraph {
  readonly name: string;
  readonly nodes: readonly OnnxNode[];
  readonly initializers: ReadonlyMap<string, TensorLiteral>;
  /** Declared inputs, those with initialisers (their defaults) included. */
  readonly inputs: readonly ValueDescription[];
  readonly outputs: readonly ValueDescription[];
}

/** A function of the model: nodes that stand for one call. */
export interface OnnxFunction {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly nodes: readonly OnnxNode[];
  /** Default values of attributes. */
  readonly attributes: ReadonlyMap<string, AttributeValue>;
}

/** A whole file. */
export interface OnnxModel {
  readonly graph: OnnxGraph;
  /** By `functionKey`. */
  readonly functions: ReadonlyMap<string, OnnxFunction>;
  /** Version of each operator set, '' being the standard one. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly producer: string;
}

/** How functions are found. */
export function functionKey(of: {
  readonly domain: string;
  readonly type: string;
  readonly overload: string;
}): string {
  return `${of.domain}:${of.type}:${of.overload}`;
}

/** Graphs in the attributes of a node. */
export function graphsOf(node: OnnxNode): OnnxGraph[] {
  const graphs: OnnxGraph[] = [];
  for (const attribute of node.attributes.values())
    if (attribute.kind === 'graph') graphs.push(attribute.value);
  return graphs;
}

/** All nodes of a model, those of graphs of control flow and of functions included. */
export function* nodesOf({ graph, functions }: OnnxModel): Generator<OnnxNode> {
  const lists = [graph.nodes, ...Array.from(functions.values(), ({ nodes }) => nodes)];
  for (let nodes = lists.pop(); nodes !== undefined; nodes = lists.pop())
    for (const node of nodes) {
      yield node;
      for (const inner of graphsOf(node)) lists.push(inner.nodes);
    }
}
