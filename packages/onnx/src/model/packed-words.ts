/**
 * @file Weights of four bits that only `MatMulNBits` reads, as words of 32 bits: the same bytes, as the product of such
 * weights reads them on every device.
 */
import { elementType } from './element-types.js';
import { type OnnxGraph, type OnnxNode, type TensorLiteral, graphsOf } from './model.js';

/** The code of int32 in a file. */
const INT32 = 6;

function readsWords({ type, domain, attributes }: OnnxNode): boolean {
  const isFour = (attributes.get('bits')?.value ?? 4) === 4;
  return isFour && type === 'MatMulNBits' && domain === 'com.microsoft';
}

/** Names that are read as something else than such a weight, in a graph and the graphs in it. */
function otherReads(graph: OnnxGraph, into = new Set<string>()): Set<string> {
  for (const { name } of [...graph.inputs, ...graph.outputs]) into.add(name);
  for (const node of graph.nodes) {
    node.inputs.forEach((name, i) => {
      if (i !== 1 || !readsWords(node)) into.add(name);
    });
    for (const inner of graphsOf(node)) otherReads(inner, into);
  }
  return into;
}

/** Names of such weights, in a graph and the graphs in it. */
function weightNames(graph: OnnxGraph, into = new Set<string>()): Set<string> {
  for (const node of graph.nodes) {
    if (readsWords(node)) into.add(node.inputs[1] ?? '');
    for (const inner of graphsOf(node)) weightNames(inner, into);
  }
  return into;
}

function inWords(literal: TensorLiteral): TensorLiteral {
  const width = literal.shape.at(-1) ?? 0;
  if (literal.type.name !== 'uint8' || width % 4 !== 0) return literal;
  const shape = [...literal.shape.slice(0, -1), width / 4];
  return { ...literal, type: elementType(INT32)!, shape };
}

/** See the file header. */
export function withPackedWords(graph: OnnxGraph): OnnxGraph {
  const weights = weightNames(graph);
  if (weights.size === 0) return graph;
  const others = otherReads(graph);
  const initializers = new Map(
    Array.from(graph.initializers, ([name, literal]) => [
      name,
      weights.has(name) && !others.has(name) ? inWords(literal) : literal,
    ]),
  );
  return { ...graph, initializers };
}
