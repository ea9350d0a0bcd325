/**
 * @file Reads `exploration.json`. The file may come from anybody, so nothing of it is believed before it is checked.
 */
import type {
  BufferView,
  CodeLine,
  CompiledView,
  EventView,
  ExplorationFile,
  FunctionView,
  GraphNodeView,
  GraphView,
  KernelView,
  PassView,
  ScheduleView,
} from '@tessera/compile/exploration';
import { TesseraError } from '@tessera/shared';
import {
  PlainDataError,
  type Reader,
  amount,
  exactly,
  list,
  optional,
  orNull,
  record,
  text,
} from './plain-data.js';

const line = orNull(amount);

const graphShape = record<GraphView>({
  title: text,
  lines: list(record<CodeLine>({ text, node: orNull(text) })),
  nodes: list(
    record<GraphNodeView>({
      name: text,
      label: text,
      value: text,
      inputs: list(text),
      line,
      module: text,
    }),
  ),
});

/** A graph whose nodes have names of their own and read nodes before them. */
const graph: Reader<GraphView> = (value, at) => {
  const read = graphShape(value, at);
  const known = new Set<string>();
  for (const { name, inputs } of read.nodes) {
    const missing = inputs.find((input) => !known.has(input));
    if (missing !== undefined)
      throw new PlainDataError(`${at}: node '${name}' reads '${missing}', which is not before it`);
    if (known.has(name)) throw new PlainDataError(`${at}: two nodes are named '${name}'`);
    known.add(name);
  }
  return read;
};

const compiled = record<CompiledView>({
  graph,
  kernels: list(
    record<KernelView>({
      name: text,
      loops: text,
      // Files of the first versions have none.
      schedules: optional(list(record<ScheduleView>({ language: text, text })), []),
      wat: text,
      wgsl: text,
      nodes: list(text),
    }),
  ),
  plan: text,
  arenaBytes: amount,
  launches: list(text),
  buffers: list(
    record<BufferView>({ name: text, offset: amount, bytes: amount, from: amount, to: amount }),
  ),
});

const functions = record<FunctionView>({
  name: text,
  summary: text,
  guards: list(text),
  breaks: list(
    record<FunctionView['breaks'][number]>({ code: text, reason: text, line, hint: text }),
  ),
  recompiles: list(text),
});

const header = record<Pick<ExplorationFile, 'format' | 'version'>>({
  format: exactly('tessera-exploration'),
  version: exactly(1),
});

const file = record<ExplorationFile>({
  format: exactly('tessera-exploration'),
  version: exactly(1),
  program: text,
  functions: list(functions),
  captured: list(graph),
  joint: list(text),
  passes: list(record<PassView>({ name: text, before: text, after: text })),
  compiled: list(compiled),
  timeline: list(
    record<EventView>({ name: text, category: text, start: amount, duration: amount }),
  ),
  output: list(text),
  error: orNull(text),
});

/**
 * What a file named `exploration.json` holds.
 *
 * @param name of the file, for the message
 * @throws debug-folder-invalid where it is not what this version of Tessera writes
 */
export function readExploration(json: string, name: string = 'exploration.json'): ExplorationFile {
  try {
    const value: unknown = JSON.parse(json);
    // First of all: a file of another version has reasons to look otherwise.
    header(value, '');
    return file(value, '');
  } catch (error) {
    if (!(error instanceof PlainDataError || error instanceof SyntaxError)) throw error;
    throw new TesseraError('debug-folder-invalid', `${name}: ${error.message}.`, {
      hints: ['Write it again with TESSERA_DEBUG_DIR, and the same version of Tessera as this.'],
      cause: error,
    });
  }
}
