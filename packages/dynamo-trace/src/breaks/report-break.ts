/**
 * @file Telling the user of a graph break: in the log and in `explain()`, or as an error where none is allowed.
 */
import { TesseraError, log, userFrame } from '@tessera/shared';
import { BREAK_HINTS, type BreakReason, type GraphBreakCode } from './graph-breaks.js';

/** A graph break of a recorded call. */
export interface RecordedBreak {
  readonly code: GraphBreakCode;
  /** What happened. */
  readonly reason: string;
  /** The user's source line. */
  readonly location: string | null;
}

/** Tells of a break where the program is now. */
export function reportBreak({ code, text }: BreakReason, functionName: string): RecordedBreak {
  const location = userFrame() ?? null;
  log(
    'graph_breaks',
    () => `Graph break in ${functionName} at ${location ?? 'unknown line'}: ${text} (${code})`,
  );
  return { code, reason: text, location };
}

/** The error of a break where none is allowed. @throws trace-full-graph */
export function refuseBreak({ code, text }: BreakReason, functionName: string): never {
  throw new TesseraError(
    'trace-full-graph',
    `Graph break in ${functionName} (fullgraph: true): ${text} (${code}).`,
    {
      location: userFrame(),
      context: { code },
      hints: [BREAK_HINTS[code], 'Or compile without fullgraph.'],
    },
  );
}
