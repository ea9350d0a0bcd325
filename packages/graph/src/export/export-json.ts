/**
 * @file Exported graphs as plain data; read-export.ts reads it back.
 *
 * Attributes are written with their values, as lists of numbers: what is exported to be kept as text is
 * small. Results may be arrays and records of tensors and primitives.
 */
import { type JsonSize, encodeSize } from '@tessera/shared';
import { type DType, type DeviceType, type Tensor, isTensor } from '@tessera/tensor';
import { type JsonArgument, encodeArgument } from '../argument-json.js';
import { type JsonGraph, graphToJson } from '../graph-json.js';
import { encodeNumber } from '../json-field.js';
import type { Argument } from '../node.js';
import type { Source } from '../source.js';
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
export interface JsonExport {
  readonly version: 1;
  readonly graph: JsonGraph;
  readonly inputs: readonly JsonInput[];
  readonly constants: readonly {
    readonly root: number;
    readonly source: Source;
    readonly value: JsonArgument;
  }[];
  readonly attributes: Readonly<
    Record<
      string,
      {
        readonly dtype: DType;
        readonly requiresGrad: boolean;
        readonly sizes: readonly number[];
        /** In row-major order; special numbers by name, 64-bit integers in digits. */
        readonly values: readonly (number | string)[];
      }
    >
  >;
  readonly result: unknown;
  readonly readsSizes?: boolean;
  /** Arguments that must be the tensor of an input. */
  readonly duplicates?: readonly {
    readonly root: number;
    readonly source: Source;
    readonly input: number;
  }[];
}

/** See `ExportedGraph.toJSON`. */
export function exportToJson(exported: ExportedGraph): JsonExport {
  const attributes: Record<string, JsonExport['attributes'][string]> = {};
  for (const [path, value] of exported.graphModule.attributes) {
    if (!isTensor(value)) continue;
    attributes[path] = {
      dtype: value.dtype,
      requiresGrad: value.requiresGrad,
      sizes: [...value.sizes],
      values: valuesToJson(value),
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
      sizes: guard.sizes.map(encodeSize),
      strides: guard.strides.map((stride) => (stride === null ? null : encodeSize(stride))),
      requiresGrad: guard.requiresGrad,
    })),
    constants: exported.constants.map(({ root, source, value }) => ({
      root,
      source,
      value: encodeArgument(value as Argument),
    })),
    attributes,
    result: templateToJson(exported.result),
    readsSizes: exported.readsSizes,
    ...(exported.duplicates.length === 0 ? {} : { duplicates: exported.duplicates }),
  };
}

function valuesToJson(tensor: Tensor): (number | string)[] {
  const values = tensor.toTypedArray();
  // As doubles, 64-bit integers may be other numbers.
  return values instanceof BigInt64Array
    ? Array.from(values, String)
    : Array.from(values, encodeNumber);
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
