/**
 * @file What a recorder is given, and what it tells about graph breaks.
 */
import type { GraphBreakCode } from '../breaks/graph-breaks.js';
import type { Sources } from '../guards/sources.js';
import type { TraceOptions } from '../trace-options.js';

/** A graph break of a recorded call. */
export interface RecordedBreak {
  readonly code: GraphBreakCode;
  /** What happened. */
  readonly reason: string;
  /** The user's source line. */
  readonly location: string | null;
}

/** What a recorder needs from its function. */
export interface RecorderOptions extends Pick<
  TraceOptions,
  'backend' | 'fullgraph' | 'recordOnly'
> {
  readonly functionName: string;
  readonly sources: Sources;
}
