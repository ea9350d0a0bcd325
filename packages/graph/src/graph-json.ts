/**
 * @file Graphs as JSON and back.
 *
 * Operators and host functions are written by name, so whoever reads the graph needs them registered.
 * Tensor attributes are not part of the JSON (they belong in a safetensors file); only their paths are.
 * Of the metadata what is plain data is kept, aliasing between values included.
 */
import {
  type DType,
  type DeviceType,
  Storage,
  type Tensor,
  getOp,
  isTensor,
  makeTensor,
} from '@tessera/tensor';
import { type JsonSize, type SymInt, decodeSize, encodeSize } from '@tessera/shared';
import { type JsonArgument, decodeArgument, encodeArgument } from './argument-json.js';
import { graphError } from './graph-error.js';
import { Graph } from './graph.js';
import { hostFunction, hostFunctionName } from './host-functions.js';
import { GraphSymbols, type JsonSymbols } from './symbolic/graph-symbols.js';
import type { SymbolicShape, SymbolicVal } from './symbolic/symbolic-shape.js';
import type { HostFunction, Node, NodeMeta, Opcode, Target } from './node.js';

type JsonTarget = string | { readonly op: string } | { readonly host: string };

interface JsonTensor {
  readonly dtype: DType;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  /** Index into `storages`. */
  readonly storage: number;
  readonly requiresGrad?: true;
}

interface JsonShape {
  readonly sizes: readonly JsonSize[];
  readonly strides: readonly (JsonSize | null)[];
}

type JsonVal = number | boolean | null | JsonTensor | readonly (JsonTensor | null)[];

type PlainMeta = Pick<
  NodeMeta,
  'stackTrace' | 'seqNr' | 'isBackward' | 'nnModuleStack' | 'sourceFn' | 'source' | 'scalar'
>;

const PLAIN_KEYS = [
  'stackTrace',
  'seqNr',
  'isBackward',
  'nnModuleStack',
  'sourceFn',
  'source',
  'scalar',
] as const;

interface JsonNode {
  readonly name: string;
  readonly op: Opcode;
  readonly target: JsonTarget;
  readonly args: readonly JsonArgument[];
  readonly meta: PlainMeta & {
    val?: JsonVal;
    shape?: JsonShape | readonly (JsonShape | null)[];
    originalAten?: string;
  };
}

/** A graph as plain data. */
export interface JsonGraph {
  readonly version: 1;
  readonly nodes: readonly JsonNode[];
  readonly storages: readonly { readonly device: DeviceType; readonly nbytes: number }[];
  /** Sizes that vary, if any. */
  readonly symbols?: JsonSymbols;
}

/** Writes a graph. @throws graph-lint when it calls a function that is not registered */
export function graphToJson(graph: Graph): JsonGraph {
  const storages = new Map<Storage, number>();
  const nodes = graph.nodes.map((node): JsonNode => ({
    name: node.name,
    op: node.op,
    target: targetToJson(node),
    args: node.args.map(encodeArgument),
    meta: metaToJson(node.meta, storages, graph.symbols !== null),
  }));
  return {
    version: 1,
    nodes,
    storages: [...storages.keys()].map(({ device, nbytes }) => ({ device, nbytes })),
    ...(graph.symbols === null ? {} : { symbols: graph.symbols.toJSON() }),
  };
}

/** Reads a graph. @throws graph-lint, op-unknown */
export function graphFromJson(json: JsonGraph): Graph {
  if (json.version !== 1)
    throw graphError(
      `Graph format version ${String(json.version)} is not known.`,
      'Write the graph with this version of the package.',
    );
  const graph = new Graph();
  if (json.symbols !== undefined) graph.symbols = GraphSymbols.fromJSON(json.symbols);
  const symbols = graph.symbols?.byName ?? new Map<string, SymInt>();
  const storages = json.storages.map(({ device, nbytes }) => Storage.fake(device, nbytes));
  const nodes = new Map<string, Node>();
  for (const item of json.nodes) {
    const node = graph.createNode(
      item.op,
      targetFromJson(item.target),
      item.args.map((arg) => decodeArgument(arg, nodes, symbols)),
      item.name,
    );
    if (node.name !== item.name)
      throw graphError(
        `The name '${item.name}' is used twice or is not allowed.`,
        'The file was not written by graphToJson.',
      );
    node.meta = metaFromJson(item.meta, storages);
    if (item.meta.shape !== undefined)
      node.meta.symbolicVal = shapeFromJson(item.meta.shape, symbols);
    nodes.set(item.name, node);
  }
  graph.lint();
  return graph;
}

function targetToJson(node: Node): JsonTarget {
  const { target } = node;
  if (typeof target === 'string') return target;
  if (typeof target === 'object') return { op: target.qualifiedName };
  const name = hostFunctionName(target as HostFunction);
  if (name !== undefined) return { host: name };
  throw graphError(
    `Node '${node.name}' calls the function '${target.name}', which has no registered name.`,
    'Register it with registerHostFunction.',
  );
}

function targetFromJson(target: JsonTarget): Target {
  if (typeof target === 'string') return target;
  return 'op' in target ? getOp(target.op) : hostFunction(target.host);
}

function metaToJson(
  meta: NodeMeta,
  storages: Map<Storage, number>,
  symbolic: boolean,
): JsonNode['meta'] {
  const out: Record<string, unknown> = {};
  for (const key of PLAIN_KEYS) if (meta[key] !== undefined) out[key] = meta[key];
  if (meta.originalAten !== undefined) out.originalAten = meta.originalAten.qualifiedName;
  if (meta.val !== undefined) out.val = valToJson(meta.val, storages);
  if (symbolic && meta.symbolicVal !== undefined) out.shape = shapeToJson(meta.symbolicVal);
  return out as JsonNode['meta'];
}

function valToJson(
  val: NonNullable<NodeMeta['val']> | null,
  storages: Map<Storage, number>,
): JsonVal {
  if (val === null || typeof val !== 'object') return val;
  if (isTensor(val)) return tensorToJson(val, storages);
  return (val as readonly (Tensor | null)[]).map((item) =>
    item === null ? null : tensorToJson(item, storages),
  );
}

function shapeToJson(val: SymbolicVal): JsonShape | (JsonShape | null)[] {
  const one = ({ sizes, strides }: SymbolicShape): JsonShape => ({
    sizes: sizes.map(encodeSize),
    strides: strides.map((stride) => (stride === null ? null : encodeSize(stride))),
  });
  return 'sizes' in val ? one(val) : val.map((shape) => (shape === null ? null : one(shape)));
}

function shapeFromJson(
  json: JsonShape | readonly (JsonShape | null)[],
  symbols: ReadonlyMap<string, SymInt>,
): SymbolicVal {
  const one = ({ sizes, strides }: JsonShape): SymbolicShape => ({
    sizes: sizes.map((size) => decodeSize(size, symbols)),
    strides: strides.map((stride) => (stride === null ? null : decodeSize(stride, symbols))),
  });
  return 'sizes' in json ? one(json) : json.map((shape) => (shape === null ? null : one(shape)));
}

function tensorToJson(tensor: Tensor, storages: Map<Storage, number>): JsonTensor {
  let storage = storages.get(tensor.storage);
  if (storage === undefined) storages.set(tensor.storage, (storage = storages.size));
  const json: JsonTensor = {
    dtype: tensor.dtype,
    sizes: [...tensor.sizes],
    strides: [...tensor.strides],
    offset: tensor.storageOffset,
    storage,
  };
  return tensor.requiresGradFlag ? { ...json, requiresGrad: true } : json;
}

function metaFromJson(json: JsonNode['meta'], storages: readonly Storage[]): NodeMeta {
  const { val, originalAten, shape: _shape, ...plain } = json;
  const meta: NodeMeta = { ...plain };
  if (originalAten !== undefined) meta.originalAten = getOp(originalAten);
  if (val !== undefined) meta.val = valFromJson(val, storages);
  return meta;
}

function valFromJson(val: JsonVal, storages: readonly Storage[]): NodeMeta['val'] {
  if (val === null || typeof val !== 'object') return val;
  if (isJsonTensor(val)) return tensorFromJson(val, storages);
  return val.map((item) => (item === null ? null : tensorFromJson(item, storages)));
}

function isJsonTensor(val: JsonTensor | readonly (JsonTensor | null)[]): val is JsonTensor {
  return !Array.isArray(val);
}

function tensorFromJson(json: JsonTensor, storages: readonly Storage[]): Tensor {
  const storage = storages[json.storage];
  const tensor = makeTensor(
    storage,
    json.dtype,
    storage.device,
    json.sizes,
    json.strides,
    json.offset,
  );
  tensor.requiresGradFlag = json.requiresGrad === true;
  return tensor;
}
