/**
 * @file A cursor over a trie of its own, without a compiled function around it: for tests of the parts.
 */
import type { Tensor } from '@tessera/tensor';
import { withPreDispatchMode } from '@tessera/tensor/internal';
import type { Backend } from '../src/index.js';
import { Alignment } from '../src/cursor/alignment.js';
import { Cursor, type CursorHost } from '../src/cursor/cursor.js';
import { rebuildPath } from '../src/cursor/rebuild-step.js';
import { Recorder } from '../src/cursor/recorder.js';
import { DynamicShapes } from '../src/dynamic/dynamic-shapes.js';
import { SymbolTable } from '../src/dynamic/symbol-table.js';
import { Frame } from '../src/frame/frame.js';
import { Sources } from '../src/guards/sources.js';
import type { TraceOptions } from '../src/trace-options.js';
import type { TrieNode } from '../src/trace/step.js';

/** A trie and what is counted while calls walk it. */
export class Tracing {
  readonly start: TrieNode = { steps: [] };
  readonly reasons: string[] = [];
  /** Graphs given to the backend. */
  compiled = 0;
  private readonly table = new SymbolTable();
  private readonly numbering = { slots: 0, scalars: 0, sources: new Map() };
  private calls = 0;

  /**
   * @param mayRecord whether a call that diverges is recorded; otherwise it goes on eagerly
   * @param dynamic which sizes are symbols
   */
  constructor(
    private readonly mayRecord = true,
    private readonly dynamic: TraceOptions['dynamic'] = false,
  ) {}

  private recorder(frame: Frame, call: number): Recorder {
    const backend: Backend = (module) => {
      this.compiled++;
      return (inputs) => module.forward(...inputs) as Tensor[];
    };
    const options = {
      backend,
      fullgraph: false,
      functionName: 'f',
      recordOnly: false,
      sources: new Sources([]),
      program: this.table,
    };
    const shapes = new DynamicShapes(this.table, frame, call, this.dynamic);
    return new Recorder(frame, this.numbering, options, shapes);
  }

  /** A cursor at the start; it records if nothing is recorded yet. */
  cursor(): Cursor {
    const frame = new Frame(this.table.bindings.root);
    const rebuild: CursorHost['rebuild'] = (
      cursor,
      path = cursor.path.slice(cursor.segmentFrom),
    ) => {
      const recorder = this.recorder(frame, this.calls++);
      rebuildPath(recorder, path, cursor.segmentGradMode);
      return recorder;
    };
    const host: CursorHost = {
      name: 'f',
      table: this.table,
      diverge: (cursor, describe) => {
        this.reasons.push(describe().text);
        if (!this.mayRecord) return null;
        const alignment = new Alignment(cursor.at, this.dynamic);
        return Object.assign(rebuild(cursor), { alignment });
      },
      onBreakBetween: () => undefined,
      onDecline: () => undefined,
      rebuild,
    };
    const recorder = this.start.steps.length === 0 ? this.recorder(frame, this.calls++) : null;
    return new Cursor(frame, this.start, recorder, host);
  }

  /** One call; returns its result and whether recorded steps served it to the end. */
  run<R>(body: () => R): { readonly result: R; readonly fitted: boolean; readonly cursor: Cursor } {
    const cursor = this.cursor();
    const { frame } = cursor;
    frame.flush = (reason) => cursor.flush(reason);
    frame.begin();
    try {
      const result = withPreDispatchMode(cursor, body);
      frame.flush = null;
      return { result, fitted: cursor.finish(result), cursor };
    } finally {
      frame.end();
    }
  }
}
