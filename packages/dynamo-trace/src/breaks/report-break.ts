/**
 * @file Telling the user of a graph break: in the log, or as an error where none is allowed.
 */
import { TesseraError, log } from '@tessera/shared';
import { type BreakReason, GRAPH_BREAKS } from './graph-breaks.js';

/** Logs a break. @throws trace-full-graph where the whole function must be one graph */
export function reportBreak(
  { code, text }: BreakReason,
  functionName: string,
  location: string | null,
  fullgraph: boolean,
): void {
  if (fullgraph) {
    throw new TesseraError(
      'trace-full-graph',
      `Graph break in ${functionName} (fullgraph: true): ${text} (${code}).`,
      {
        location: location ?? undefined,
        context: { code },
        hints: [GRAPH_BREAKS[code].hint, 'Or compile without fullgraph.'],
      },
    );
  }
  log(
    'graph_breaks',
    () => `Graph break in ${functionName} at ${location ?? 'unknown line'}: ${text} (${code})`,
  );
}
