/**
 * @file Exported graphs from plain data that may come from anywhere.
 *
 * Every part is checked before anything is made of it; what refers to the graph (inputs, results, attributes) must
 * find there what it names.
 */
import { type SymInt, TesseraError } from '@tessera/shared';
import { type DeviceType, DTYPES, isTensor } from '@tessera/tensor';
import { readArgument, readSize } from '../json/argument-json.js';
import { type JsonGraph, graphFromJson } from '../json/graph-json.js';
import { GraphModule } from '../ir/graph-module.js';
import type { Graph } from '../ir/graph.js';
import { JsonField } from '../json/json-field.js';
import type { Source, SourceStep } from '../ir/source.js';
import { readTensors } from './attributes-json.js';
import type { JsonExport } from './export-json.js';
import { type ExportedInput, ExportedGraph, ResultLeaf } from './exported-graph.js';
import { ExportedTensor } from './exported-tensor.js';

const MAX = Number.MAX_SAFE_INTEGER;
/** Most arguments of a function. */
const MOST_ROOTS = 2 ** 16;
const ONE_LINE = /^[^\p{Cc}\u2028\u2029]*$/u;
const DEVICE = /^[A-Za-z][\w-]*$/;
const INHERITED = ['__proto__', 'constructor', 'prototype'];

type Symbols = ReadonlyMap<string, SymInt>;

function invalid(what: string, cause?: unknown): TesseraError {
  return new TesseraError('export-invalid', `${what}.`, {
    hints: ['Export the function again.'],
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Reads what `JSON.stringify(exportToJson(exported))` wrote. @throws export-invalid for anything else */
export function exportFromJson(json: JsonExport): ExportedGraph {
  try {
    return readExport(new JsonField(json, (what) => invalid(`This is no exported graph: ${what}`)));
  } catch (error) {
    if (error instanceof TesseraError && error.code === 'export-invalid') throw error;
    // Rules of graphs, operators and symbolic sizes that the parts break.
    const words = error instanceof Error ? error.message.split('\n')[0]! : String(error);
    throw invalid(`This exported graph is damaged: ${words.replace(/\.$/, '')}`, error);
  }
}

function readExport(json: JsonField): ExportedGraph {
  const version = json.isRecord ? json.field('version').value : undefined;
  if (version !== 1)
    throw invalid(
      `Version ${typeof version === 'number' ? version : 'undefined'} of an exported graph is not known`,
    );
  const graphJson = json.field('graph');
  if (!graphJson.isRecord) graphJson.refuse('is no object');
  const graph = graphFromJson(graphJson.value as JsonGraph);
  const symbols = graph.symbols?.byName ?? new Map<string, SymInt>();
  const inputs = json
    .field('inputs')
    .items()
    .map((input) => readInput(input, symbols));
  checkInputs(json.field('inputs'), graph, inputs);
  const constants = json
    .field('constants')
    .items()
    .map((constant) => ({
      root: constant.field('root').integer(0, MOST_ROOTS),
      source: readSource(constant.field('source')),
      value: readArgument(constant.field('value'), new Map()),
    }));
  const result = readTemplate(json.field('result'), graph, inputs.length);
  const module = new GraphModule(readTensors(json), graph);
  module.lint();
  const duplicates = (json.optional('duplicates')?.items() ?? []).map((duplicate) => ({
    root: duplicate.field('root').integer(0, MOST_ROOTS),
    source: readSource(duplicate.field('source')),
    input: duplicate.field('input').integer(0, inputs.length - 1),
  }));
  return new ExportedGraph(module, inputs, constants, result, duplicates);
}

function readInput(json: JsonField, symbols: Symbols): ExportedInput {
  const sizes = json
    .field('sizes')
    .items(64)
    .map((size) => readSize(size, symbols));
  const strides = json
    .field('strides')
    .items(64)
    .map((stride) => (stride.value === null ? null : readSize(stride, symbols)));
  if (sizes.length !== strides.length) json.refuse('has another number of sizes than of strides');
  if (
    [...sizes, ...strides].some((size) => typeof size === 'number' && !(size >= 0 && size <= MAX))
  )
    json.refuse('has a negative size');
  return {
    root: json.field('root').integer(0, MOST_ROOTS),
    source: readSource(json.field('source')),
    guard: new ExportedTensor(
      json.field('dtype').keyOf(DTYPES),
      json.field('device').name(DEVICE, 64) as DeviceType,
      { sizes, strides },
      json.field('requiresGrad').boolean(),
    ),
  };
}

/** What the graph was made for is what the guards let in. */
function checkInputs(json: JsonField, graph: Graph, inputs: readonly ExportedInput[]): void {
  const { placeholders } = graph;
  if (placeholders.length !== inputs.length)
    json.refuse(`are ${inputs.length}, and the graph takes ${placeholders.length}`);
  inputs.forEach(({ guard }, i) => {
    const { val } = placeholders[i]!.meta;
    if (!isTensor(val)) json.refuse(`has no tensor for '${placeholders[i]!.name}'`);
    const { sizes } = guard;
    const differs = sizes.some((size, d) => typeof size === 'number' && size !== val.sizes[d]);
    if (
      val.dtype !== guard.dtype ||
      val.device !== guard.device ||
      val.ndim !== sizes.length ||
      differs
    )
      json.refuse(`is not what the graph takes as '${placeholders[i]!.name}'`);
  });
}

function readSource(json: JsonField): Source {
  return {
    root: json.field('root').name(ONE_LINE, 4096),
    steps: json.field('steps').items(100).map(readStep),
  };
}

function readStep(json: JsonField): SourceStep {
  const kinds = ['property', 'getter', 'index', 'map', 'items', 'state', 'grad'] as const;
  const kind = json.field('kind').oneOf(kinds);
  switch (kind) {
    case 'property':
    case 'getter': {
      const key = json.field('key').name(ONE_LINE, 4096);
      if (INHERITED.includes(key)) json.refuse('follows a key that objects inherit');
      const isTracked = kind === 'property' && json.optional('tracked')?.boolean() === true;
      return isTracked ? { kind, key, tracked: true } : { kind, key };
    }
    case 'index':
      return { kind, index: json.field('index').integer(0, MAX) };
    case 'map': {
      const key = json.field('key');
      if (typeof key.value === 'string') key.name(ONE_LINE, 4096);
      else if (typeof key.value !== 'boolean' && key.value !== null) key.finite();
      return { kind, index: json.field('index').integer(0, MAX), key: key.value };
    }
    case 'items':
    case 'state':
    case 'grad':
      return { kind };
  }
}

function readTemplate(json: JsonField, graph: Graph, inputs: number): unknown {
  if (json.isList) return json.items().map((item) => readTemplate(item, graph, inputs));
  if (json.has('$leaf')) return readLeaf(json.field('$leaf'), graph, inputs);
  if (!json.isRecord) json.refuse('is neither a leaf nor a structure of leaves');
  return Object.fromEntries(
    json.entries().map(([key, item]) => [key, readTemplate(item, graph, inputs)]),
  );
}

function readLeaf(json: JsonField, graph: Graph, inputs: number): ResultLeaf {
  if (json.has('input'))
    return new ResultLeaf({ input: json.field('input').integer(0, inputs - 1) });
  if (json.has('output')) {
    const outputs = graph.outputNode?.args[0];
    if (!Array.isArray(outputs)) json.refuse('names a result of a graph that returns no list');
    return new ResultLeaf({ output: json.field('output').integer(0, outputs.length - 1) });
  }
  return new ResultLeaf({ value: readArgument(json.field('value'), new Map()) });
}
