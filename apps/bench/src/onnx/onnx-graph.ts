/**
 * @file `OnnxGraph`: builds an ONNX model as bytes, for ONNX Runtime to load.
 *
 * Field numbers are those of `onnx.proto`. Values are float32 unless it is said. Operators of ONNX Runtime's own are
 * written with their domain: `com.microsoft:MatMulNBits`.
 *
 * @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
 */
import { ProtobufWriter } from './protobuf-writer.js';

/** Version of the file format and of the operator set: the first with LayerNormalization. */
const IR_VERSION = 8;
const OPSET_VERSION = 17;

const TYPES = { float32: 1, uint8: 2, int32: 6, int64: 7, float16: 10 } as const;
const ATTRIBUTE_FLOAT = 1;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_INTS = 7;
const EXTERNAL = 1;

/** Element type of a value. */
export type OnnxType = keyof typeof TYPES;

/** A size, or the name of one that calls decide. */
export type OnnxSize = number | string;

/** An attribute of a node; integers are `int`s unless they are written as `{ float }`, lists are of integers. */
export type OnnxAttribute = number | readonly number[] | { readonly float: number };

/** Where a tensor's bytes lie outside of the model. */
export interface ExternalBytes {
  readonly location: string;
  readonly offset: number;
  readonly length: number;
}

/** See the file header. */
export class OnnxGraph {
  readonly #graph = new ProtobufWriter().string(2, 'bench');
  readonly #domains = new Set<string>();
  #values = 0;

  /** Declares an input. Returns its name. */
  input(name: string, shape: readonly OnnxSize[], type: OnnxType = 'float32'): string {
    this.#graph.message(11, valueInfo(name, shape, type));
    return name;
  }

  /** Adds a constant. Returns its name. */
  constant(values: Float32Array, shape: readonly number[]): string {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    return this.tensor('float32', shape, bytes);
  }

  /** Adds a constant of any type, with its bytes in the model or outside. Returns its name. */
  tensor(type: OnnxType, shape: readonly number[], bytes: Uint8Array | ExternalBytes): string {
    const name = `c${this.#values++}`;
    const tensor = new ProtobufWriter();
    for (const size of shape) tensor.int(1, size);
    tensor.int(2, TYPES[type]).string(8, name);
    if (bytes instanceof Uint8Array) tensor.bytes(9, bytes);
    else {
      for (const [key, value] of Object.entries(bytes))
        tensor.message(13, new ProtobufWriter().string(1, key).string(2, String(value)));
      tensor.int(14, EXTERNAL);
    }
    this.#graph.message(5, tensor);
    return name;
  }

  /** Adds an operator. Returns the name of its output, which may be given. */
  node(
    type: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    output: string = this.value(),
  ): string {
    this.nodes(type, inputs, attributes, [output]);
    return output;
  }

  /** Adds an operator of several outputs; an empty name is one that is not wanted. */
  nodes(
    type: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>>,
    outputs: readonly string[],
  ): void {
    const [operator, domain = ''] = type.split(':').reverse() as [string, string?];
    this.#domains.add(domain);
    const node = new ProtobufWriter();
    for (const input of inputs) node.string(1, input);
    for (const output of outputs) node.string(2, output);
    node.string(4, operator).string(7, domain);
    for (const [name, value] of Object.entries(attributes)) node.message(5, attribute(name, value));
    this.#graph.message(1, node);
  }

  /** A name that no other value has. */
  value(): string {
    return `v${this.#values++}`;
  }

  /** Declares an output. */
  output(name: string, shape: readonly OnnxSize[], type: OnnxType = 'float32'): this {
    this.#graph.message(12, valueInfo(name, shape, type));
    return this;
  }

  /** The model file. */
  toBytes(): Uint8Array {
    const model = new ProtobufWriter()
      .int(1, IR_VERSION)
      .string(2, 'tessera-bench')
      .message(7, this.#graph);
    for (const domain of new Set(['', ...this.#domains]))
      model.message(
        8,
        new ProtobufWriter().string(1, domain).int(2, domain === '' ? OPSET_VERSION : 1),
      );
    return model.finish();
  }
}

function attribute(name: string, value: OnnxAttribute): ProtobufWriter {
  const message = new ProtobufWriter().string(1, name);
  if (typeof value === 'number') return message.int(3, value).int(20, ATTRIBUTE_INT);
  if ('float' in value) return message.float(2, value.float).int(20, ATTRIBUTE_FLOAT);
  for (const each of value) message.int(8, each);
  return message.int(20, ATTRIBUTE_INTS);
}

function valueInfo(name: string, shape: readonly OnnxSize[], type: OnnxType): ProtobufWriter {
  const dims = new ProtobufWriter();
  for (const size of shape) {
    const dim = new ProtobufWriter();
    dims.message(1, typeof size === 'number' ? dim.int(1, size) : dim.string(2, size));
  }
  const tensor = new ProtobufWriter().int(1, TYPES[type]).message(2, dims);
  return new ProtobufWriter().string(1, name).message(2, new ProtobufWriter().message(1, tensor));
}
