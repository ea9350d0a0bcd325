/**
 * @file `Replay`: runs a function again and matches its ops against the recorded traces.
 *
 * The cursor moves along the trie; a matched op costs the comparison of its arguments and the creation
 * of its result object. Matching is the guard: whatever the program computes in JavaScript happens
 * natively, and an op that no recorded trace expects ends the replay: a `Capture` takes over, is fed
 * the steps matched so far, and records the new path from there.
 */
import {
  type BackwardCall,
  type OpOverload,
  type PreDispatchMode,
  type RegionInputs,
  type Storage,
  type Tensor,
  type TensorBase,
  autogradMeta,
  callOp,
  dispatchBelowPreDispatch,
  gradMode,
  modes,
  setOwnGradient,
  withPreDispatchMode,
} from '@tessera/tensor';
import {
  type BreakReason,
  HOOK_SET,
  MEMORY_CHANGED,
  REQUIRES_GRAD_SET,
  VALUE_READ,
} from '../breaks/graph-breaks.js';
import { opBreak } from '../breaks/op-break.js';
import { isGradOp } from '../capture/capture-backward.js';
import type { Capture } from '../capture/capture.js';
import { runBackwardEagerly } from '../capture/eager-backward.js';
import { SizeTuple } from '../dynamic/size-tuple.js';
import { instantiate, matchAll } from '../trace/pattern.js';
import { type Run, isDueBefore } from '../trace/run.js';
import type { Segment } from '../trace/segment.js';
import {
  type BackwardStep,
  type Branch,
  type OpStep,
  type OutSpec,
  type RegionStep,
  type Step,
  lookThrough,
  specOf,
} from '../trace/step.js';
import { backwardBreak, fitsBackward, gradBreak } from './match-backward.js';
import {
  describeBackward,
  describeEnd,
  describeGradMode,
  describeOp,
  describeRegion,
} from './describe-divergence.js';
import { matchJump } from './match-jump.js';
import { regionLeaves } from './region-leaves.js';
import type { Specializer } from './specializer.js';

/** Makes the capture that continues a diverged replay; null if the function may not be compiled again. */
export type Diverge = (replay: Replay, describe: () => string) => Capture | null;

/** See the file header. */
export class Replay implements PreDispatchMode {
  readonly name = 'replay';
  /** Steps matched since the last graph break; those of a region that was jumped over are one entry. */
  private path: (Step | readonly Step[])[] = [];
  /** Branch at which the current segment began, and its grad mode. */
  segmentStart: Branch;
  segmentGradMode: boolean = gradMode.enabled;
  /** Takes over after divergence. */
  delegate: Capture | null = null;
  /** After divergence beyond the recompile limit: everything runs eagerly. */
  eager = false;
  /** Inside a region that is not jumped over. */
  private inRegion = false;

  constructor(
    readonly run: Run,
    public cursor: Branch,
    private readonly diverge: Diverge,
    private readonly specializer: Specializer,
    /** Told of a break where nothing is matched since the last one. */
    private readonly onBreakBetween: (reason: BreakReason) => void,
  ) {
    this.segmentStart = cursor;
  }

  /** Steps matched since the last graph break. */
  get matched(): readonly Step[] {
    return this.path.flat();
  }

  // ---- ops

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    if (modes.suspended !== null) this.run.announceOp(op, args);
    if (this.delegate === null && !this.eager) {
      const branch = this.cursor;
      const first = branch.steps[0];
      const isFirst = first?.kind === 'op' && first.op === op && !isGradOp(op);
      if (isFirst && matchAll(first.args, args, this.run)) return this.accept(first);
      return this.handleSlow(op, args, branch);
    }
    return this.forward(op, args);
  }

  private handleSlow(op: OpOverload, args: readonly unknown[], branch: Branch): unknown {
    const reason = (isGradOp(op) ? gradBreak(this, args) : null) ?? opBreak(op, args);
    if (reason !== null) {
      this.run.noteReads(args);
      if (isGradOp(op)) this.onWatch(args[2] as readonly Tensor[]);
      this.breakGraph(reason);
      return withPreDispatchMode(null, () => dispatchBelowPreDispatch(op, args));
    }
    for (const step of lookThrough(branch)) {
      if (step.kind === 'op' && step.op === op && matchAll(step.args, args, this.run))
        return this.accept(step);
    }
    this.takeOver(() => describeOp(op, args, branch));
    return this.forward(op, args);
  }

  private forward(op: OpOverload, args: readonly unknown[]): unknown {
    if (this.delegate !== null) return this.delegate.handle(op, args);
    return withPreDispatchMode(null, () => callOp(op, args));
  }

  /** Moves behind a matched op and makes its results. */
  private accept(step: OpStep): unknown {
    if (modes.suspended !== null) this.run.announce(step);
    if (step.gaining.length > 0) this.run.noteGradients(step.gaining);
    if (this.run.tuple.parent !== null) return this.acceptSymbolic(step);
    this.cursor = step.next;
    this.path.push(step);
    return step.isList ? step.outs.map((spec) => this.result(spec)) : this.result(step.outs[0]!);
  }

  /** A result of an op; one that exists may require grad from now on. */
  private result(spec: OutSpec | null, exists: boolean | undefined = spec?.same): Tensor | null {
    if (spec === null) return null;
    if (exists !== true) return this.run.produce(spec);
    const tensor = this.run.slots[spec.slot]!;
    if (tensor.isLazy) tensor.requiresGradFlag = spec.requiresGrad;
    return tensor;
  }

  /** The same where sizes are symbols: the results are those of the present sizes. */
  private acceptSymbolic(step: OpStep): unknown {
    const { specializer } = this;
    const outs = specializer.produce(step);
    this.cursor = step.next;
    this.path.push(step);
    const tensors = outs.map((spec) => this.result(spec, specializer.rebuilding || spec?.same));
    return step.isList ? tensors : tensors[0];
  }

  onGradMode(enabled: boolean): void {
    this.run.gradMode = enabled;
    if (this.eager) return;
    if (this.delegate === null) {
      for (const step of lookThrough(this.cursor)) {
        if (step.kind !== 'grad-mode' || step.enabled !== enabled) continue;
        this.cursor = step.next;
        this.path.push(step);
        this.specializer.follow(step);
        return;
      }
      this.takeOver(() => describeGradMode(enabled));
    }
    (this.delegate as Capture | null)?.onGradMode(enabled);
  }

  onBackward(call: BackwardCall): boolean {
    if (this.eager) return false;
    if (this.delegate === null) {
      for (const step of lookThrough(this.cursor)) {
        if (step.kind === 'backward' && this.matchBackward(step, call)) return true;
      }
      const reason = backwardBreak(this.cursor, call, this.run);
      if (reason !== null) {
        this.run.noteReads([call.tensors, call.gradTensors]);
        this.onWatch(call.inputs ?? []);
        this.breakGraph(reason);
        runBackwardEagerly(call);
        return true;
      }
      this.takeOver(describeBackward);
    }
    return (this.delegate as Capture | null)?.onBackward(call) ?? false;
  }

  private matchBackward(step: BackwardStep, call: BackwardCall): boolean {
    const { run } = this;
    if (!fitsBackward(step, call, run)) return false;
    const specs = run.tuple.parent === null ? null : this.specializer.produce(step);
    step.leaves.forEach(({ leaf, grad, existing }, i) => {
      if (existing !== null || grad === null) return;
      setOwnGradient(
        run.slots[leaf]!,
        this.specializer.rebuilding ? run.slots[grad.slot]! : run.produce(specs?.[i] ?? grad),
      );
    });
    this.cursor = step.exit;
    this.path.push(step);
    if (modes.suspended !== null) this.run.announce(step);
    return true;
  }

  onRegion<R>(
    owner: object,
    name: string,
    inputs: RegionInputs,
    fn: (inputs: RegionInputs) => R,
  ): R {
    if (this.delegate !== null) return this.delegate.onRegion(owner, name, inputs, fn);
    // A region inside a region is part of it.
    if (this.eager || this.inRegion) return fn(inputs);
    for (const step of this.cursor.steps) {
      if (step.kind !== 'region' || step.owner !== owner || step.name !== name) continue;
      if (step.jump === null) {
        if (matchAll(step.inputs, regionLeaves(inputs), this.run))
          return this.enter(step, inputs, fn);
      }
      const jumped = step.jump === null ? false : this.jump(step, inputs);
      if (jumped instanceof SizeTuple) return this.enterNewSizes(step, jumped, inputs, fn);
      if (jumped) {
        const { leaves, rebuild } = step.result!;
        return rebuild(leaves.map((leaf) => instantiate(leaf, this.run))) as R;
      }
    }
    // The capture makes it a region, with guards on the owner as it is now.
    const branch = this.cursor;
    this.takeOver(() => describeRegion(owner, name, branch));
    const delegate = this.delegate as Capture | null;
    return delegate === null ? fn(inputs) : delegate.onRegion(owner, name, inputs, fn);
  }

  /** A region that cannot be jumped over: its body runs and its ops are matched one by one. */
  private enter<R>(step: RegionStep, inputs: RegionInputs, fn: (inputs: RegionInputs) => R): R {
    this.path.push(step);
    this.specializer.follow(step);
    this.cursor = step.next;
    this.inRegion = true;
    try {
      return fn(inputs);
    } finally {
      this.inRegion = false;
    }
  }

  /** A region met with new sizes: its body runs once more, and what it makes is noted for these sizes. */
  private enterNewSizes<R>(
    step: RegionStep,
    tuple: SizeTuple,
    inputs: RegionInputs,
    fn: (inputs: RegionInputs) => R,
  ): R {
    const result = this.enter(step, inputs, fn);
    const { exit, produced } = step.jump!;
    if (this.delegate === null && this.cursor === exit)
      tuple.specs.set(
        step,
        produced.map(({ slot }) => ({ ...specOf(this.run.slots[slot]!), slot })),
      );
    return result;
  }

  /** Jumps over a region if it matches; a `SizeTuple` says that it matches, with sizes not met before. */
  private jump(step: RegionStep, inputs: RegionInputs): boolean | SizeTuple {
    const { run } = this;
    const jump = step.jump!;
    const produced = matchJump(step, jump, inputs, run);
    if (produced === null) return false;
    if (produced instanceof SizeTuple) return produced;
    if (this.specializer.rebuilding) this.specializer.follow(...jump.steps);
    for (const spec of produced)
      if (run.slots[spec.slot] === undefined || !this.specializer.rebuilding) run.produce(spec);
    for (const { tensor, value } of jump.grads)
      autogradMeta(run.slots[tensor]!).grad = value < 0 ? null : run.slots[value]!;
    this.path.push(jump.steps);
    this.cursor = jump.exit;
    if (modes.suspended !== null) this.run.announce(...jump.steps);
    return true;
  }

  onSetGrad(tensor: TensorBase, value: TensorBase | null): void {
    this.delegate?.onSetGrad(tensor, value);
  }

  onDrop(grad: TensorBase): void {
    this.run.drop(grad, grad.isLazy || this.dueBefore(grad.storage, true) !== null);
  }

  onSetRequiresGrad(tensor: TensorBase): void {
    this.run.noteReads([tensor]);
    this.breakGraph(REQUIRES_GRAD_SET);
  }

  onSetHook(tensor: TensorBase): void {
    if (this.delegate !== null) this.delegate.onSetHook(tensor);
    else if (this.dueBefore(tensor.storage, true) !== null) this.flush(HOOK_SET);
  }

  givesGradients(tensor: TensorBase): boolean {
    return this.run.givesGradients(tensor);
  }

  onWatch(tensors: readonly TensorBase[]): void {
    this.run.watch(tensors, (storage) => this.dueBefore(storage, false) !== null);
  }

  onAccess(storage: Storage, writes: boolean): void {
    const reason = this.dueBefore(storage, writes);
    if (reason !== null) this.flush(reason);
  }

  /** See `Capture.dueBefore`. */
  dueBefore(storage: Storage, writes: boolean): BreakReason | null {
    if (this.delegate !== null) return this.delegate.dueBefore(storage, writes);
    if (this.eager) return null;
    const isDue = (wanted: boolean): boolean =>
      this.matched.some((step) => isDueBefore(step, storage, wanted, this.run));
    if (isDue(false)) return VALUE_READ;
    return writes && isDue(true) ? MEMORY_CHANGED : null;
  }

  /** A value is needed now: runs the compiled segment. */
  flush(reason: BreakReason): void {
    if (this.delegate === null && (this.eager || this.endsSegment(reason))) return;
    this.delegate?.flush(reason);
  }

  /** The same for what no graph can hold. @throws trace-full-graph */
  breakGraph(reason: BreakReason): void {
    if (this.delegate === null) {
      if (this.eager) return;
      if (this.path.length === 0) this.onBreakBetween(reason);
      if (this.endsSegment(reason)) return;
    }
    this.delegate?.breakGraph(reason);
  }

  /** Whether nothing is matched since the last break, or a recorded call had a break here too; else a capture takes over. */
  private endsSegment(reason: BreakReason): boolean {
    if (this.path.length === 0) return true;
    for (const step of this.cursor.steps) {
      // Of a call that is suspended or failed, it is not known what must be returned.
      if (step.kind !== 'flush' || !step.segment.sealed || !step.segment.fits(this.run)) continue;
      this.runSegment(step.segment);
      this.startSegment(step.next);
      return true;
    }
    this.takeOver(() => `${reason.text} where the recorded call did not`);
    return false;
  }

  private runSegment(template: Segment): void {
    if (this.run.reads.size > 0) template.addOutputs(this.run.reads);
    const segment =
      this.run.tuple.parent === null ? template : this.specializer.segmentFor(template);
    this.run.noteFinished(template);
    this.run.runSegment(segment);
  }

  private startSegment(branch: Branch): void {
    this.cursor = branch;
    this.segmentStart = branch;
    this.path = [];
    this.specializer.reset();
    this.run.gaining.clear();
    this.segmentGradMode = this.run.gradMode;
  }

  /** The function returned; true if a recorded trace ended here too. */
  finish(): boolean {
    for (const step of this.cursor.steps) {
      if (step.kind !== 'return' || !step.segment.fits(this.run)) continue;
      this.runSegment(step.segment);
      return true;
    }
    const { cursor, run } = this;
    this.takeOver(() => describeEnd(cursor, run.spares.size > 0));
    return false;
  }

  /** Hands over to a capture, or to eager execution beyond the recompile limit. */
  takeOver(describe: () => string): void {
    this.delegate = this.diverge(this, describe);
    if (this.delegate === null) this.eager = true;
  }
}
