/**
 * @file `Cursor`: where a call of a compiled function is in the trie of recorded traces.
 *
 * It is the mode under which the function's JavaScript runs. While it matches, each event must be one that a
 * recorded step expects, and costs a comparison and the object of its result: whatever the program computes in
 * JavaScript happens natively, and matching is the guard. Where no step fits it records from there on, or, beyond
 * the recompile limit, passes: everything runs eagerly. What matching and recording mean for each kind of event is
 * in `events/`.
 */
import { treeLeaves } from '@tessera/shared';
import { type OpOverload, type Storage, type Tensor } from '@tessera/tensor';
import {
  type BackwardCall,
  GENERATOR_MEMORY,
  type PreDispatchMode,
  type RegionInputs,
  gradMode,
  modes,
  programLeaf,
} from '@tessera/tensor/internal';
import {
  type BreakReason,
  GENERATOR_ACCESSED,
  HOOK_SET,
  MEMORY_CHANGED,
  REQUIRES_GRAD_SET,
  VALUE_READ,
} from '../breaks/graph-breaks.js';
import { BACKWARD, endAfterHooks } from '../events/backward.js';
import { isGradOp } from '../events/grad-operator.js';
import { BREAK } from '../events/break.js';
import { type Difference, type EventKind, MISS } from '../events/event.js';
import { becomeLeaf, startsLeaf } from '../events/leaf.js';
import { OPERATOR, acceptOperator, breakBefore, runUnrecorded } from '../events/operator.js';
import { REGION } from '../events/region.js';
import { RETURN } from '../events/return.js';
import { watch } from '../events/watch.js';
import type { SymbolTable } from '../dynamic/symbol-table.js';
import { EarlierFrames } from '../frame/earlier-frames.js';
import { Frame } from '../frame/frame.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import type { EntryPoint } from '../trace/entry-point.js';
import { matchAll } from '../trace/pattern.js';
import { type Step, type TrieNode, accesses, isDueBefore } from '../trace/step.js';
import type { Recorder } from './recorder.js';
import { Specializer } from './specializer.js';

/** What a cursor asks of its function. */
export interface CursorHost {
  readonly name: string;
  /** Symbols of the function. */
  readonly table: SymbolTable;
  /**
   * Makes the recorder that goes on where nothing fits; null if the function may not be compiled again.
   *
   * @param describe what differs; null where nothing is known of the segment
   */
  record(cursor: Cursor, describe: (() => Difference) | null): Recorder | null;
  /** Told of a break; `isNew`: where nothing was recorded yet. */
  onBreak(reason: BreakReason, isNew: boolean): void;
  /** Arguments and captures of the call, as they are now: a captured variable may have another value than when it began. */
  roots(): readonly unknown[];
  /** What follows a break where the program is now. */
  entryAfter(reason: BreakReason, gradMode: boolean): EntryPoint;
  /** Told of a call whose sizes come too seldom to be worth code. */
  onDecline(): void;
  /** A recorder with the matched steps of the current segment, which records nothing new. */
  rebuild(cursor: Cursor): Recorder;
}

/** See the file header. */
export class Cursor implements PreDispatchMode {
  readonly name = 'trace';
  /** The values of the current segment. */
  frame: Frame;
  /** Those of the segments before it. */
  readonly earlier: EarlierFrames = new EarlierFrames();
  /** See `Frame`; of the current one. A field, as calls of an unoptimised getter count. */
  path: Frame['path'];
  /** Where the call is. */
  at: TrieNode;
  /** Records the current segment; null while it is matched. */
  recorder: Recorder | null = null;
  /** Whether it is not yet known of a segment of this call what it must return. */
  mustSeal = false;
  /** Frames of the segments of this call that were recorded, and not yet compiled. */
  readonly recorded: Frame[] = [];
  /** Tensors that recorded segments take, as they are guarded first. */
  readonly guarded: Map<Tensor, TensorGuard> = new Map();
  /** Objects whose regions were recorded: they can hold results. */
  readonly owners: Set<object> = new Set();
  /** A value of this call is watched: the path is recorded anew by the next one. */
  isOutdated = false;
  segmentGradMode: boolean = gradMode.enabled;
  /** Nothing is traced any more: everything runs eagerly. */
  passing = false;
  /** Inside a region that is recorded, or matched step by step. */
  inRegion = false;
  /** Whether what the call does is kept for calls that are skipped. */
  readonly isRemembered: boolean = false;
  readonly specializer: Specializer;

  constructor(
    /** Where the current segment begins. */
    public entry: EntryPoint,
    readonly host: CursorHost,
  ) {
    this.frame = new Frame(host.table.bindings.root);
    this.frame.pending = this;
    this.path = this.frame.path;
    this.at = entry;
    this.specializer = new Specializer(this);
  }

  get matching(): boolean {
    return this.recorder === null && !this.passing;
  }

  /** Steps of the current segment. */
  get matched(): readonly Step[] {
    return this.path.flat();
  }

  /** Whether nothing happened since the last graph break. */
  get atSegmentStart(): boolean {
    return this.path.length === 0;
  }

  /** Tensors from outside that the current segment may have made these of. */
  inputsBehind(made: readonly Tensor[]): Tensor[] {
    const { frame } = this;
    const slots = new Set(made.map((tensor) => frame.slotOf(tensor)));
    for (const step of this.matched.toReversed()) {
      const isUnrelated =
        step.kind === 'op' &&
        step.written.length === 0 &&
        !step.outs.some((out) => out !== null && slots.has(out.slot));
      if (!isUnrelated) for (const [slot] of accesses(step)) slots.add(slot);
    }
    // What a region that was jumped over made for itself has no tensor.
    return [...slots].flatMap((slot) => frame.slots[slot] ?? []).filter((t) => !t.isLazy);
  }

  // ---- moving

  /** Moves behind a matched step. */
  advance(step: Step | readonly Step[], to: TrieNode): void {
    this.path.push(step);
    this.at = to;
  }

  /** Adds a recorded step and moves behind it. */
  append(step: Step): void {
    // What accepts more than an older step does comes before it.
    this.at.steps.unshift(step);
    this.path.push(step);
    if (step.kind !== 'return') this.at = step.next;
  }

  /** The segment has run, and another begins; steps that are known are matched again. */
  beginSegment(entry: EntryPoint): void {
    const { frame } = this;
    this.earlier.push(frame);
    this.recorder = null;
    this.entry = entry;
    this.at = entry;
    this.frame = frame.next(this.host.table.bindings.root);
    this.path = this.frame.path;
    this.segmentGradMode = frame.gradMode;
    this.specializer.reset();
  }

  /** Matches, records or runs an event. */
  event<C, R>(kind: EventKind<C, R>, call: C): R {
    if (this.recorder === null && !this.passing) {
      const { at } = this;
      if (this.entry.steps.length === 0) this.recorder = this.host.record(this, null);
      else {
        const result = kind.match(this, call);
        if (result !== MISS) return result;
        this.diverge(() => kind.describe(call, at));
      }
    }
    return this.recorder === null ? kind.run(call) : kind.record(this, this.recorder, call);
  }

  /** Goes on recording, or eagerly beyond the recompile limit. */
  diverge(describe: () => Difference): void {
    this.recorder = this.host.record(this, describe);
    if (this.recorder === null) this.pass();
  }

  /** Goes on eagerly. */
  pass(): void {
    const recorder = this.host.rebuild(this);
    if (recorder.builder.opCount > 0) this.frame.runByOperator(recorder.finishSegment());
    this.passing = true;
  }

  // ---- events

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    if (modes.suspended !== null) this.frame.announceOp(op, args);
    const first = this.at.steps[0];
    // The common case: what comes next, and nothing else to be seen to.
    if (
      first?.kind === 'op' &&
      first.op === op &&
      first.isPlain &&
      first.gradMode === this.frame.gradMode &&
      this.recorder === null &&
      !this.passing &&
      matchAll(first.args, args, this.frame)
    )
      return acceptOperator(this, first, args);
    const reason = this.passing ? null : breakBefore(this, op, args);
    if (reason === null) {
      if (isGradOp(op)) return endAfterHooks(this, () => this.event(OPERATOR, { op, args }));
      return this.event(OPERATOR, { op, args });
    }
    this.frame.noteReads(args);
    if (isGradOp(op)) this.onWatch(args[2] as readonly Tensor[]);
    this.breakGraph(reason);
    const result = runUnrecorded(op, args);
    // How many rows `nonzero` and others give depends on values.
    if (reason.code === 'GB0002')
      for (const made of [result].flat()) this.frame.counts.set(made as Tensor, [0]);
    return result;
  }

  onGradMode(enabled: boolean): void {
    this.frame.gradMode = enabled;
  }

  onBackward(call: BackwardCall): boolean {
    return endAfterHooks(this, () => this.event(BACKWARD, call));
  }

  onRegion<R>(
    owner: object,
    name: string,
    inputs: RegionInputs,
    fn: (inputs: RegionInputs) => R,
  ): R {
    // A region inside a region is part of it.
    if (this.passing || this.inRegion) {
      this.owners.add(owner);
      return fn(inputs);
    }
    if (modes.suspended !== null) this.frame.settleForeign(treeLeaves(inputs));
    return this.event(REGION, { owner, name, inputs, fn }) as R;
  }

  /** The function returned; whether a recorded trace ended here too. */
  finish(result: unknown): boolean {
    return this.event(RETURN, result);
  }

  // ---- what happens outside operators

  onSetGrad(): void {
    if (this.recorder?.region != null) this.recorder.region.broken = true;
  }

  onSetRequiresGrad(tensor: Tensor, value: boolean): boolean {
    if (value && startsLeaf(this, tensor)) {
      const made = this.event(OPERATOR, { op: programLeaf, args: [tensor] }) as Tensor;
      if (made.isLazy) {
        becomeLeaf(this, tensor, made);
        return true;
      }
    }
    this.frame.noteReads([tensor]);
    // Nothing that is recorded knows the tensor: what comes guards what it reads.
    if (this.atSegmentStart || this.isApart(tensor)) this.onSetGrad();
    else this.breakGraph(REQUIRES_GRAD_SET);
    return false;
  }

  /** Whether no recorded operator reads or writes the memory of a tensor. */
  private isApart(tensor: Tensor): boolean {
    if (tensor.isLazy || tensor.base !== null || this.frame.slotOf(tensor) >= 0) return false;
    return this.dueBefore(tensor.storage, true) === null;
  }

  onSetHook(tensor: Tensor): void {
    if (this.dueBefore(tensor.storage, true) !== null) this.flush(HOOK_SET);
  }

  givesGradients(tensor: Tensor): boolean {
    return this.frame.givesGradients(tensor);
  }

  isLeafMadeInside(tensor: Tensor): boolean {
    return this.frame.leaves.has(tensor);
  }

  onUntraced(why: string): void {
    this.breakGraph({ code: 'GB0004', text: why });
  }

  onWatch(tensors: readonly Tensor[]): void {
    this.frame.noteReads(tensors);
    if (!this.passing) watch(this, tensors);
  }

  onAccess(storage: Storage, writes: boolean): void {
    const reason = this.dueBefore(storage, writes);
    if (reason !== null) this.flush(reason);
  }

  onDrop(tensor: Tensor): void {
    const isRead = !tensor.isLazy && this.dueBefore(tensor.storage, true) !== null;
    this.frame.drop(tensor, isRead);
  }

  /** Why what is recorded must run before memory is read, or written; null if it need not. */
  dueBefore(storage: Storage, writes: boolean): BreakReason | null {
    if (this.passing) return null;
    // Most memory is none that the segment has: gradients that are dropped behind a long forward pass.
    if (storage !== GENERATOR_MEMORY && !this.frame.holds(storage)) return null;
    const isDue = (wanted: boolean): boolean =>
      this.matched.some((step) => isDueBefore(step, storage, wanted, this.frame.slots));
    if (isDue(false)) return storage === GENERATOR_MEMORY ? GENERATOR_ACCESSED : VALUE_READ;
    return writes && isDue(true) ? MEMORY_CHANGED : null;
  }

  // ---- graph breaks

  /** Ends the graph here and computes it; nothing to do where nothing is recorded. @throws trace-full-graph */
  flush(reason: BreakReason): void {
    if (!this.passing && !this.atSegmentStart) this.event(BREAK, { reason, isTold: false });
  }

  /** The same for what no graph can hold: told even where nothing is recorded yet. @throws trace-full-graph */
  breakGraph(reason: BreakReason): void {
    if (this.passing) return;
    if (!this.atSegmentStart) this.event(BREAK, { reason, isTold: true });
    else this.host.onBreak(reason, this.recorder !== null || this.entry.steps.length === 0);
  }
}
