/**
 * @file Exported graphs as plain data; read-export.ts reads it back.
 *
 * Attributes are written with their values, as lists of numbers (attributes-json.ts): what is exported to be kept
 * as text is small. Results may be arrays and records of tensors and primitives.
 */
import { type JsonSize, encodeSize } from '@tessera/shared';
import { type DType, type DeviceType, type Tensor, isTensor } from '@tessera/tensor';
import { type JsonArgument, encodeArgument } from '../json/argument-json.js';
import { type JsonGraph, graphToJson } from '../json/graph-json.js';
import type { Argument } from '../ir/node.js';
import type { Source } from '../ir/source.js';
import { type JsonTensors, tensorsToJson } from './attributes-json.js';
import { type ExportedGraph, ResultLeaf } from './exported-graph.js';

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
export interface JsonExport extends JsonTensors {
  readonly version: 1;
  readonly graph: JsonGraph;
  readonly inputs: readonly JsonInput[];
  readonly constants: readonly {
    readonly root: number;
    readonly source: Source;
    readonly value: JsonArgument;
  }[];
  readonly result: unknown;
  /** Arguments that must be the tensor of an input. */
  readonly duplicates?: readonly {
    readonly root: number;
    readonly source: Source;
    readonly input: number;
  }[];
}

/** See `ExportedGraph.toJSON`. */
export function exportToJson(exported: ExportedGraph): JsonExport {
  const tensors = [...exported.graphModule.attributes].filter((entry): entry is [string, Tensor] =>
    isTensor(entry[1]),
  );
  return {
    version: 1,
    graph: graphToJson(exported.graphModule.graph),
    inputs: exported.inputs.map(({ root, source, guard }) => ({
      root,
      source,
      dtype: guard.dtype,
      device: guard.device,
      sizes: guard.sizes.map(encodeSize),
      strides: guard.strides.map((stride) => (stride === null ? null : encodeSize(stride))),
      requiresGrad: guard.requiresGrad,
    })),
    constants: exported.constants.map(({ root, source, value }) => ({
      root,
      source,
      value: encodeArgument(value as Argument),
    })),
    ...tensorsToJson(new Map(tensors)),
    result: templateToJson(exported.result),
    ...(exported.duplicates.length === 0 ? {} : { duplicates: exported.duplicates }),
  };
}

function templateToJson(value: unknown): unknown {
  if (value instanceof ResultLeaf) {
    const { leaf } = value;
    return { $leaf: 'value' in leaf ? { value: encodeArgument(leaf.value as Argument) } : leaf };
  }
  if (Array.isArray(value)) return value.map(templateToJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, templateToJson(item)]),
  );
}
