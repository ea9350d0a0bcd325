/**
 * @file `Run`: one call of a model, node after node.
 *
 * Control flow runs graphs inside: these see the names around them. Functions of the model run in a scope of their
 * own. A value is let go after its last use. Where a node reads a value that another device has still to deliver, it
 * is run again when the value is there (`runAsync`): reads of one node come in the same order each time, so the
 * answers are kept by number.
 */
import type { DeviceType, Tensor } from '@tessera/tensor';
import { TesseraError, isTesseraError } from '@tessera/shared';
import { describeNode, invalidOnnx } from '../errors.js';
import {
  type AttributeValue,
  type OnnxFunction,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  type TensorLiteral,
  functionKey,
} from '../model/model.js';
import { findOperator, findShapeOperator, usesForeignOperators } from '../registry.js';
import type { FoldedNodes } from './fold-constants.js';
import { keepTypes } from './kept-types.js';
import { HostArray, ValueWanted, hostCopy } from './host-array.js';
import { lastUsesOf } from './last-uses.js';
import { NodeCall } from './node-call.js';
import type { Value } from './value.js';

/** What stays the same from call to call. */
export interface RunState {
  readonly model: OnnxModel;
  /** Values of initialisers by graph: parameters, buffers and constants. */
  initializers(graph: OnnxGraph): ReadonlyMap<string, Value>;
  /** Whether the model was moved to float64. */
  isDouble(): boolean;
  /** Numbers of an initialiser that decide something, such as scales; undefined for other tensors. */
  known(tensor: Tensor): HostArray | undefined;
  /** The value of a tensor in an attribute. */
  constant(literal: TensorLiteral): Value;
  /** Values of nodes that are the same in every call. */
  readonly folded: FoldedNodes;
}

type Scope = Map<string, Value>;
type Attributes = ReadonlyMap<string, AttributeValue>;

const NO_ATTRIBUTES: Attributes = new Map();
/** Codes that say that arguments do not fit: such an error is told with the name of the node. */
const ARGUMENT_CODES = new Set<string>([
  'shape-mismatch',
  'dtype-mismatch',
  'dtype-unsupported',
  'invalid-argument',
  'invalid-dim',
  'index-out-of-range',
  'schema-arguments',
  'out-of-memory',
]);

/** An error of an operator with the name of its node. */
function atNode(error: unknown, node: OnnxNode): unknown {
  const where = describeNode(node);
  if (isTesseraError(error)) {
    if (!ARGUMENT_CODES.has(error.code)) return error;
    const [message] = error.message.split('\n→');
    return new TesseraError(error.code, `ONNX: ${where}: ${message!.split('\nSee ')[0]}`, {
      context: { ...error.context, node: node.name },
      hints: error.hints,
      cause: error,
    });
  }
  if (!(error instanceof TypeError || error instanceof RangeError)) return error;
  return new TesseraError('onnx-invalid', `ONNX: ${where}: its inputs do not fit the operator`, {
    context: { where, reason: error.message },
    hints: ['Check their number, types and shapes.'],
    cause: error,
  });
}

/** See the file header. */
export class Run {
  /** Values that the running node of the outermost graph has read, in order. */
  private answers: HostArray[] = [];
  private asked = 0;
  private readonly folded: FoldedNodes;

  constructor(
    readonly state: RunState,
    readonly device: DeviceType,
  ) {
    // Operators from outside may have come after the model.
    this.folded = usesForeignOperators(state.model) ? new Map() : state.folded;
  }

  /** The numbers of a tensor. @throws data-async-only */
  read(tensor: Tensor, where: string): HostArray {
    const known = this.state.known(tensor);
    if (known !== undefined) return known;
    if (tensor.device === 'cpu') return hostCopy(tensor);
    const answer = this.answers[this.asked++];
    if (answer === undefined) throw new ValueWanted(tensor, where);
    return answer;
  }

  /** The value of a tensor in an attribute. */
  constant(literal: TensorLiteral): Value {
    return this.state.constant(literal);
  }

  /** Runs the model's own graph. @throws onnx-invalid, data-async-only */
  main(inputs: ReadonlyMap<string, Value>): Value[] {
    const { graph } = this.state.model;
    const scope = this.scopeOf(graph, inputs);
    this.runNodes(graph.nodes, scope, lastUsesOf(graph), NO_ATTRIBUTES);
    return this.results(graph, scope);
  }

  /** The same, waiting for values that are read from another device. @throws onnx-invalid */
  async mainAsync(inputs: ReadonlyMap<string, Value>): Promise<Value[]> {
    const { graph } = this.state.model;
    const scope = this.scopeOf(graph, inputs);
    const last = lastUsesOf(graph);
    for (let i = 0; i < graph.nodes.length; i++) {
      this.answers = [];
      for (;;) {
        this.asked = 0;
        try {
          this.runNode(graph.nodes[i]!, scope, NO_ATTRIBUTES);
          break;
        } catch (error) {
          if (!(error instanceof ValueWanted)) throw error;
          const { tensor } = error;
          const data = (await tensor.detach().reshape([-1]).toArray()) as (number | boolean)[];
          this.answers.push(new HostArray(tensor.dtype, [...tensor.shape], data.map(Number)));
        }
      }
      for (const name of last[i]!) scope.delete(name);
    }
    return this.results(graph, scope);
  }

  /** Runs a graph of an attribute. */
  runGraph(
    graph: OnnxGraph,
    inputs: readonly Value[],
    around: ReadonlyMap<string, Value>,
  ): Value[] {
    if (inputs.length > graph.inputs.length)
      invalidOnnx(
        `graph '${graph.name}'`,
        `it has ${graph.inputs.length} inputs, not ${inputs.length}`,
      );
    const scope = new Map(around);
    for (const [name, value] of this.state.initializers(graph)) scope.set(name, value);
    inputs.forEach((value, i) => scope.set(graph.inputs[i]!.name, value));
    this.runNodes(graph.nodes, scope, null, this.attributesAround(around));
    return this.outputs(graph, scope);
  }

  /** Attributes of the function that a scope belongs to. */
  private attributesAround(scope: ReadonlyMap<string, Value>): Attributes {
    return this.functionAttributes.get(scope) ?? NO_ATTRIBUTES;
  }

  private readonly functionAttributes = new WeakMap<ReadonlyMap<string, Value>, Attributes>();

  private scopeOf(graph: OnnxGraph, inputs: ReadonlyMap<string, Value>): Scope {
    return new Map([...this.state.initializers(graph), ...inputs]);
  }

  /** What the model gives: nothing is missing but optionals, which have no element type. @throws onnx-invalid */
  private results(graph: OnnxGraph, scope: Scope): Value[] {
    const values = this.outputs(graph, scope);
    const lost = graph.outputs.find(({ type }, i) => type !== null && values[i] === null);
    if (lost === undefined) return values;
    return invalidOnnx(`graph '${graph.name}'`, `nothing gives its output '${lost.name}'`);
  }

  private outputs(graph: OnnxGraph, scope: Scope): Value[] {
    return graph.outputs.map(({ name }) => scope.get(name) ?? null);
  }

  private runNodes(
    nodes: readonly OnnxNode[],
    scope: Scope,
    last: readonly (readonly string[])[] | null,
    outer: Attributes,
  ): void {
    if (outer !== NO_ATTRIBUTES) this.functionAttributes.set(scope, outer);
    for (let i = 0; i < nodes.length; i++) {
      this.runNode(nodes[i]!, scope, outer);
      if (last !== null) for (const name of last[i]!) scope.delete(name);
    }
  }

  private runNode(node: OnnxNode, scope: Scope, outer: Attributes): void {
    const known = this.folded.get(node);
    if (known !== undefined) {
      node.outputs.forEach((name, i) => name !== '' && scope.set(name, known[i]!));
      return;
    }
    const inputs = node.inputs.map((name) => (name === '' ? null : (scope.get(name) ?? null)));
    const attributes = resolved(node, outer);
    let results: Value | readonly Value[];
    let many = false;
    const called = this.state.model.functions.get(functionKey(node));
    try {
      if (called !== undefined) {
        results = this.runFunction(node, called, inputs, attributes);
        many = true;
      } else {
        const call = new NodeCall(node, inputs, attributes, this, scope);
        const onHost = findShapeOperator(node, inputs)?.(call);
        if (onHost !== undefined && onHost !== null) {
          results = onHost;
          many = Array.isArray(onHost);
        } else {
          const handler = findOperator(node);
          if (handler === undefined) invalidOnnx(describeNode(node), 'its operator is not known');
          const { values, isList } = handler(call);
          results = values;
          many = isList;
        }
      }
    } catch (error) {
      throw atNode(error, node);
    }
    const list = keepTypes(node, inputs, many ? (results as readonly Value[]) : [results]);
    for (let i = 0; i < node.outputs.length; i++)
      if (node.outputs[i] !== '') scope.set(node.outputs[i]!, list[i] ?? null);
  }

  private runFunction(
    node: OnnxNode,
    called: OnnxFunction,
    inputs: readonly Value[],
    attributes: Attributes,
  ): Value[] {
    for (const each of ['inputs', 'outputs'] as const)
      if (node[each].length > called[each].length)
        invalidOnnx(
          describeNode(node),
          `its function has ${called[each].length} ${each}, not ${node[each].length} ${each}`,
        );
    const scope: Scope = new Map(called.inputs.map((name, i) => [name, inputs[i] ?? null]));
    const given = new Map([...called.attributes, ...attributes]);
    this.runNodes(called.nodes, scope, null, given);
    return called.outputs.map((name) => scope.get(name) ?? null);
  }
}

/** The attributes of a node, those that refer to the function's own replaced by them. */
function resolved(node: OnnxNode, outer: Attributes): Attributes {
  let isPlain = true;
  for (const { kind } of node.attributes.values()) if (kind === 'reference') isPlain = false;
  if (isPlain) return node.attributes;
  const attributes = new Map<string, AttributeValue>();
  for (const [name, attribute] of node.attributes) {
    const value = attribute.kind === 'reference' ? outer.get(attribute.value) : attribute;
    if (value !== undefined) attributes.set(name, value);
  }
  return attributes;
}
