/**
 * @file Weights of four and eight bits that only `MatMulNBits` reads, as words of 32 bits that the product of such weights
 * reads on every device: the same bytes, those of eight bits less 128, as that product takes numbers with a sign.
 */
import { elementType } from './element-types.js';
import { type OnnxGraph, type OnnxNode, type TensorLiteral, graphsOf } from './model.js';

/** The code of int32 in a file. */
const INT32 = 6;

/** Bits of the weight that a node reads as words; null if it reads none so. */
function bitsOfWords({ type, domain, attributes, inputs }: OnnxNode): number | null {
  if (type !== 'MatMulNBits' || domain !== 'com.microsoft') return null;
  const bits = attributes.get('bits')?.value ?? 4;
  // Columns in an order of their own have no product.
  return bits === 4 || (bits === 8 && (inputs[4] ?? '') === '') ? bits : null;
}

/** Names that are read as something else than such a weight, in a graph and the graphs in it. */
function otherReads(graph: OnnxGraph, into = new Set<string>()): Set<string> {
  for (const { name } of [...graph.inputs, ...graph.outputs]) into.add(name);
  for (const node of graph.nodes) {
    node.inputs.forEach((name, i) => {
      if (i !== 1 || bitsOfWords(node) === null) into.add(name);
    });
    for (const inner of graphsOf(node)) otherReads(inner, into);
  }
  return into;
}

/** Names of such weights with the bits that each reader gives them, in a graph and the graphs in it. */
function readersOf(
  graph: OnnxGraph,
  into = new Map<string, Set<number>>(),
): Map<string, Set<number>> {
  for (const node of graph.nodes) {
    const bits = bitsOfWords(node);
    const name = node.inputs[1] ?? '';
    if (bits !== null) into.set(name, new Set([...(into.get(name) ?? []), bits]));
    for (const inner of graphsOf(node)) readersOf(inner, into);
  }
  return into;
}

/** Bytes less 128, as bits of a number with a sign. */
const signed = (bytes: Uint8Array): Uint8Array => bytes.map((byte) => byte ^ 128);

function inWords(literal: TensorLiteral, bits: number): TensorLiteral {
  const width = literal.shape.at(-1) ?? 0;
  if (literal.type.name !== 'uint8' || width % 4 !== 0) return literal;
  const shape = [...literal.shape.slice(0, -1), width / 4];
  const bytes = bits === 8 ? signed(literal.bytes) : literal.bytes;
  return { ...literal, type: elementType(INT32)!, shape, bytes };
}

/** See the file header. */
export function withPackedWords(graph: OnnxGraph): OnnxGraph {
  const readers = readersOf(graph);
  if (readers.size === 0) return graph;
  const others = otherReads(graph);
  const initializers = new Map(
    Array.from(graph.initializers, ([name, literal]) => {
      const [bits, ...more] = others.has(name) ? [] : (readers.get(name) ?? []);
      const isOne = bits !== undefined && more.length === 0;
      return [name, isOne ? inWords(literal, bits) : literal];
    }),
  );
  return { ...graph, initializers };
}
