/**
 * @file What a recorder is given, and what it tells about graph breaks.
 */
import type { Backend } from '../backend.js';
import type { GraphBreakCode } from '../breaks/graph-breaks.js';
import type { Sources } from '../guards/sources.js';

/** A graph break of a recorded call. */
export interface RecordedBreak {
  readonly code: GraphBreakCode;
  /** What happened. */
  readonly reason: string;
  /** The user's source line. */
  readonly location: string | null;
}

/** What a recorder needs from its function. */
export interface RecorderOptions {
  readonly backend: Backend;
  readonly fullgraph: boolean;
  readonly functionName: string;
  /** Compute nothing at the end of the call. */
  readonly recordOnly: boolean;
  readonly sources: Sources;
}
