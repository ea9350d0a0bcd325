/**
 * @file Exported graphs as plain data and back.
 *
 * Attributes are written with their values, as lists of numbers: what is exported to be kept as text is
 * small. Results may be arrays and records of tensors and primitives.
 */
import { GraphModule, type JsonGraph, graphFromJson, graphToJson } from '@tessera/graph';
import { type JsonSize, type SymInt, TesseraError, decodeSize, encodeSize } from '@tessera/shared';
import {
  type DType,
  type DeviceType,
  Storage,
  isTensor,
  makeTensor,
  tensor as makeFromValues,
} from '@tessera/tensor';
import type { Source } from '../guards/source.js';
import { SymbolicTensorGuard } from '../guards/symbolic-tensor-guard.js';
import { TensorGuard } from '../guards/tensor-guard.js';
import { ExportedGraph, Wrapped } from './exported-graph.js';

/** Metadata that an input must have. */
export interface JsonInput {
  readonly root: number;
  readonly source: Source;
  readonly dtype: DType;
  readonly device: DeviceType;
  /** Numbers, and expressions of the graph's symbols. */
  readonly sizes: readonly JsonSize[];
  readonly strides: readonly (JsonSize | null)[];
  readonly requiresGrad: boolean;
}

/** An exported graph as plain data. */
export interface JsonExport {
  readonly version: 1;
  readonly graph: JsonGraph;
  readonly inputs: readonly JsonInput[];
  readonly constants: readonly {
    readonly root: number;
    readonly source: Source;
    readonly value: unknown;
  }[];
  readonly attributes: Readonly<
    Record<
      string,
      { readonly dtype: DType; readonly requiresGrad: boolean; readonly values: unknown }
    >
  >;
  readonly result: unknown;
  readonly readsSizes?: boolean;
}

/** See `ExportedGraph.toJSON`. */
export function exportToJson(exported: ExportedGraph): JsonExport {
  const attributes: Record<string, { dtype: DType; requiresGrad: boolean; values: unknown }> = {};
  for (const [path, value] of exported.graphModule.attributes) {
    if (!isTensor(value)) continue;
    attributes[path] = {
      dtype: value.dtype,
      requiresGrad: value.requiresGrad,
      values: value.toArray(),
    };
  }
  return {
    version: 1,
    graph: graphToJson(exported.graphModule.graph),
    inputs: exported.inputs.map(({ root, source, guard }) => ({
      root,
      source,
      dtype: guard.dtype,
      device: guard.device,
      ...layoutToJson(guard),
      requiresGrad: guard.requiresGrad,
    })),
    constants: exported.constants.map(({ root, source, value }) => ({ root, source, value })),
    attributes,
    result: templateToJson(exported.result),
    readsSizes: exported.readsSizes,
  };
}

/** Reads what `JSON.stringify(exported)` wrote. @throws invalid-argument for another version */
export function exportFromJson(json: JsonExport): ExportedGraph {
  if ((json as { version: number }).version !== 1) {
    throw new TesseraError(
      'invalid-argument',
      `Version ${String(json.version)} of an exported graph is not known.`,
      { hints: ['Export the function again.'] },
    );
  }
  const attributes = Object.entries(json.attributes).map(
    ([path, { dtype, requiresGrad, values }]) =>
      [path, makeFromValues(values as number[], { dtype, requiresGrad })] as const,
  );
  const graph = graphFromJson(json.graph);
  const symbols = graph.symbols?.byName ?? new Map<string, SymInt>();
  return new ExportedGraph(
    new GraphModule(attributes, graph),
    json.inputs.map((input) => ({
      root: input.root,
      source: input.source,
      guard: guardOf(input, symbols),
    })),
    json.constants,
    templateFromJson(json.result),
    json.readsSizes,
  );
}

function layoutToJson(
  guard: TensorGuard | SymbolicTensorGuard,
): Pick<JsonInput, 'sizes' | 'strides'> {
  if (guard instanceof TensorGuard) return { sizes: guard.sizes, strides: guard.strides };
  const { sizes, strides } = guard.shape;
  return {
    sizes: sizes.map(encodeSize),
    strides: strides.map((stride) => (stride === null ? null : encodeSize(stride))),
  };
}

function guardOf(
  input: JsonInput,
  symbols: ReadonlyMap<string, SymInt>,
): TensorGuard | SymbolicTensorGuard {
  const { dtype, device } = input;
  const sizes = input.sizes.map((size) => decodeSize(size, symbols));
  const strides = input.strides.map((stride) =>
    stride === null ? null : decodeSize(stride, symbols),
  );
  if ([...sizes, ...strides].some((size) => typeof size !== 'number'))
    return new SymbolicTensorGuard(dtype, device, { sizes, strides }, input.requiresGrad);
  const storage = Storage.fake(device, 0);
  const example = makeTensor(storage, dtype, device, sizes as number[], strides as number[], 0);
  example.requiresGradFlag = input.requiresGrad;
  return TensorGuard.of(example);
}

function templateToJson(value: unknown): unknown {
  if (value instanceof Wrapped) return { $leaf: value.leaf };
  if (Array.isArray(value)) return value.map(templateToJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, templateToJson(item)]),
  );
}

function templateFromJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(templateFromJson);
  if (typeof value !== 'object' || value === null) return value;
  if ('$leaf' in value) return new Wrapped(value.$leaf as Wrapped['leaf']);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, templateFromJson(item)]),
  );
}
