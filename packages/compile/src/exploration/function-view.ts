/**
 * @file A compiled function as the explorer shows it: guards, graph breaks with their lines, why it was recorded again.
 */
import { type CompiledFunction, GRAPH_BREAKS } from '@tessera/dynamo-trace';
import type { FunctionView } from './exploration.js';
import type { FrameLine } from './node-lines.js';

/** See the file header. */
export function functionView(compiled: CompiledFunction, frameLine: FrameLine): FunctionView {
  const records = compiled.captures;
  const breaks = records.flatMap((record) => record.breaks);
  const graphs = new Set(records.flatMap(({ segments }) => segments)).size;
  return {
    name: compiled.name || 'function',
    summary: `${records.length} trace(s), ${graphs} graph(s), ${breaks.length} graph break(s)`,
    guards: records.at(-1)?.guards.lines() ?? [],
    breaks: breaks.map(({ code, reason, location }) => ({
      code,
      reason,
      line: frameLine(location ?? undefined),
      hint: GRAPH_BREAKS[code].hint,
    })),
    recompiles: [...compiled.reasons],
  };
}
