/**
 * @file Nodes whose values are the same in every call: arithmetic on constants of the file.
 *
 * They are computed once, and their tensors made once: a traced call finds those on the module, as it finds constants.
 * What is made of initialisers is not among them, since those may change.
 */
import { type OnnxGraph, type OnnxNode, graphsOf } from '../model/model.js';
import { findOperator, findShapeOperator } from '../registry.js';
import { HostArray } from './host-array.js';
import { NodeCall } from './node-call.js';
import type { Run } from './run.js';
import type { Value } from './value.js';

/** Values of nodes, in the order of their outputs. */
export type FoldedNodes = ReadonlyMap<OnnxNode, readonly HostArray[]>;
type Known = Map<string, HostArray>;

/** The constant nodes of a graph and of those in it. */
export function foldConstants(graph: OnnxGraph, run: Run): FoldedNodes {
  const folded = new Map<OnnxNode, readonly HostArray[]>();
  const visit = ({ nodes, inputs, initializers }: OnnxGraph, around: Known): void => {
    const known = new Map(around);
    for (const name of [...inputs.map((input) => input.name), ...initializers.keys()])
      known.delete(name);
    for (const node of nodes) {
      for (const inner of graphsOf(node)) visit(inner, known);
      const values = valuesOf(node, known, run);
      if (values !== null) folded.set(node, values);
      node.outputs.forEach((name, i) => {
        const value = values?.[i];
        if (value === undefined) known.delete(name);
        else known.set(name, value);
      });
    }
  };
  visit(graph, new Map());
  return folded;
}

function valuesOf(node: OnnxNode, known: Known, run: Run): HostArray[] | null {
  const inputs = node.inputs.map((name): Value | undefined =>
    name === '' ? null : known.get(name),
  );
  const isPlain = [...node.attributes.values()].every(({ kind }) => kind !== 'reference');
  if (!isPlain || !inputs.every((value) => value !== undefined)) return null;
  const call = new NodeCall(node, inputs, node.attributes, run, known);
  try {
    const made =
      node.type === 'Constant' && node.domain === ''
        ? findOperator(node)!(call).values
        : (findShapeOperator(node, inputs)?.(call) ?? null);
    const list = Array.isArray(made) ? made : [made];
    if (!list.every((value) => value instanceof HostArray)) return null;
    return list.map(({ dtype, shape, data }) => new HostArray(dtype, shape, data, true));
  } catch {
    // The call says what is wrong, with the name of the node.
    return null;
  }
}
