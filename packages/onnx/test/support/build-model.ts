/**
 * @file Small ONNX files for tests, from lists of nodes.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import {
  AttributeProtoSchema,
  AttributeProto_AttributeType as Kind,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  TensorProtoSchema,
  TensorShapeProtoSchema,
  TensorShapeProto_DimensionSchema,
  TypeProtoSchema,
  TypeProto_TensorSchema,
  ValueInfoProtoSchema,
  type AttributeProto,
  type GraphProto,
  type TensorProto,
  type ValueInfoProto,
} from '../../src/generated/onnx_pb.js';

const FLOAT = 1;
const INT64 = 7;

/** Attributes by name: numbers that are whole are integers, unless they are given as `{ float }` or `{ floats }`. */
export type Attributes = Readonly<
  Record<
    string,
    | number
    | { readonly float: number }
    | { readonly floats: readonly number[] }
    | readonly string[]
    | readonly number[]
    | string
    | TensorProto
    | GraphProto
  >
>;

/** A node: operator, inputs, outputs, attributes. */
export interface NodeSpec {
  readonly op: string;
  readonly in: readonly string[];
  readonly out: readonly string[];
  readonly attributes?: Attributes;
  readonly domain?: string;
}

function attribute(key: string, value: Attributes[string]): AttributeProto {
  const base = { name: key };
  if (typeof value === 'string')
    return create(AttributeProtoSchema, {
      ...base,
      type: Kind.STRING,
      s: new TextEncoder().encode(value),
    });
  if (typeof value === 'number')
    return Number.isInteger(value)
      ? create(AttributeProtoSchema, { ...base, type: Kind.INT, i: BigInt(value) })
      : create(AttributeProtoSchema, { ...base, type: Kind.FLOAT, f: value });
  if (Array.isArray(value))
    return typeof value[0] === 'string'
      ? create(AttributeProtoSchema, {
          ...base,
          type: Kind.STRINGS,
          strings: (value as string[]).map((text) => new TextEncoder().encode(text)),
        })
      : create(AttributeProtoSchema, { ...base, type: Kind.INTS, ints: value.map(BigInt) });
  if ('floats' in (value as object))
    return create(AttributeProtoSchema, {
      ...base,
      type: Kind.FLOATS,
      floats: [...(value as { floats: readonly number[] }).floats],
    });
  if ('float' in (value as object))
    return create(AttributeProtoSchema, {
      ...base,
      type: Kind.FLOAT,
      f: (value as { float: number }).float,
    });
  return 'dims' in (value as object)
    ? create(AttributeProtoSchema, { ...base, type: Kind.TENSOR, t: value as TensorProto })
    : create(AttributeProtoSchema, { ...base, type: Kind.GRAPH, g: value as GraphProto });
}

/** A float tensor. */
export function floats(
  called: string,
  dims: readonly number[],
  values: readonly number[],
): TensorProto {
  return create(TensorProtoSchema, {
    name: called,
    dims: dims.map(BigInt),
    dataType: FLOAT,
    rawData: new Uint8Array(Float32Array.from(values).buffer),
  });
}

/** A tensor of whole numbers, in the typed field. */
export function ints(
  called: string,
  dims: readonly number[],
  values: readonly (number | bigint)[],
): TensorProto {
  return create(TensorProtoSchema, {
    name: called,
    dims: dims.map(BigInt),
    dataType: INT64,
    int64Data: values.map(BigInt),
  });
}

/** A declared value, by default of floats; dimensions are numbers or names. */
export function value(
  called: string,
  shape: readonly (number | string)[],
  elemType: number = FLOAT,
): ValueInfoProto {
  const dim = shape.map((size) =>
    create(TensorShapeProto_DimensionSchema, {
      value:
        typeof size === 'number'
          ? { case: 'dimValue', value: BigInt(size) }
          : { case: 'dimParam', value: size },
    }),
  );
  return create(ValueInfoProtoSchema, {
    name: called,
    type: create(TypeProtoSchema, {
      value: {
        case: 'tensorType',
        value: create(TypeProto_TensorSchema, {
          elemType,
          shape: create(TensorShapeProtoSchema, { dim }),
        }),
      },
    }),
  });
}

/** A graph. */
export interface GraphSpec {
  readonly nodes: readonly NodeSpec[];
  readonly inputs: readonly ValueInfoProto[];
  readonly outputs: readonly ValueInfoProto[];
  readonly initializers?: readonly TensorProto[];
}

/** The message of a graph. */
export function graph({ nodes, inputs, outputs, initializers = [] }: GraphSpec): GraphProto {
  return create(GraphProtoSchema, {
    name: 'test',
    node: nodes.map((node) =>
      create(NodeProtoSchema, {
        opType: node.op,
        name: `${node.op}:${node.out[0]}`,
        domain: node.domain ?? '',
        input: [...node.in],
        output: [...node.out],
        attribute: Object.entries(node.attributes ?? {}).map(([key, each]) => attribute(key, each)),
      }),
    ),
    input: [...inputs],
    output: [...outputs],
    initializer: [...initializers],
  });
}

/** The bytes of a model; domains besides the standard one, with the version of their operators if it is not 1. */
export function model(
  spec: GraphSpec,
  opset = 17,
  domains: readonly (string | readonly [string, number])[] = [],
): Uint8Array {
  return toBinary(
    ModelProtoSchema,
    create(ModelProtoSchema, {
      irVersion: 8n,
      opsetImport: [
        create(OperatorSetIdProtoSchema, { domain: '', version: BigInt(opset) }),
        ...domains.map((each) => {
          const [domain, version] = typeof each === 'string' ? [each, 1] : each;
          return create(OperatorSetIdProtoSchema, { domain, version: BigInt(version) });
        }),
      ],
      graph: graph(spec),
    }),
  );
}
