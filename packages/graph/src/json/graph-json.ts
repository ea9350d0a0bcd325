/**
 * @file Graphs as JSON and back.
 *
 * Operators and host functions are written by name, so whoever reads the graph needs them registered.
 * Tensor attributes are not part of the JSON (they belong in a safetensors file); only their paths are.
 * Of the metadata what is plain data is kept, aliasing between values included.
 */
import {
  type DeviceType,
  type DType,
  type Tensor,
  DTYPES,
  getOp,
  isTensor,
  Storage,
} from '@tessera/tensor';
import { makeTensor } from '@tessera/tensor/internal';
import { type JsonSize, type SymInt, encodeSize } from '@tessera/shared';
import {
  type JsonArgument,
  checkSize,
  encodeArgument,
  readArgument,
  readSize,
} from './argument-json.js';
import { graphError } from '../ir/graph-error.js';
import { Graph } from '../ir/graph.js';
import { JsonField, encodeNumber } from './json-field.js';
import { hostFunction, hostFunctionName } from '../ir/host-functions.js';
import { GraphSymbols, type JsonSymbols } from '../symbolic/graph-symbols.js';
import type { SymbolicShape, SymbolicVal } from '../symbolic/symbolic-shape.js';
import type { Node, NodeMeta, Opcode, Target } from '../ir/node.js';

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

type JsonVal = number | string | boolean | null | JsonTensor | readonly (JsonTensor | null)[];

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

/** A name of a node, which is a name in the printed graph too. */
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** Texts that are printed in comments. */
const ONE_LINE = /^[^\p{Cc}\u2028\u2029]*$/u;
const DEVICE = /^[A-Za-z][\w-]*$/;
const OPCODES = ['placeholder', 'get_attr', 'call_function', 'call_module', 'output'] as const;
const MAX = Number.MAX_SAFE_INTEGER;

/** Reads a graph that may come from anywhere. @throws graph-lint, op-unknown */
export function graphFromJson(json: JsonGraph): Graph {
  const root = new JsonField(json, (what) =>
    graphError(`This is no graph: ${what}.`, 'Write it with graphToJson of this version.'),
  );
  const version = root.isRecord ? root.field('version').value : undefined;
  if (version !== 1)
    throw graphError(
      `Graph format version ${typeof version === 'number' ? version : '(none)'} is not known.`,
      'Write the graph with this version of the package.',
    );
  const graph = new Graph();
  const symbolic = root.optional('symbols');
  if (symbolic !== null) graph.symbols = readSymbols(symbolic);
  const symbols = graph.symbols?.byName ?? new Map<string, SymInt>();
  const storages = root
    .field('storages')
    .items()
    .map((item) =>
      Storage.fake(
        item.field('device').name(DEVICE, 64) as DeviceType,
        item.field('nbytes').integer(0, MAX),
      ),
    );
  const nodes = new Map<string, Node>();
  for (const item of root.field('nodes').items()) {
    const name = item.field('name').name(IDENTIFIER);
    if (nodes.has(name)) item.refuse('has the name of another node');
    const args = item.field('args').items();
    const node = graph.createNode(
      item.field('op').oneOf(OPCODES),
      readTarget(item.field('target')),
      args.map((arg) => readArgument(arg, nodes, symbols)),
      name,
    );
    if (node.name !== name) item.refuse('has a name that is not allowed');
    const meta = item.field('meta');
    node.meta = readMeta(meta, storages);
    const shape = meta.optional('shape');
    if (shape !== null) node.meta.symbolicVal = readShape(shape, symbols, node.meta.val);
    nodes.set(name, node);
  }
  graph.lint();
  return graph;
}

function readSymbols(json: JsonField): GraphSymbols {
  for (const symbol of json.field('symbols').items()) {
    symbol.field('hint').integer(0, MAX);
    symbol.field('min').integer(0, MAX);
    if (symbol.field('max').value !== null) symbol.field('max').integer(0, MAX);
    symbol.field('source').name(ONE_LINE, 4096);
  }
  for (const relation of json.field('relations').items()) {
    relation.field('op').oneOf(['==', '!=', '<', '<=', '>', '>=']);
    for (const side of ['left', 'right']) checkSize(relation.field(side));
  }
  return GraphSymbols.fromJSON(json.value as JsonSymbols);
}

function readTarget(json: JsonField): Target {
  if (typeof json.value === 'string') return json.string();
  return json.has('op')
    ? getOp(json.field('op').string(200))
    : hostFunction(json.field('host').string(200));
}

function readMeta(json: JsonField, storages: readonly Storage[]): NodeMeta {
  const meta: NodeMeta = {};
  for (const key of ['stackTrace', 'sourceFn', 'source'] as const) {
    const text = json.optional(key);
    if (text !== null) meta[key] = text.name(ONE_LINE, 2 ** 16);
  }
  const seqNr = json.optional('seqNr');
  if (seqNr !== null) meta.seqNr = seqNr.integer(-1, MAX);
  const isBackward = json.optional('isBackward');
  if (isBackward !== null) meta.isBackward = isBackward.boolean();
  const scalar = json.optional('scalar');
  if (scalar !== null) meta.scalar = { kind: scalar.field('kind').oneOf(['float', 'int', 'bool']) };
  const stack = json.optional('nnModuleStack');
  if (stack !== null)
    meta.nnModuleStack = stack.items().map((level) => ({
      path: level.field('path').name(ONE_LINE, 4096),
      type: level.field('type').name(ONE_LINE, 4096),
    }));
  const originalAten = json.optional('originalAten');
  if (originalAten !== null) meta.originalAten = getOp(originalAten.string(200));
  const val = json.optional('val');
  if (val !== null) meta.val = readVal(val, storages);
  return meta;
}

function readVal(json: JsonField, storages: readonly Storage[]): NodeMeta['val'] {
  const { value } = json;
  if (json.isList)
    return json.items().map((item) => (item.value === null ? null : readTensor(item, storages)));
  if (json.isRecord) return readTensor(json, storages);
  if (value === null || typeof value === 'boolean') return value;
  return json.number();
}

function readTensor(json: JsonField, storages: readonly Storage[]): Tensor {
  const storage = storages[json.field('storage').integer(0, storages.length - 1)]!;
  const [sizes, strides] = (['sizes', 'strides'] as const).map((key) =>
    json
      .field(key)
      .items(64)
      .map((size) => size.integer(0, MAX)),
  );
  if (sizes.length !== strides.length) json.refuse('has another number of sizes than of strides');
  const dtype = json.field('dtype').keyOf(DTYPES);
  const offset = json.field('offset').integer(0, MAX);
  const tensor = makeTensor(storage, dtype, storage.device, sizes, strides, offset);
  tensor.requiresGradFlag = json.optional('requiresGrad')?.boolean() === true;
  return tensor;
}

/** The sizes and strides of `val` as expressions. */
function readShape(
  json: JsonField,
  symbols: ReadonlyMap<string, SymInt>,
  val: NodeMeta['val'],
): SymbolicVal {
  const one = (shape: JsonField, of: unknown): SymbolicShape => {
    const [sizes, strides] = (['sizes', 'strides'] as const).map((key) =>
      shape.field(key).items(64),
    );
    if (!isTensor(of) || sizes!.length !== of.ndim || strides!.length !== of.ndim)
      shape.refuse('is not that of the value');
    return {
      sizes: sizes!.map((size) => readSize(size, symbols)),
      strides: strides!.map((stride) => (stride.value === null ? null : readSize(stride, symbols))),
    };
  };
  if (!json.isList) return one(json, val);
  if (!Array.isArray(val)) json.refuse('is not that of the value');
  return json.items().map((shape, i) => (shape.value === null ? null : one(shape, val[i])));
}

function targetToJson(node: Node): JsonTarget {
  const { target } = node;
  if (typeof target === 'string') return target;
  if (typeof target === 'object') return { op: target.qualifiedName };
  const name = hostFunctionName(target);
  if (name !== undefined) return { host: name };
  throw graphError(
    `Node '${node.name}' calls the function '${target.name}', which has no registered name.`,
    'Register it with registerHostFunction.',
  );
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
  return out;
}

function valToJson(
  val: NonNullable<NodeMeta['val']> | null,
  storages: Map<Storage, number>,
): JsonVal {
  if (typeof val === 'number') return encodeNumber(val);
  if (val === null || typeof val !== 'object') return val;
  if (isTensor(val)) return tensorToJson(val, storages);
  return val.map((item) => (item === null ? null : tensorToJson(item, storages)));
}

function shapeToJson(val: SymbolicVal): JsonShape | (JsonShape | null)[] {
  const one = ({ sizes, strides }: SymbolicShape): JsonShape => ({
    sizes: sizes.map(encodeSize),
    strides: strides.map((stride) => (stride === null ? null : encodeSize(stride))),
  });
  return 'sizes' in val ? one(val) : val.map((shape) => (shape === null ? null : one(shape)));
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
