/**
 * @file Which operators there are, and the report of those that a model needs and that are missing.
 *
 * A handler computes one node: `(call) => result`, or a list for several outputs. `registerOnnxOperator` adds one from
 * outside, also in place of one of ours. Operators on numbers of the host (shapes and what is made of them) are a table
 * of their own, tried first where every input is such, or what they rearrange is.
 */
import { TesseraError } from '@tessera/shared';
import { describeNode } from './errors.js';
import {
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  functionKey,
  graphsOf,
  nodesOf,
} from './model/model.js';
import { HostArray } from './run/host-array.js';
import type { NodeCall } from './run/node-call.js';
import type { Value } from './run/value.js';

/** Computes one output. */
export type OnnxOperator = (call: NodeCall) => Value;
/** Computes several outputs, in the order of the node's. */
export type OnnxListOperator = (call: NodeCall) => readonly Value[];
/** Computes on numbers of the host; null if tensors have to do it. */
export type ShapeOperator = (call: NodeCall) => HostArray | readonly HostArray[] | null;

/** Operators of one family with one output each, by type. */
export type OperatorTable = Readonly<Record<string, OnnxOperator>>;
/** Operators of one family with several outputs. */
export type ListOperatorTable = Readonly<Record<string, OnnxListOperator>>;
/** Operators of one family on numbers of the host. */
export type ShapeOperatorTable = Readonly<Record<string, ShapeOperator>>;

type Handler = (call: NodeCall) => { readonly values: Value | readonly Value[]; isList: boolean };

const operators = new Map<string, Handler>();
/** Operators from outside: what their code reads and does is not known. */
const foreign = new Set<string>();
const shapeOperators = new Map<string, ShapeOperator>();

function keyOf(domain: string, type: string): string {
  return `${domain === 'ai.onnx' ? '' : domain}:${type}`;
}

function single(operator: OnnxOperator): Handler {
  return (call) => ({ values: operator(call), isList: false });
}

function list(operator: OnnxListOperator): Handler {
  return (call) => ({ values: operator(call), isList: true });
}

/** Families that are loaded on demand do not take the place of operators from outside. */
function add(domain: string, type: string, handler: Handler): void {
  const key = keyOf(domain, type);
  if (!foreign.has(key)) operators.set(key, handler);
}

/** Adds the operators of a family to a domain. */
export function addOperators(domain: string, table: OperatorTable): void {
  for (const [type, operator] of Object.entries(table)) add(domain, type, single(operator));
}

/** Adds operators with several outputs. */
export function addListOperators(domain: string, table: ListOperatorTable): void {
  for (const [type, operator] of Object.entries(table)) add(domain, type, list(operator));
}

/** Adds operators on numbers of the host to the standard domain. */
export function addShapeOperators(table: ShapeOperatorTable): void {
  for (const [type, operator] of Object.entries(table)) shapeOperators.set(`:${type}`, operator);
}

/**
 * Adds an operator, or takes the place of one; models imported from then on may use it.
 *
 * @param operator gives one tensor, or a list of them in the order of the node's outputs
 * @throws invalid-argument
 * @example registerOnnxOperator('com.example', 'Scale', (call) => call.tensor(0).mul(call.float('by', 1)));
 */
export function registerOnnxOperator(
  domain: string,
  type: string,
  operator: (call: NodeCall) => Value | readonly Value[],
): void {
  if (type === '' || typeof operator !== 'function')
    throw new TesseraError(
      'invalid-argument',
      'registerOnnxOperator() takes a domain, a type and a function.',
      { hints: ["registerOnnxOperator('com.example', 'Scale', (call) => call.tensor(0))"] },
    );
  const key = keyOf(domain, type);
  foreign.add(key);
  shapeOperators.delete(key);
  operators.set(key, (call) => {
    const values = operator(call);
    return { values, isList: Array.isArray(values) };
  });
}

/** Types of a domain that have a handler, sorted. */
export function onnxOperators(domain = ''): string[] {
  const prefix = keyOf(domain, '');
  return [...operators.keys()]
    .filter((key) => key.startsWith(prefix) && key.lastIndexOf(':') === prefix.length - 1)
    .map((key) => key.slice(prefix.length))
    .sort();
}

/** The handler of a node. */
export function findOperator(node: OnnxNode): Handler | undefined {
  return operators.get(keyOf(node.domain, node.type));
}

/** Operators that only rearrange their first input: all others they read as numbers, whatever they are. */
const ARRANGING: ReadonlySet<string> = new Set([
  'Reshape',
  'Squeeze',
  'Unsqueeze',
  'Slice',
  'Expand',
  'Split',
]);

/** The handler of a node on numbers of the host, if that is what its inputs are. */
export function findShapeOperator(
  node: OnnxNode,
  inputs: readonly Value[],
): ShapeOperator | undefined {
  const decisive = ARRANGING.has(node.type) ? inputs.slice(0, 1) : inputs;
  return decisive.every((value) => value === null || value instanceof HostArray)
    ? shapeOperators.get(keyOf(node.domain, node.type))
    : undefined;
}

/** Whether a model runs code from outside. */
export function usesForeignOperators(model: OnnxModel): boolean {
  return (
    foreign.size > 0 &&
    [...nodesOf(model)].some(({ domain, type }) => foreign.has(keyOf(domain, type)))
  );
}

/** An operator that a model needs and nobody has registered. */
export interface UnsupportedOperator {
  readonly domain: string;
  readonly type: string;
  /** Version of the operator set. */
  readonly opset: number;
  /** Names of the nodes that need it. */
  readonly nodes: readonly string[];
}

/** Everything in a model that cannot run, graphs of control flow and called functions included. */
export function unsupportedOperators(model: OnnxModel): UnsupportedOperator[] {
  const found = new Map<string, UnsupportedOperator & { readonly nodes: string[] }>();
  const visited = new Set<string>();
  const visit = (nodes: readonly OnnxNode[]): void => {
    for (const node of nodes) {
      const called = model.functions.get(functionKey(node));
      if (called !== undefined) {
        if (visited.has(functionKey(node))) continue;
        visited.add(functionKey(node));
        visit(called.nodes);
        continue;
      }
      for (const graph of graphsOf(node)) visitGraph(graph);
      if (findOperator(node) !== undefined) continue;
      const { domain, type, opset } = node;
      const key = keyOf(domain, type);
      const entry = found.get(key) ?? { domain, type, opset, nodes: [] };
      entry.nodes.push(describeNode(node));
      found.set(key, entry);
    }
  };
  const visitGraph = (graph: OnnxGraph): void => visit(graph.nodes);
  visitGraph(model.graph);
  return [...found.values()];
}

/** @throws onnx-unsupported naming every operator that is missing */
export function checkSupported(model: OnnxModel): void {
  const missing = unsupportedOperators(model);
  if (missing.length === 0) return;
  const lines = missing.map(({ domain, type, opset, nodes }) => {
    const more = nodes.length > 3 ? ` and ${nodes.length - 3} more` : '';
    const name = domain === '' ? type : `${domain}.${type}`;
    return `  ${name} (opset ${opset}): ${nodes.slice(0, 3).join(', ')}${more}`;
  });
  throw new TesseraError(
    'onnx-unsupported',
    `ONNX: the model needs operators that are not supported:\n${lines.join('\n')}`,
    {
      context: { operators: missing },
      hints: [
        'Add each with registerOnnxOperator(domain, type, (call) => …) before importOnnx().',
        'Or export the model with another opset, or without these operators.',
      ],
    },
  );
}
