/**
 * @file `CompiledFunction`: one function with its recorded traces.
 *
 * A call captures (nothing recorded yet), replays (the default), or, for `pure` functions, skips the
 * JavaScript when the guards of an artifact hold. Inside another compiled function it is simply part
 * of that trace.
 */
import { counters, log } from '@tessera/shared';
import { type DType, activeMode, defaultDType, gradMode } from '@tessera/tensor';
import { adoptStep } from './capture/adopt-step.js';
import { Capture } from './capture/capture.js';
import { refuseBreak } from './breaks/report-break.js';
import type { CapturedBreak } from './capture/capture-options.js';
import { CallRoots } from './capture/call-roots.js';
import { abortCapture, dropGradients, finishCapture } from './capture/finish-capture.js';
import { runSegmentEagerly } from './trace/eager-segment.js';
import { Shadow } from './capture/shadow.js';
import { Sources } from './capture/sources.js';
import { now } from './clock.js';
import { traceConfig } from './config.js';
import { limitError, warnOfLimit } from './recompile-limit.js';
import { EntryGuards, type Root } from './guards/entry-guards.js';
import { globalState } from './guards/global-state.js';
import { doNotFollow } from './guards/walk.js';
import { makeArtifact, onlySegment, runPure } from './pure/make-artifact.js';
import { MISSED, type PureArtifact, UNCHECKED } from './pure/pure-artifact.js';
import { PureCapture } from './pure/pure-capture.js';
import { PureCheck } from './pure/pure-check.js';
import { DynamicShapes } from './dynamic/dynamic-shapes.js';
import { type SymbolEntry, SymbolTable } from './dynamic/symbol-table.js';
import { Replay } from './replay/replay.js';
import { Specializer } from './replay/specializer.js';
import { explainMisuse, whyNoTraceFits } from './recompile-reasons.js';
import type { AnyFunction, TraceOptions } from './trace-options.js';
import { runToEnd } from './suspended/outcome.js';
import type { SuspendedCall } from './suspended/suspended-calls.js';
import { Run } from './trace/run.js';
import type { Segment } from './trace/segment.js';
import type { Branch, Numbering } from './trace/step.js';

/** One capture, for `explain()` and logs. */
export interface CaptureRecord {
  readonly segments: readonly Segment[];
  readonly guards: EntryGuards;
  readonly breaks: readonly CapturedBreak[];
  /** Why it was made; null for the first. */
  readonly reason: string | null;
  readonly captureMs: number;
}

/** See the file header. */
export class CompiledFunction {
  readonly captures: CaptureRecord[] = [];
  readonly reasons: string[] = [];
  /** Where traces begin, per default dtype and grad mode. */
  private readonly branches = new Map<DType, readonly [Branch, Branch]>();
  private readonly artifacts: PureArtifact[] = [];
  /** Numbers handed out so far, over all traces: unique in the trie. */
  private readonly numbering: Numbering = { slots: 0, scalars: 0 };
  /** Symbols of all traces. */
  private table = new SymbolTable();
  /** Captured calls so far. */
  private calls = 0;
  private warned = false;
  /** Whether the function is async, so that its continuations must be recognised. */
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

  /** Calls the function. */
  call(self: unknown, args: readonly unknown[]): unknown {
    if (activeMode(args) !== null) return this.fn.apply(self, args as unknown[]);
    if (this.options.pure === true) {
      const roots = this.roots.values(self, args);
      for (const artifact of this.artifacts) {
        const result = artifact.tryRun(roots);
        if (result === UNCHECKED) return this.verify(artifact, self, args);
        if (result !== MISSED) return result;
      }
      if (this.artifacts.length > 0) {
        const reason = this.failureReason(
          this.artifacts[0]!.guards.reason(roots) ?? 'other arguments',
        );
        if (this.artifacts.length >= traceConfig.recompileLimit) {
          this.noteLimit(reason);
          return this.fn.apply(self, args as unknown[]);
        }
      }
    }
    if (!traceConfig.replay && this.captures.length >= traceConfig.recompileLimit) {
      this.noteLimit('trace.replay is off');
      return this.fn.apply(self, args as unknown[]);
    }
    const branch = this.startBranch();
    const run = new Run(this.table.tuples.root);
    if (branch.steps.length === 0 || !traceConfig.replay || this.options.pure === true)
      return this.capture(run, branch, self, args);
    return this.replay(run, branch, self, args);
  }

  /** The branch for the current global state; `pure` functions start anew, since their artifacts hold constants. */
  private startBranch(): Branch {
    if (this.options.pure === true || !traceConfig.replay) return { steps: [] };
    const dtype = defaultDType();
    let pair = this.branches.get(dtype);
    if (pair === undefined) this.branches.set(dtype, (pair = [{ steps: [] }, { steps: [] }]));
    return pair[gradMode.enabled ? 1 : 0];
  }

  /** Symbols of all traces, with the values that they had. */
  get symbols(): readonly SymbolEntry[] {
    return this.table.entries;
  }

  /** Forgets all traces. */
  reset(): void {
    this.branches.clear();
    this.table = new SymbolTable();
    this.artifacts.length = 0;
    this.captures.length = 0;
    this.reasons.length = 0;
    this.warned = false;
  }

  // ---- capture

  private capture(run: Run, branch: Branch, self: unknown, args: readonly unknown[]): unknown {
    const start = now();
    const roots = this.roots.named(self, args);
    // A skipped call does not run what reads getters.
    const getters = this.options.pure === true;
    const guards = new EntryGuards(roots, globalState(), this.roots.count(args), getters);
    const capture = this.newCapture(run, branch, new Sources(roots, getters), this.calls++);
    run.flush = (reason) => capture.flush(reason);
    return this.runUnder(
      capture,
      run,
      self,
      args,
      (result) => this.complete(capture, result, guards, null, start, roots),
      (error) =>
        this.options.probe === true ? dropGradients(capture) : abortCapture(capture, error),
    );
  }

  private newCapture(run: Run, branch: Branch, sources: Sources, call: number): Capture {
    const { pure: isPure, dynamic, probe } = this.options;
    const pure = isPure === true && (dynamic !== false || probe === true);
    return new (isPure === true && call >= 0 ? PureCapture : Capture)(
      run,
      branch,
      this.numbering,
      {
        backend: this.options.backend,
        fullgraph: this.options.fullgraph === true,
        functionName: this.name,
        recordOnly: this.options.recordOnly === true,
        sources,
      },
      new DynamicShapes(this.table, run, call, this.options.dynamic, !pure),
    );
  }

  /** Runs the function under a mode to its end, which for an async function comes later. */
  private runUnder(
    mode: Capture | Replay,
    run: Run,
    self: unknown,
    args: readonly unknown[],
    finish: (result: unknown) => unknown,
    abort: (error: unknown) => void,
  ): unknown {
    const call: SuspendedCall = { run, mode, open: false };
    const body = (): unknown => this.fn.apply(self, args as unknown[]);
    const outer = Run.current;
    Run.current = run;
    try {
      return runToEnd(
        call,
        this.waits,
        this.options.pure === true ? () => runPure(mode, this.name, body) : body,
        {
          finish: (result) => {
            if (result instanceof Promise) this.waits = true;
            return finish(result);
          },
          fail: (error) => {
            run.flush = null;
            abort(error);
            return explainMisuse(error, this.name, this.captures, () =>
              this.roots.values(self, args),
            );
          },
        },
      );
    } finally {
      Run.current = outer;
      outer?.claim();
    }
  }

  private complete(
    capture: Capture,
    result: unknown,
    guards: EntryGuards,
    reason: string | null,
    start: number,
    roots: readonly Root[],
  ): unknown {
    const { run } = capture;
    run.flush = null;
    const last = finishCapture(capture, result);
    const segments = run.finished;
    guards.seal(capture.externals);
    // Segments of this capture were compiled, and ran for the first time, meanwhile.
    const captureMs = [...capture.segments, last].reduce(
      (ms, segment) => ms - segment.compileMs - segment.firstRunMs,
      now() - start,
    );
    this.captures.push({ segments, guards, breaks: capture.breaks, reason, captureMs });
    if (capture instanceof PureCapture) this.addArtifact(capture, segments, guards, result, roots);
    if (this.options.probe === true) {
      dropGradients(capture);
      return result;
    }
    counters.inc('frames', 'captured');
    log(
      'guards',
      () =>
        `Guards of ${this.name}:\n${guards
          .lines()
          .map((line) => `  ${line}`)
          .join('\n')}`,
    );
    return result;
  }

  private addArtifact(
    capture: PureCapture,
    segments: readonly Segment[],
    guards: EntryGuards,
    result: unknown,
    roots: readonly Root[],
  ): void {
    const segment = onlySegment(capture, segments, this.name);
    this.options.onCapture?.(capture, segment, result);
    const artifact = makeArtifact(capture, segment, guards, result, roots, {
      name: this.name,
      table: this.table,
      sizeLimit: () => traceConfig.sizeLimit,
      newCapture: (run) => this.newCapture(run, { steps: [] }, new Sources([]), -1),
    });
    this.artifacts.unshift(artifact);
  }

  // ---- replay

  /** Runs the JavaScript of a call that could be skipped. @throws pure-stale */
  private verify(artifact: PureArtifact, self: unknown, args: readonly unknown[]): unknown {
    const run = new Run(this.table.tuples.root);
    const check = new PureCheck(artifact, this.name, () => {
      this.artifacts.length = 0;
    });
    return this.replay(run, artifact.start, self, args, check);
  }

  private replay(
    run: Run,
    branch: Branch,
    self: unknown,
    args: readonly unknown[],
    check: PureCheck | null = null,
  ): unknown {
    let reason: string | null = null;
    let start = 0;
    let roots: Root[] = [];
    let guards: EntryGuards | null = null;
    const entry = globalState();
    const specializer: Specializer = new Specializer(
      run,
      this.table,
      () => this.rebuild(replay, new Sources(this.roots.named(self, args))),
      () => traceConfig.sizeLimit,
      this.name,
    );
    const replay: Replay = new Replay(
      run,
      branch,
      (diverged, describe) => {
        check?.diverged(describe);
        start = now();
        roots = this.roots.named(self, args);
        reason = this.failureReason(whyNoTraceFits(this.captures, roots, entry, describe));
        if (this.captures.length >= traceConfig.recompileLimit) {
          this.noteLimit(reason);
          this.runPrefixEagerly(diverged, roots);
          return null;
        }
        guards = new EntryGuards(roots, entry, this.roots.count(args));
        return this.continueAsCapture(diverged, new Sources(roots));
      },
      specializer,
      (why) => {
        if (this.options.fullgraph === true) refuseBreak(why, this.name);
      },
    );
    run.flush = (why) => replay.flush(why);
    return this.runUnder(
      replay,
      run,
      self,
      args,
      (result) => {
        if (replay.delegate === null && !replay.eager) {
          run.flush = null;
          check?.finished(replay, result);
          if (replay.finish()) return result;
        }
        run.flush = null;
        if (replay.delegate === null) return result;
        return this.complete(replay.delegate, result, guards!, reason, start, roots);
      },
      (error) => this.abortReplay(replay, error),
    );
  }

  /** A capture that goes on where a replay diverged. */
  private continueAsCapture(replay: Replay, sources: Sources): Capture {
    const capture = this.rebuild(replay, sources, this.calls++);
    capture.branch = replay.cursor;
    capture.shadow = new Shadow(replay.cursor, this.options.dynamic);
    return capture;
  }

  /** A capture of the matched steps of the current segment; one without a number only specialises them. */
  private rebuild(replay: Replay, sources: Sources, call = -1): Capture {
    const capture = this.newCapture(replay.run, replay.segmentStart, sources, call);
    capture.segmentStartGradMode = replay.segmentGradMode;
    const current = gradMode.enabled;
    // The matched steps are recorded again in the grad modes in which they ran; no mode is told.
    gradMode.enabled = replay.segmentGradMode;
    try {
      for (const step of replay.matched) adoptStep(capture, step);
    } finally {
      gradMode.enabled = current;
    }
    return capture;
  }

  private abortReplay(replay: Replay, error: unknown): void {
    if (replay.eager) return;
    const capture =
      replay.delegate ?? (replay.matched.length > 0 ? this.rebuild(replay, new Sources([])) : null);
    if (capture !== null) abortCapture(capture, error);
  }

  /** Beyond the recompile limit: computes what was matched, op by op. */
  private runPrefixEagerly(replay: Replay, roots: readonly Root[]): void {
    const capture = this.rebuild(replay, new Sources(roots));
    if (capture.builder.opCount > 0) runSegmentEagerly(capture.finishSegment(), replay.run);
  }

  // ---- reasons

  private failureReason(reason: string): string {
    this.reasons.push(reason);
    this.options.guardFailFn?.(reason);
    counters.inc('recompiles', this.name);
    log('recompiles', () => `Recompiling ${this.name}: ${reason}`);
    return reason;
  }

  /** @throws trace-recompile-limit where nothing may run eagerly */
  private noteLimit(reason: string): void {
    if (this.options.fullgraph === true) throw limitError(this.name, reason);
    if (!this.warned) warnOfLimit(this.name, reason);
    this.warned = true;
  }
}

doNotFollow(CompiledFunction);
