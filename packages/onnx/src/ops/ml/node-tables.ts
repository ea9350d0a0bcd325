/**
 * @file Numbers in the attributes of `ai.onnx.ml` nodes, as tensors of the file.
 *
 * Models of this domain carry everything in attributes: coefficients, thresholds, trees. A traced call cannot make
 * tensors of numbers and find them again, so they are made once, when the file is read: each node gets further
 * attributes, which its operator reads as constants.
 */
import { TensorProto_DataType as Type } from '../../generated/onnx_pb.js';
import { describeNode, invalidOnnx } from '../../errors.js';
import { elementType } from '../../model/element-types.js';
import type { Kind, ValueOf } from '../../run/node-call.js';
import type { AttributeValue, OnnxNode, TensorLiteral } from '../../model/model.js';

/** Attributes that an operator is given besides those of the file. */
export type NodeTables = Readonly<Record<string, AttributeValue>>;

/** A table of floats, of float32 unless the file has them in float64. */
export function floatTable(
  values: ArrayLike<number>,
  shape: readonly number[] = [values.length],
  isDouble = false,
): AttributeValue {
  const array = isDouble ? Float64Array.from(values) : Float32Array.from(values);
  return table(isDouble ? Type.DOUBLE : Type.FLOAT, array, shape);
}

/** A table of whole numbers. */
export function intTable(
  values: readonly number[],
  shape: readonly number[] = [values.length],
): AttributeValue {
  return table(Type.INT64, BigInt64Array.from(values, BigInt), shape);
}

function table(type: Type, { buffer }: ArrayBufferView, shape: readonly number[]): AttributeValue {
  const bytes = new Uint8Array(buffer);
  return {
    kind: 'tensor',
    value: { name: '', type: elementType(type)!, shape, bytes },
  };
}

/** The attributes of a node while its tables are made. */
export class NodeReader {
  constructor(readonly node: OnnxNode) {}

  /** @throws onnx-invalid always */
  fail(problem: string): never {
    return invalidOnnx(describeNode(this.node), problem);
  }

  private find<K extends Kind>(name: string, ...kinds: K[]): ValueOf<K> | null {
    const found = this.node.attributes.get(name);
    if (found === undefined) return null;
    const names: readonly string[] = kinds;
    if (!names.includes(found.kind)) this.fail(`attribute '${name}' is of kind ${found.kind}`);
    return found.value as ValueOf<K>;
  }

  /** Numbers of a list, or of a tensor; null if there are none. @throws onnx-invalid */
  numbers(name: string): readonly number[] | null {
    const literal = this.literal(`${name}_as_tensor`) ?? this.tensorOrNull(name);
    if (literal !== null) return literalNumbers(literal);
    return this.find(name, 'ints', 'floats');
  }

  /** The same, which have to be there, as many as something else. @throws onnx-invalid */
  some(name: string, count?: number): readonly number[] {
    const found = this.numbers(name) ?? this.fail(`attribute '${name}' is missing`);
    if (count !== undefined && found.length !== count)
      this.fail(`attribute '${name}' has ${found.length} values instead of ${count}`);
    return found;
  }

  /** One number, or what it is if it is not given. @throws onnx-invalid */
  number(name: string, fallback: number): number {
    return this.find(name, 'int', 'float') ?? fallback;
  }

  /** A text, or what it is if it is not given. @throws onnx-invalid */
  text(name: string, fallback: string): string {
    return this.find(name, 'string') ?? fallback;
  }

  /** Texts; null if there are none. @throws onnx-invalid */
  texts(name: string): readonly string[] | null {
    return this.find(name, 'strings');
  }

  /** A tensor; null if there is none. @throws onnx-invalid */
  literal(name: string): TensorLiteral | null {
    return this.find(name, 'tensor');
  }

  /** Whether the file has the numbers of an attribute in float64. */
  isDouble(name: string): boolean {
    const literal = this.literal(`${name}_as_tensor`) ?? this.tensorOrNull(name);
    return literal?.type.dtype === 'float64';
  }

  private tensorOrNull(name: string): TensorLiteral | null {
    return this.node.attributes.get(name)?.kind === 'tensor' ? this.literal(name) : null;
  }
}

/** The numbers of a tensor of the file. */
function literalNumbers({ bytes, type }: TensorLiteral): readonly number[] {
  const { buffer } = bytes.slice();
  switch (type.dtype) {
    case 'float32':
      return Array.from(new Float32Array(buffer));
    case 'float64':
      return Array.from(new Float64Array(buffer));
    case 'int64':
      return Array.from(new BigInt64Array(buffer), Number);
    case 'int32':
      return Array.from(new Int32Array(buffer));
    default:
      return Array.from(bytes);
  }
}
