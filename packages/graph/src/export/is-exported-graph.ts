/**
 * @file Knowing exported graphs without their class, which programs that export nothing do not have.
 */
import type { ExportedGraph } from './exported-graph.js';

const known = new WeakSet<object>();

/** Remembers an exported graph as one. */
export function noteExported(graph: ExportedGraph): void {
  known.add(graph);
}

/** Whether a value is an exported graph. */
export function isExportedGraph(value: object): value is ExportedGraph {
  return known.has(value);
}
