/**
 * @file Exported graphs as plain data and back.
 *
 * Attributes are written with their values, as lists of numbers: what is exported to be kept as text is
 * small. Results may be arrays and records of tensors and primitives.
 */
import { GraphModule, type JsonGraph, graphFromJson, graphToJson } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import {
  type DType,
  type DeviceType,
  Storage,
  isTensor,
  makeTensor,
  tensor as makeFromValues,
} from '@tessera/tensor';
import type { Source } from '../guards/source.js';
import { TensorGuard } from '../guards/tensor-guard.js';
import { ExportedGraph, Wrapped } from './exported-graph.js';

/** Metadata that an input must have. */
export interface JsonInput {
  readonly root: number;
  readonly source: Source;
  readonly dtype: DType;
  readonly device: DeviceType;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
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
      sizes: guard.sizes,
      strides: guard.strides,
      requiresGrad: guard.requiresGrad,
    })),
    constants: exported.constants.map(({ root, source, value }) => ({ root, source, value })),
    attributes,
    result: templateToJson(exported.result),
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
  return new ExportedGraph(
    new GraphModule(attributes, graphFromJson(json.graph)),
    json.inputs.map((input) => ({
      root: input.root,
      source: input.source,
      guard: guardOf(input),
    })),
    json.constants,
    templateFromJson(json.result),
  );
}

function guardOf(input: JsonInput): TensorGuard {
  const storage = Storage.fake(input.device, 0);
  const example = makeTensor(storage, input.dtype, input.device, input.sizes, input.strides, 0);
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
