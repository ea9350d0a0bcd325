/**
 * @file What a capture is given, and what it tells about graph breaks.
 */
import type { Backend } from '../backend.js';
import type { GraphBreakCode } from '../breaks/graph-breaks.js';
import type { Sources } from './sources.js';

/** A graph break of a capture. */
export interface CapturedBreak {
  readonly code: GraphBreakCode;
  /** What happened. */
  readonly reason: string;
  /** The user's source line. */
  readonly location: string | null;
}

/** What a capture needs from its function. */
export interface CaptureOptions {
  readonly backend: Backend;
  readonly fullgraph: boolean;
  readonly functionName: string;
  /** Compute nothing at the end of the call. */
  readonly recordOnly: boolean;
  readonly sources: Sources;
}
