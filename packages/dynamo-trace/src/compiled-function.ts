/**
 * @file `CompiledFunction`: one function with its recorded traces.
 *
 * A call records (nothing recorded yet), replays (the default), or, for `pure` functions, skips the JavaScript when
 * the guards of an artifact hold. Inside another compiled function it is simply part of that trace.
 */
import { callPath, counters, log, now, userFrame } from '@tessera/shared';
import { defaultDType } from '@tessera/tensor';
import { gradMode } from '@tessera/tensor/internal';
import { refuseBreak, reportBreak } from './breaks/report-break.js';
import { traceConfig } from './config.js';
import { Alignment } from './cursor/alignment.js';
import { Cursor, type CursorHost } from './cursor/cursor.js';
import { rebuildPath } from './cursor/rebuild-step.js';
import type { RecordedBreak } from './breaks/report-break.js';
import { Recorder } from './cursor/recorder.js';
import { DynamicShapes } from './dynamic/dynamic-shapes.js';
import { type SymbolEntry, SymbolTable } from './dynamic/symbol-table.js';
import { type EagerCall, modeAround } from './eager-call.js';
import { abortCall, seal } from './events/return.js';
import { type CallArguments, CallRoots } from './guards/call-roots.js';
import { EntryGuards, type Root } from './guards/entry-guards.js';
import { globalState } from './guards/global-state.js';
import { Sources } from './guards/sources.js';
import { doNotFollow } from './guards/walk.js';
import { MISSED, PureArtifact, UNCHECKED } from './pure/pure-artifact.js';
import { PureCursor } from './pure/pure-cursor.js';
import { staleError } from './pure/side-effect.js';
import { outsideTraps } from './pure/traps.js';
import {
  Backoff,
  type Limit,
  beyondLimit,
  beyondSizes,
  limitError,
  warnOfEager,
} from './recompile-limit.js';
import { whyNoTraceFits } from './recompile-reasons.js';
import { type Scope, endInSlices } from './suspended/end-in-slices.js';
import { runToEnd } from './suspended/outcome.js';
import type { AnyFunction, TraceOptions } from './trace-options.js';
import type { Segment } from './trace/segment.js';
import type { OpStep } from './trace/step.js';
import { EntryPoint } from './trace/entry-point.js';

/** One recorded call, for `explain()` and logs. */
export interface CaptureRecord {
  readonly segments: readonly Segment[];
  readonly guards: EntryGuards;
  readonly breaks: readonly RecordedBreak[];
  /** Why it was made; null for the first. */
  readonly reason: string | null;
  readonly captureMs: number;
}

/** What is known of a call that is recorded, or remembered. */
export interface Recording {
  readonly guards: EntryGuards;
  /** Why it is made; null where nothing was known. */
  reason: string | null;
  readonly start: number;
  readonly roots: readonly Root[];
  readonly sources: Sources;
  readonly breaks: RecordedBreak[];
  /** Where segments begin that are recorded, or continued. */
  readonly recordedAt: Set<EntryPoint>;
}

interface Call extends CallArguments {
  readonly slicing: Scope | null;
}

/** See the file header. */
export class CompiledFunction {
  readonly captures: CaptureRecord[] = [];
  readonly reasons: string[] = [];
  /** Where segments begin, by default dtype, grad mode and place of the program. */
  private readonly entries = new Map<string, EntryPoint>();
  private readonly artifacts: PureArtifact[] = [];
  /** Symbols of all traces. */
  private table = new SymbolTable();
  /** Recorded segments so far. */
  private recordings = 0;
  /** Why the last call ran eagerly, all of it or from some place on; null where it did not. */
  eager: EagerCall | null = null;
  /** The same of the last call that fitted no trace. */
  private limited: EagerCall | null = null;
  private readonly warned = new Set<'limit' | 'sizes'>();
  private backoff = new Backoff();
  /** Whether the function is async, or gave a promise, so that its continuations must be recognised. */
  private waits: boolean;
  private readonly roots: CallRoots;

  constructor(
    readonly fn: AnyFunction,
    readonly options: TraceOptions,
  ) {
    this.waits = fn.constructor.name === 'AsyncFunction';
    this.roots = new CallRoots(fn, options);
  }

  /** Name of the function, for messages. */
  get name(): string {
    return this.fn.name === '' ? 'anonymous function' : this.fn.name;
  }

  /** Symbols of all traces, with the values that they had. */
  get symbols(): readonly SymbolEntry[] {
    return this.table.entries;
  }

  /** Operators of which nothing is known at other sizes than those that were met. */
  get unknown(): Iterable<OpStep> {
    return this.table.start.unknown;
  }

  /**
   * Calls the function.
   *
   * @param slicing compiles what has to be compiled in slices, each in this scope: the result is a promise then
   */
  call(self: unknown, args: readonly unknown[], slicing: Scope | null = null): unknown {
    const call = { self, args, slicing };
    const mode = modeAround(this.name, args);
    this.eager = mode === 'traced' ? null : mode;
    if (mode !== null) return this.runEagerly(call);
    if (this.options.pure === true && this.artifacts.length > 0) {
      const result = this.skip(call);
      if (result !== MISSED) return result;
    }
    if (this.backoff.skips()) {
      this.eager = this.limited;
      return this.runEagerly(call);
    }
    return this.trace(call);
  }

  private runEagerly({ self, args }: Call): unknown {
    return this.fn.apply(self, args as unknown[]);
  }

  /**
   * Runs the program of a call that has a cursor. A place of the program is the stack down to here (`callPath`), so its name
   * must last: builds shorten those of private methods.
   */
  runTraced({ self, args }: CallArguments): unknown {
    return this.fn.apply(self, args as unknown[]);
  }

  /** The entry point at a place of the program, in a global state. */
  private entryAt(place: string): EntryPoint {
    let point = this.entries.get(place);
    if (point === undefined) this.entries.set(place, (point = new EntryPoint()));
    return point;
  }

  /** Forgets all traces. */
  reset(): void {
    this.entries.clear();
    this.table = new SymbolTable();
    this.artifacts.length = 0;
    this.captures.length = 0;
    this.reasons.length = 0;
    this.warned.clear();
    this.eager = this.limited = null;
    this.backoff = new Backoff();
  }

  // ---- one call

  /** Runs the function under a cursor, to its end, which for an async function comes later. */
  private trace(call: Call, check: PureArtifact | null = null): unknown {
    const { self, args } = call;
    const state = `${defaultDType()} ${gradMode.enabled}`;
    const entry = globalState();
    const { fullgraph = false } = this.options;
    // Beyond the limit, calls of a pure function that no artifact is for are replayed.
    const isRemembered =
      this.options.pure === true &&
      (check !== null || this.artifacts.length < traceConfig.sizeLimit);
    let known: Recording | null = null;
    /** What is recorded of the call. */
    const recording = (): Recording => {
      if (known !== null) return known;
      const start = now();
      const roots = this.roots.named(self, args);
      const count = this.roots.count(args);
      // A skipped call does not run what reads getters.
      const guards = new EntryGuards(roots, entry, count, isRemembered, args.length);
      const sources = new Sources(roots, isRemembered);
      return (known = {
        guards,
        reason: null,
        start,
        roots,
        sources,
        breaks: [],
        recordedAt: new Set(),
      });
    };
    const host: CursorHost = {
      name: this.name,
      table: this.table,
      roots: () => this.roots.values(self, args),
      record: (cursor, describe) => {
        let reason: string | null = null;
        if (describe !== null) {
          if (check !== null) this.refuseStale(describe().text, userFrame());
          reason = this.noteReason(
            whyNoTraceFits(this.captures, this.roots.of(call), entry, describe()),
          );
          if (!this.mayRecord(cursor.entry, reason)) return null;
        }
        const of = recording();
        of.recordedAt.add(cursor.entry);
        of.reason ??= reason;
        // It goes on where the replay diverged.
        const next = this.rebuild(cursor, of.sources, this.recordings++);
        if (describe !== null) next.alignment = new Alignment(cursor.at, this.options.dynamic);
        return next;
      },
      onBreak: (reason, isNew) => {
        if (fullgraph) refuseBreak(reason, this.name);
        if (isNew) recording().breaks.push(reportBreak(reason, this.name));
      },
      entryAfter: ({ code }, enabled) =>
        this.entryAt(
          `${state} ${code} ${enabled} ${callPath('runTraced' satisfies keyof CompiledFunction)}`,
        ),
      onDecline: () => this.noteEager('sizes', beyondSizes(this.name)),
      rebuild: (cursor) => this.rebuild(cursor, new Sources([]), -1),
    };
    const start = this.entryAt(state);
    const cursor: Cursor = isRemembered
      ? new PureCursor({ name: this.name, sources: recording().sources, fullgraph }, start, host)
      : new Cursor(start, host);
    const body = (): unknown => this.runTraced(call);
    cursor.frame.begin();
    const outcome = runToEnd(
      cursor,
      this.waits,
      cursor instanceof PureCursor ? () => cursor.watching(body) : body,
      {
        finish: (result) => {
          const returned = now();
          const end = (): unknown =>
            ending(cursor, () => this.finish(cursor, result, recording, returned, check));
          const { slicing } = call;
          return (cursor.recorder === null && cursor.recorded.length === 0) || slicing === null
            ? end()
            : endInSlices(cursor, result, slicing, end);
        },
        fail: (error) =>
          ending(cursor, () => {
            if (!cursor.passing) abortCall(cursor, error);
          }),
      },
    );
    if (outcome instanceof Promise && call.slicing === null) this.waits = true;
    return outcome;
  }

  /**
   * Whether another trace may be recorded that goes on behind a break, or from the beginning; if not, calls that fit
   * none run eagerly. As in PyTorch, what follows a break has a limit of its own: a loop that ends by a value ends at
   * as many places as it has passes.
   */
  private mayRecord({ recordedCalls }: EntryPoint, reason: string): boolean {
    const { recompileLimit, accumulatedRecompileLimit } = traceConfig;
    const isBelow = recordedCalls < recompileLimit;
    if (isBelow && this.captures.length < Math.max(recompileLimit, accumulatedRecompileLimit))
      return true;
    this.noteLimit(isBelow ? 'accumulatedRecompileLimit' : 'recompileLimit', reason);
    this.backoff.missed();
    return false;
  }

  private finish(
    cursor: Cursor,
    result: unknown,
    recording: () => Recording,
    returned: number,
    check: PureArtifact | null,
  ): unknown {
    if (cursor.finish(result)) this.backoff.fitted();
    if (cursor.recorded.length > 0) {
      // Where the rest ran eagerly, nothing has told yet what they must return.
      if (cursor.passing) seal(cursor, result);
      this.complete(cursor, recording(), returned);
    }
    if (cursor instanceof PureCursor && !cursor.passing) {
      const made = PureArtifact.make(cursor, recording(), result);
      const difference = check?.difference(made) ?? null;
      if (difference !== null) this.refuseStale(difference);
      if (check === null) this.artifacts.unshift(made);
    }
    return result;
  }

  // ---- recording

  /** A recorder with the matched steps of the current segment; one without a number only specialises them. */
  private rebuild(
    { frame, path, entry, segmentGradMode }: Cursor,
    sources: Sources,
    number: number,
  ): Recorder {
    const recorder = new Recorder(
      frame,
      entry.numbering,
      { ...this.options, functionName: this.name, sources, program: this.table },
      new DynamicShapes(this.table, frame, number, this.options.dynamic),
      segmentGradMode,
    );
    if (path.length > 0) rebuildPath(recorder, path);
    return recorder;
  }

  /** @param returned when the function did: graphs are compiled from then on */
  private complete(
    { frame, earlier, guarded }: Cursor,
    { guards, reason, start, breaks, recordedAt }: Recording,
    returned: number,
  ): void {
    // What is remembered of a call of a pure function is good for its sizes alone.
    guards.seal(this.options.pure === true ? [] : guarded);
    const captureMs = returned - start;
    const segments = new Set(earlier.past);
    for (const { segment } of [...earlier.kept, frame]) if (segment !== null) segments.add(segment);
    for (const entry of recordedAt) entry.recordedCalls++;
    this.captures.push({ segments: [...segments], guards, breaks, reason, captureMs });
    counters.inc('frames', 'captured');
    log('guards', () => [`Guards of ${this.name}:`, ...guards.lines()].join('\n  '));
  }

  // ---- pure functions

  /** Runs compiled code instead of the function, where an artifact is for the call; else `MISSED`. */
  private skip(call: Call): unknown {
    const roots = this.roots.values(call.self, call.args);
    for (const artifact of this.artifacts) {
      const result = artifact.tryRun(roots);
      // Its JavaScript runs although it could be skipped.
      if (result === UNCHECKED) return this.trace(call, artifact);
      if (result !== MISSED) return result;
    }
    return MISSED;
  }

  /** The next call is not skipped. @throws pure-stale */
  private refuseStale(difference: string, location?: string): never {
    this.artifacts.length = 0;
    throw staleError(this.name, difference, location);
  }

  // ---- reasons

  private noteReason(reason: string): string {
    this.reasons.push(reason);
    outsideTraps(() => this.options.guardFailFn?.(reason));
    counters.inc('recompiles', this.name);
    log('recompiles', () => `Recompiling ${this.name}: ${reason}`);
    return reason;
  }

  /** @throws trace-recompile-limit where nothing may run eagerly */
  private noteLimit(limit: Limit, reason: string): void {
    if (this.options.fullgraph === true) throw limitError(this.name, limit, reason);
    this.limited = this.noteEager('limit', beyondLimit(this.name, limit, reason));
  }

  /** The call runs eagerly: told once. */
  private noteEager(of: 'limit' | 'sizes', why: EagerCall): EagerCall {
    if (!this.warned.has(of)) outsideTraps(() => warnOfEager(why));
    this.warned.add(of);
    return (this.eager = why);
  }
}

/** Does what is left at the end of a call: what is read now was computed, or can be. */
function ending<R>(cursor: Cursor, fn: () => R): R {
  cursor.frame.pending = null;
  try {
    return fn();
  } finally {
    cursor.frame.end();
  }
}

doNotFollow(CompiledFunction);
