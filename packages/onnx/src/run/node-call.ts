/**
 * @file `NodeCall`: one run of one node, as its operator's handler sees it.
 *
 * A handler asks for its inputs in the form it needs: `tensor` for what is computed with, `numbers` for what decides
 * shapes, axes and counts. Reading numbers of a tensor ends a compiled graph there (or, on another device than the
 * CPU, needs `OnnxModule.run`), so handlers read only what they cannot do without.
 */
import {
  type DType,
  type DeviceType,
  type Tensor,
  isFloatingPoint,
  isTensor,
} from '@tessera/tensor';
import { describeNode, invalidOnnx, unsupportedForm } from '../errors.js';
import type { AttributeValue, OnnxGraph, OnnxNode, TensorLiteral } from '../model/model.js';
import { HostArray } from './host-array.js';
import type { Run } from './run.js';
import { type Value, isArray, isSequence } from './value.js';

/** Kinds of attributes that have a value. */
export type Kind = keyof Values;
interface Values {
  readonly int: number;
  readonly float: number;
  readonly ints: readonly number[];
  readonly floats: readonly number[];
  readonly string: string;
  readonly strings: readonly string[];
  readonly tensor: TensorLiteral;
  readonly graph: OnnxGraph;
}
/** The value of a kind. */
export type ValueOf<K extends Kind> = Values[K];

/** See the file header. */
export class NodeCall {
  constructor(
    readonly node: OnnxNode,
    readonly inputs: readonly Value[],
    private readonly attributes: ReadonlyMap<string, AttributeValue>,
    private readonly context: Run,
    private readonly scope: ReadonlyMap<string, Value>,
  ) {}

  /** Version of the operator set that the node is written for. */
  get opset(): number {
    return this.node.opset;
  }

  /** Where new tensors are made. */
  get device(): DeviceType {
    return this.context.device;
  }

  /** Whether the model was moved to float64, whatever its file says. */
  get isDouble(): boolean {
    return this.context.state.isDouble();
  }

  /** Number of outputs that the node names. */
  get outputCount(): number {
    return this.node.outputs.length;
  }

  /** Whether an output is wanted. */
  wants(output: number): boolean {
    return (this.node.outputs[output] ?? '') !== '';
  }

  /** @throws onnx-invalid always, with the node's name */
  fail(problem: string): never {
    invalidOnnx(describeNode(this.node), problem);
  }

  /** @throws onnx-unsupported always, with the node's name: `form` is what it asks for */
  unsupported(form: string): never {
    unsupportedForm(this.node, form);
  }

  // ---- inputs

  /** Whether an input is there. */
  has(input: number): boolean {
    return (this.inputs[input] ?? null) !== null;
  }

  /** A tensor or numbers, as they are. @throws onnx-invalid */
  array(input: number): Tensor | HostArray {
    const value = this.inputs[input] ?? null;
    if (isArray(value)) return value;
    return this.fail(value === null ? `input ${input} is missing` : `input ${input} is a sequence`);
  }

  /** A tensor on the device of the call. @throws onnx-invalid */
  tensor(input: number): Tensor {
    return this.asTensor(this.array(input));
  }

  /** The same, or null if it is left out. @throws onnx-invalid */
  optional(input: number): Tensor | null {
    return this.has(input) ? this.tensor(input) : null;
  }

  /** Numbers or a tensor as a tensor on the device of the call; of float64 where the model is, as constants are not. */
  asTensor(value: Tensor | HostArray): Tensor {
    const tensor = value instanceof HostArray ? value.toTensor(this.device) : value;
    const there = tensor.device === this.device ? tensor : tensor.to(this.device);
    return this.isDouble && isFloatingPoint(there.dtype) ? there.to('float64') : there;
  }

  /** All inputs from one on, as tensors. @throws onnx-invalid */
  tensors(from = 0): Tensor[] {
    return this.inputs.slice(from).map((_, i) => this.tensor(from + i));
  }

  /** A sequence. @throws onnx-invalid */
  sequence(input: number): readonly Value[] {
    const value = this.inputs[input] ?? null;
    return isSequence(value) ? value : this.fail(`input ${input} is no sequence`);
  }

  /** Values as numbers of the host, with their shape. @throws onnx-invalid, data-async-only */
  host(input: number): HostArray {
    const value = this.array(input);
    if (value instanceof HostArray) return value;
    return this.context.read(value, describeNode(this.node));
  }

  /** Numbers in row-major order. @throws onnx-invalid, data-async-only */
  numbers(input: number): readonly number[] {
    return this.host(input).data;
  }

  /** The same, or null if it is left out. */
  optionalNumbers(input: number): readonly number[] | null {
    return this.has(input) ? this.numbers(input) : null;
  }

  /** One number. @throws onnx-invalid */
  number(input: number): number {
    const numbers = this.numbers(input);
    if (numbers.length !== 1)
      this.fail(`input ${input} has ${numbers.length} numbers instead of one`);
    return numbers[0]!;
  }

  /** Whether one number is not zero, as a condition. @throws onnx-invalid, data-async-only */
  truth(value: Tensor | HostArray): boolean {
    const { data } =
      value instanceof HostArray ? value : this.context.read(value, describeNode(this.node));
    if (data.length !== 1) this.fail(`a condition has ${data.length} values`);
    return data[0] !== 0;
  }

  /** The shape of an input. */
  shape(input: number): readonly number[] {
    return this.array(input).shape;
  }

  /** The dtype of an input. */
  dtype(input: number): DType {
    return this.array(input).dtype;
  }

  /**
   * A second operand: a number of the host that broadcasts without adding dimensions stays a number, so that kernels
   * get it as a scalar.
   */
  operand(input: number, other: number): Tensor | number {
    const [value, beside] = [this.array(input), this.array(other)];
    const isScalar =
      value instanceof HostArray &&
      value.numel === 1 &&
      value.ndim <= beside.ndim &&
      value.dtype === beside.dtype &&
      value.dtype !== 'bool' &&
      isTensor(beside);
    return isScalar ? value.data[0]! : this.tensor(input);
  }

  // ---- attributes

  private attribute<K extends Kind>(name: string, ...kinds: K[]): ValueOf<K> | undefined {
    const found = this.attributes.get(name);
    if (found === undefined) return undefined;
    if (!kinds.includes(found.kind as K))
      this.fail(`attribute '${name}' is of kind ${found.kind} instead of ${kinds.join(' or ')}`);
    return found.value as ValueOf<K>;
  }

  /** Whether an attribute is given. */
  hasAttribute(name: string): boolean {
    return this.attributes.has(name);
  }

  /** An integer. @throws onnx-invalid if it is missing and has no default */
  int(name: string, fallback?: number): number {
    return this.attribute(name, 'int') ?? fallback ?? this.missing(name);
  }

  /** A flag. */
  flag(name: string, fallback = false): boolean {
    return this.int(name, fallback ? 1 : 0) !== 0;
  }

  /** Integers; null if they are not given. */
  ints(name: string): readonly number[] | null {
    return this.attribute(name, 'ints') ?? null;
  }

  /** A number. @throws onnx-invalid if it is missing and has no default */
  float(name: string, fallback?: number): number {
    return this.attribute(name, 'float', 'int') ?? fallback ?? this.missing(name);
  }

  /** Numbers; null if they are not given. */
  floats(name: string): readonly number[] | null {
    return this.attribute(name, 'floats', 'ints') ?? null;
  }

  /** A text. @throws onnx-invalid if it is missing and has no default */
  text(name: string, fallback?: string): string {
    return this.attribute(name, 'string') ?? fallback ?? this.missing(name);
  }

  /** One of several texts. @throws onnx-invalid */
  choice<const T extends string>(name: string, choices: readonly T[], fallback?: T): T {
    const text = this.text(name, fallback);
    return (
      choices.find((one) => one === text) ??
      this.fail(`attribute '${name}' is '${text}' instead of ${choices.join(', ')}`)
    );
  }

  /** Texts; null if they are not given. */
  texts(name: string): readonly string[] | null {
    return this.attribute(name, 'strings') ?? null;
  }

  /** A tensor of the file; null if it is not given. */
  literal(name: string): TensorLiteral | null {
    return this.attribute(name, 'tensor') ?? null;
  }

  /** The graph of a control-flow operator. @throws onnx-invalid */
  graph(name: string): OnnxGraph {
    return this.attribute(name, 'graph') ?? this.missing(name);
  }

  private missing(name: string): never {
    return this.fail(`attribute '${name}' is missing`);
  }

  // ---- control flow and constants

  /** Runs a graph of an attribute, which sees the names around this node. */
  runGraph(graph: OnnxGraph, inputs: readonly Value[]): Value[] {
    return this.context.runGraph(graph, inputs, this.scope);
  }

  /** The value of a tensor of the file, made once. */
  constant(literal: TensorLiteral): Value {
    return this.context.constant(literal);
  }

  /** A dimension from 0 on. @throws onnx-invalid if it is out of range */
  dim(dim: number, rank: number): number {
    if (dim < -rank || dim >= Math.max(rank, 1))
      this.fail(`dimension ${dim} of a value with ${rank} dimensions`);
    return dim < 0 ? dim + rank : dim;
  }

  /** Dimensions from 0 on. @throws onnx-invalid */
  dims(dims: readonly number[], rank: number): number[] {
    return dims.map((dim) => this.dim(dim, rank));
  }

  /** Axes: an attribute before an opset, an input from it on; null if they are not given. */
  axes(input: number, inputSince: number, name = 'axes'): readonly number[] | null {
    return this.opset >= inputSince ? this.optionalNumbers(input) : this.ints(name);
  }
}
