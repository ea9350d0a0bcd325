/**
 * @file `OnnxGraph`: builds an ONNX model as bytes, for ONNX Runtime to load.
 *
 * Field numbers are those of `onnx.proto`. All values are float32.
 *
 * @see https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
 */
import { ProtobufWriter } from './protobuf-writer.js';

/** Version of the file format and of the operator set: the first with LayerNormalization. */
const IR_VERSION = 8;
const OPSET_VERSION = 17;

const FLOAT = 1;
const ATTRIBUTE_FLOAT = 1;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_INTS = 7;

/** An attribute of a node; integers are `int`s unless they are written as `{ float }`, lists are of integers. */
export type OnnxAttribute = number | readonly number[] | { readonly float: number };

/** See the file header. */
export class OnnxGraph {
  readonly #graph = new ProtobufWriter().string(2, 'bench');
  #values = 0;

  /** Declares an input. Returns its name. */
  input(name: string, shape: readonly number[]): string {
    this.#graph.message(11, valueInfo(name, shape));
    return name;
  }

  /** Adds a constant. Returns its name. */
  constant(values: Float32Array, shape: readonly number[]): string {
    const name = `c${this.#values++}`;
    const tensor = new ProtobufWriter();
    for (const size of shape) tensor.int(1, size);
    tensor.int(2, FLOAT).string(8, name);
    tensor.bytes(9, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    this.#graph.message(5, tensor);
    return name;
  }

  /** Adds an operator. Returns the name of its output, which may be given. */
  node(
    type: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    output: string = `v${this.#values++}`,
  ): string {
    const node = new ProtobufWriter();
    for (const input of inputs) node.string(1, input);
    node.string(2, output).string(4, type);
    for (const [name, value] of Object.entries(attributes)) node.message(5, attribute(name, value));
    this.#graph.message(1, node);
    return output;
  }

  /** Declares an output. */
  output(name: string, shape: readonly number[]): this {
    this.#graph.message(12, valueInfo(name, shape));
    return this;
  }

  /** The model file. */
  toBytes(): Uint8Array {
    return new ProtobufWriter()
      .int(1, IR_VERSION)
      .string(2, 'tessera-bench')
      .message(7, this.#graph)
      .message(8, new ProtobufWriter().string(1, '').int(2, OPSET_VERSION))
      .finish();
  }
}

function attribute(name: string, value: OnnxAttribute): ProtobufWriter {
  const message = new ProtobufWriter().string(1, name);
  if (typeof value === 'number') return message.int(3, value).int(20, ATTRIBUTE_INT);
  if ('float' in value) return message.float(2, value.float).int(20, ATTRIBUTE_FLOAT);
  for (const each of value) message.int(8, each);
  return message.int(20, ATTRIBUTE_INTS);
}

function valueInfo(name: string, shape: readonly number[]): ProtobufWriter {
  const dims = new ProtobufWriter();
  for (const size of shape) dims.message(1, new ProtobufWriter().int(1, size));
  const tensor = new ProtobufWriter().int(1, FLOAT).message(2, dims);
  return new ProtobufWriter().string(1, name).message(2, new ProtobufWriter().message(1, tensor));
}
