/**
 * @file Bytes of an ONNX file → a checked model.
 *
 * Checked here: that names are produced, once and not of themselves, that attributes have the fields of their type,
 * that every domain has an operator-set version, and how deep graphs and functions nest.
 */
import { fromBinary } from '@bufbuild/protobuf';
import {
  type AttributeProto,
  AttributeProto_AttributeType as Kind,
  type FunctionProto,
  type GraphProto,
  type ModelProto,
  ModelProtoSchema,
  type NodeProto,
  type OperatorSetIdProto,
  type ValueInfoProto,
} from '../generated/onnx_pb.js';
import { describeNode, invalidOnnx } from '../errors.js';
import { elementType } from './element-types.js';
import {
  type AttributeValue,
  type OnnxFunction,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  type TensorLiteral,
  type ValueDescription,
  functionKey,
} from './model.js';
import { inOrder } from './node-order.js';
import { withOwnStatistics } from './own-statistics.js';
import { withPackedWords } from './packed-words.js';
import { type ExternalBytes, readTensorLiteral } from './tensor-literal.js';

/** Graphs inside graphs that are followed. */
const MAX_DEPTH = 64;

/** Nodes that a function may run, those of functions that it calls included: each level may double them. */
const MAX_EXPANDED = 2 ** 20;

/** What reading a graph needs to know of its surroundings. */
interface Surroundings {
  readonly opsets: ReadonlyMap<string, number>;
  readonly external: ExternalBytes;
  /** Names of enclosing graphs; null in a function, whose names are checked by themselves. */
  readonly outer: ReadonlySet<string>;
  readonly depth: number;
}

/** The message of a file. @throws onnx-invalid */
export function parseModel(bytes: Uint8Array): ModelProto {
  let model: ModelProto;
  try {
    model = fromBinary(ModelProtoSchema, bytes);
  } catch (cause) {
    invalidOnnx('the file', 'its bytes are no ONNX model, or they are cut off', { cause });
  }
  if (model.graph === undefined) invalidOnnx('the file', 'it has no graph');
  return model;
}

/** Domains are spelled in two ways. */
function domainOf(name: string): string {
  return name === 'ai.onnx' ? '' : name;
}

function opsetsOf(list: readonly OperatorSetIdProto[], where: string): Map<string, number> {
  const opsets = new Map<string, number>();
  for (const { domain, version } of list) {
    if (version < 1n || version > 1000n)
      invalidOnnx(where, `version ${version} of operator set '${domain}'`);
    opsets.set(domainOf(domain), Number(version));
  }
  return opsets;
}

function numberOf(value: bigint, where: string): number {
  // -1 << 63 and its like stand for "as far as there is".
  const limit = BigInt(Number.MAX_SAFE_INTEGER);
  if (value > limit) return Number.MAX_SAFE_INTEGER;
  if (value < -limit) return -Number.MAX_SAFE_INTEGER;
  return typeof value === 'bigint' ? Number(value) : invalidOnnx(where, 'an integer is missing');
}

const UTF8 = new TextDecoder();

function readAttribute(proto: AttributeProto, where: string, around: Surroundings): AttributeValue {
  const at = `${where}, attribute '${proto.name}'`;
  if (proto.refAttrName !== '') return { kind: 'reference', value: proto.refAttrName };
  switch (proto.type) {
    case Kind.INT:
      return { kind: 'int', value: numberOf(proto.i, at) };
    case Kind.FLOAT:
      return { kind: 'float', value: proto.f };
    case Kind.STRING:
      return { kind: 'string', value: UTF8.decode(proto.s) };
    case Kind.INTS:
      return { kind: 'ints', value: proto.ints.map((value) => numberOf(value, at)) };
    case Kind.FLOATS:
      return { kind: 'floats', value: proto.floats };
    case Kind.STRINGS:
      return { kind: 'strings', value: proto.strings.map((value) => UTF8.decode(value)) };
    case Kind.TENSOR:
      if (proto.t === undefined) invalidOnnx(at, 'its tensor is missing');
      return { kind: 'tensor', value: readTensorLiteral(proto.t, at, around.external) };
    case Kind.GRAPH:
      if (proto.g === undefined) invalidOnnx(at, 'its graph is missing');
      return {
        kind: 'graph',
        value: readGraph(proto.g, { ...around, depth: around.depth + 1 }),
      };
    default:
      return { kind: 'other', value: null };
  }
}

function readNode(proto: NodeProto, around: Surroundings): OnnxNode {
  const plain = { name: proto.name, type: proto.opType, outputs: proto.output };
  const where = describeNode(plain);
  if (proto.opType === '') invalidOnnx(where, 'it names no operator');
  const domain = domainOf(proto.domain);
  const attributes = new Map<string, AttributeValue>();
  for (const attribute of proto.attribute) {
    if (attributes.has(attribute.name)) invalidOnnx(where, `two attributes '${attribute.name}'`);
    attributes.set(attribute.name, readAttribute(attribute, where, around));
  }
  // The contrib domains come without a version in some files.
  const opset = around.opsets.get(domain) ?? (domain === '' ? undefined : 1);
  if (opset === undefined) invalidOnnx(where, 'the model has no version of the standard operators');
  return {
    ...plain,
    domain,
    overload: proto.overload,
    inputs: proto.input,
    attributes,
    opset,
  };
}

/** Reads nodes, each behind what it reads; `known` grows by what they give. */
function readNodes(
  protos: readonly NodeProto[],
  known: Set<string>,
  around: Surroundings,
  given: readonly string[],
): OnnxNode[] {
  const own = new Set<string>(given);
  return inOrder(protos).map((proto) => {
    const node = readNode(proto, { ...around, outer: known });
    const where = describeNode(node);
    for (const input of node.inputs)
      if (input !== '' && !known.has(input))
        invalidOnnx(where, `nothing before it gives its input '${input}'`);
    for (const output of node.outputs) {
      if (output === '') continue;
      if (own.has(output)) invalidOnnx(where, `there is a '${output}' already`);
      own.add(output);
      known.add(output);
    }
    return node;
  });
}

function readValue(proto: ValueInfoProto): ValueDescription {
  const tensor = proto.type?.value.case === 'tensorType' ? proto.type.value.value : null;
  return {
    name: proto.name,
    type: tensor === null ? null : (elementType(tensor.elemType) ?? null),
    shape:
      tensor?.shape?.dim.map(({ value }) => {
        if (value.case === 'dimValue') return Number(value.value);
        return value.case === 'dimParam' && value.value !== '' ? value.value : null;
      }) ?? null,
  };
}

function readGraph(proto: GraphProto, around: Surroundings): OnnxGraph {
  const where = `graph '${proto.name}'`;
  if (around.depth > MAX_DEPTH) invalidOnnx(where, `graphs nest deeper than ${MAX_DEPTH}`);
  const known = new Set(around.outer);
  const initializers = new Map<string, TensorLiteral>();
  for (const tensor of proto.initializer) {
    const at = `initializer '${tensor.name}'`;
    if (tensor.name === '') invalidOnnx(where, 'an initializer has no name');
    if (initializers.has(tensor.name)) invalidOnnx(at, 'there are two of this name');
    initializers.set(tensor.name, readTensorLiteral(tensor, at, around.external));
    known.add(tensor.name);
  }
  if (proto.sparseInitializer.length > 0)
    invalidOnnx(where, 'sparse initializers are not supported', {
      hint: 'Export the model with dense weights.',
    });
  const inputs = proto.input.map(readValue);
  const names = inputs.map(({ name }) => name);
  for (const [i, input] of names.entries()) {
    if (names.indexOf(input) !== i) invalidOnnx(where, `two inputs are called '${input}'`);
    known.add(input);
  }
  const nodes = readNodes(proto.node, known, around, [...names, ...initializers.keys()]);
  const outputs = proto.output.map(readValue);
  for (const { name: output } of outputs)
    if (!known.has(output)) invalidOnnx(where, `nothing gives its output '${output}'`);
  return { name: proto.name, nodes, initializers, inputs, outputs };
}

function readFunction(
  proto: FunctionProto,
  model: ReadonlyMap<string, number>,
  external: ExternalBytes,
): OnnxFunction {
  const where = `function '${proto.name}'`;
  const opsets = new Map([...model, ...opsetsOf(proto.opsetImport, where)]);
  const around = { opsets, external, outer: new Set<string>(), depth: 0 };
  const known = new Set(proto.input);
  const nodes = readNodes(proto.node, known, around, proto.input);
  for (const output of proto.output)
    if (!known.has(output)) invalidOnnx(where, `nothing gives its output '${output}'`);
  const attributes = new Map(
    proto.attributeProto.map((attribute) => [
      attribute.name,
      readAttribute(attribute, where, around),
    ]),
  );
  return { inputs: proto.input, outputs: proto.output, nodes, attributes };
}

/** Functions that call themselves would never end, and those that double at each level neither. @throws onnx-invalid */
function checkRecursion(functions: ReadonlyMap<string, OnnxFunction>): void {
  /** Nodes that are run in each; null while they are counted. */
  const counts = new Map<string, number | null>();
  const visit = (key: string, depth: number): number => {
    const called = functions.get(key);
    if (called === undefined) return 1;
    const known = counts.get(key);
    if (typeof known === 'number') return known;
    const where = `function '${key.split(':')[1]}'`;
    if (known === null || depth > MAX_DEPTH)
      invalidOnnx(where, 'it calls itself, or functions nest too deep');
    counts.set(key, null);
    let count = 0;
    const nodes = [...called.nodes];
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i]!;
      for (const attribute of node.attributes.values())
        if (attribute.kind === 'graph') nodes.push(...attribute.value.nodes);
      count += visit(functionKey(node), depth + 1);
    }
    if (count > MAX_EXPANDED) invalidOnnx(where, `it grows to ${count} nodes`);
    counts.set(key, count);
    return count;
  };
  for (const key of functions.keys()) visit(key, 0);
}

/** A message, checked. @throws onnx-invalid, onnx-unsupported */
export function readModel(proto: ModelProto, external: ExternalBytes): OnnxModel {
  const opsets = opsetsOf(proto.opsetImport, 'the file');
  const functions = new Map<string, OnnxFunction>();
  for (const each of proto.functions) {
    const key = functionKey({
      domain: domainOf(each.domain),
      type: each.name,
      overload: each.overload,
    });
    functions.set(key, readFunction(each, opsets, external));
  }
  checkRecursion(functions);
  const written = readGraph(proto.graph!, { opsets, external, outer: new Set(), depth: 0 });
  const graph = withPackedWords(withOwnStatistics(written));
  const producer = `${proto.producerName} ${proto.producerVersion}`.trim();
  return { graph, functions, opsets, producer };
}
