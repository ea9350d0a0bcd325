/**
 * @file A cursor over a trie of its own, without a compiled function around it: for tests of the parts.
 */
import { callPath } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { withPreDispatchMode } from '@tessera/tensor/internal';
import type { Backend } from '../src/index.js';
import { Alignment } from '../src/cursor/alignment.js';
import { Cursor, type CursorHost } from '../src/cursor/cursor.js';
import { rebuildPath } from '../src/cursor/rebuild-step.js';
import { Recorder } from '../src/cursor/recorder.js';
import { DynamicShapes } from '../src/dynamic/dynamic-shapes.js';
import { SymbolTable } from '../src/dynamic/symbol-table.js';
import { Sources } from '../src/guards/sources.js';
import type { TraceOptions } from '../src/trace-options.js';
import { EntryPoint } from '../src/trace/entry-point.js';

/** A trie and what is counted while calls walk it. */
export class Tracing {
  readonly start: EntryPoint = new EntryPoint();
  private readonly entries = new Map<string, EntryPoint>();
  readonly reasons: string[] = [];
  /** Graphs given to the backend. */
  compiled = 0;
  private readonly table = new SymbolTable();
  private recordings = 0;

  /**
   * @param mayRecord whether a call that diverges is recorded; otherwise it goes on eagerly
   * @param dynamic which sizes are symbols
   */
  constructor(
    private readonly mayRecord = true,
    private readonly dynamic: TraceOptions['dynamic'] = false,
  ) {}

  /** A recorder with the matched steps of the current segment. */
  private recorder({ frame, path, entry, segmentGradMode }: Cursor): Recorder {
    const backend: Backend = (module) => {
      this.compiled++;
      return (inputs) => module.forward(...inputs) as Tensor[];
    };
    const options = {
      backend,
      fullgraph: false,
      functionName: 'f',
      sources: new Sources([]),
      program: this.table,
    };
    const shapes = new DynamicShapes(this.table, frame, this.recordings++, this.dynamic);
    const recorder = new Recorder(frame, entry.numbering, options, shapes, segmentGradMode);
    rebuildPath(recorder, path);
    return recorder;
  }

  /** A cursor at the start. */
  cursor(): Cursor {
    const host: CursorHost = {
      name: 'f',
      table: this.table,
      roots: () => [],
      record: (cursor, describe) => {
        if (describe === null) return this.recorder(cursor);
        this.reasons.push(describe().text);
        if (!this.mayRecord) return null;
        const alignment = new Alignment(cursor.at, this.dynamic);
        return Object.assign(this.recorder(cursor), { alignment });
      },
      onBreak: () => undefined,
      entryAfter: ({ code }) => {
        const place = `${code} ${callPath('run')}`;
        const entry = this.entries.get(place) ?? new EntryPoint();
        this.entries.set(place, entry);
        return entry;
      },
      onDecline: () => undefined,
      rebuild: (cursor) => this.recorder(cursor),
    };
    return new Cursor(this.start, host);
  }

  /** One call; returns its result and whether recorded steps served it to the end. */
  run<R>(body: () => R): { readonly result: R; readonly fitted: boolean; readonly cursor: Cursor } {
    const cursor = this.cursor();
    cursor.frame.begin();
    try {
      const result = withPreDispatchMode(cursor, body);
      cursor.frame.pending = null;
      return { result, fitted: cursor.finish(result), cursor };
    } finally {
      cursor.frame.end();
    }
  }
}
