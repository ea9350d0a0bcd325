/**
 * @file `Replay`: runs a function again and matches its ops against the recorded traces.
 *
 * The cursor moves along the trie; a matched op costs the comparison of its arguments and the creation
 * of its result object. Matching is the guard: whatever the program computes in JavaScript happens
 * natively, and an op that no recorded trace expects ends the replay: a `Capture` takes over, is fed
 * the steps matched so far, and records the new path from there.
 */
import { treeFlatten } from '@tessera/shared';
import {
  type BackwardCall,
  type OpOverload,
  type PreDispatchMode,
  type RegionInputs,
  type Storage,
  type TensorBase,
  autogradMeta,
  callOp,
  dispatchBelowPreDispatch,
  gradMode,
  withPreDispatchMode,
} from '@tessera/tensor';
import type { Capture } from '../capture/capture.js';
import { matchAll, matchPattern, unbindPatterns } from '../trace/pattern.js';
import type { Run } from '../trace/run.js';
import type { Segment } from '../trace/segment.js';
import type { BackwardStep, Branch, OpStep, RegionStep, Step } from '../trace/step.js';

/** Makes the capture that continues a diverged replay; null if the function may not be compiled again. */
export type Diverge = (replay: Replay, describe: () => string) => Capture | null;

/** See the file header. */
export class Replay implements PreDispatchMode {
  readonly name = 'replay';
  /** Steps matched since the last graph break. */
  matched: Step[] = [];
  /** Branch at which the current segment began, and its grad mode. */
  segmentStart: Branch;
  segmentGradMode: boolean = gradMode.enabled;
  /** Segments run so far. */
  readonly segments: Segment[] = [];
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
  ) {
    this.segmentStart = cursor;
  }

  // ---- ops

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    if (this.delegate === null && !this.eager) {
      const branch = this.cursor;
      const first = branch.steps[0];
      if (
        first !== undefined &&
        first.kind === 'op' &&
        first.op === op &&
        matchAll(first.args, args, this.run)
      )
        return this.accept(first);
      return this.handleSlow(op, args, branch);
    }
    return this.forward(op, args);
  }

  private handleSlow(op: OpOverload, args: readonly unknown[], branch: Branch): unknown {
    if (op.hasTag('data-dependent')) {
      this.flush(`the shape of ${op.qualifiedName} depends on values`);
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
    this.cursor = step.next;
    this.matched.push(step);
    const { outs, isList } = step;
    if (!isList) {
      const spec = outs[0]!;
      return spec === null ? null : spec.same ? this.run.slots[spec.slot] : this.run.produce(spec);
    }
    return outs.map((spec) =>
      spec === null ? null : spec.same ? this.run.slots[spec.slot] : this.run.produce(spec),
    );
  }

  // ---- other events

  onGradMode(enabled: boolean): void {
    if (this.eager) return;
    if (this.delegate === null) {
      for (const step of lookThrough(this.cursor)) {
        if (step.kind !== 'grad-mode' || step.enabled !== enabled) continue;
        this.cursor = step.next;
        this.matched.push(step);
        return;
      }
      this.takeOver(
        () => `grad mode was switched ${enabled ? 'on' : 'off'} where the recorded call did not`,
      );
    }
    (this.delegate as Capture | null)?.onGradMode(enabled);
  }

  onBackward(call: BackwardCall): boolean {
    if (this.eager) return false;
    if (this.delegate === null) {
      for (const step of lookThrough(this.cursor)) {
        if (step.kind === 'backward' && this.matchBackward(step, call)) return true;
      }
      this.takeOver(
        () =>
          'backward() was called where the recorded call did not, or gradients were set differently',
      );
    }
    return (this.delegate as Capture | null)?.onBackward(call) ?? false;
  }

  private matchBackward(step: BackwardStep, call: BackwardCall): boolean {
    const { run } = this;
    if (call.createGraph || (call.inputs === null) !== (step.inputs === null)) return false;
    if (
      !matchAll(step.roots, call.tensors, run) ||
      !matchAll(step.gradTensors, call.gradTensors, run)
    )
      return false;
    if (step.inputs !== null && !matchAll(step.inputs, call.inputs!, run)) return false;
    for (const { leaf, existing } of step.leaves) {
      const tensor = run.slots[leaf];
      if (tensor === undefined) return false;
      const current = tensor.autograd?.grad ?? null;
      if (
        existing === null
          ? current !== null
          : current === null || !matchPattern(existing, current, run)
      )
        return false;
    }
    for (const { leaf, grad, existing } of step.leaves) {
      if (existing === null && grad !== null)
        autogradMeta(run.slots[leaf]!).grad = run.produce(grad);
    }
    this.cursor = step.exit;
    this.matched.push(step);
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
        if (matchAll(step.inputs, treeFlatten(inputs).leaves, this.run))
          return this.enter(step, inputs, fn);
      } else if (this.jump(step, inputs)) {
        return step.result!.rebuild(
          step.result!.leaves.map((leaf) =>
            leaf.code === 2 ? leaf.value : this.run.slots[(leaf as { slot: number }).slot],
          ),
        ) as R;
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
    this.matched.push(step);
    this.cursor = step.next;
    this.inRegion = true;
    try {
      return fn(inputs);
    } finally {
      this.inRegion = false;
    }
  }

  private jump(step: RegionStep, inputs: RegionInputs): boolean {
    const { run } = this;
    const jump = step.jump!;
    if (!jump.guards.check(step.owner)) return false;
    if (!matchAll(step.inputs, treeFlatten(inputs).leaves, run)) return false;
    if (!matchAll(jump.implicit, jump.fetch(step.owner), run)) {
      unbindPatterns(step.inputs, step.inputs.length, run);
      return false;
    }
    for (const spec of jump.produced) run.produce(spec);
    for (const { tensor, value } of jump.grads)
      autogradMeta(run.slots[tensor]!).grad = value < 0 ? null : run.slots[value]!;
    this.matched.push(step, ...jump.inner);
    this.cursor = jump.exit;
    return true;
  }

  onSetGrad(tensor: TensorBase, value: TensorBase | null): void {
    this.delegate?.onSetGrad(tensor, value);
  }

  onAccess(storage: Storage): void {
    if (this.delegate !== null) this.delegate.onAccess(storage);
    else if (!this.eager && this.matched.some((step) => this.writes(step, storage)))
      this.flush('the value of a tensor was read');
  }

  /** Whether a matched step, which has not run yet, writes to memory that exists. */
  private writes(step: Step, storage: Storage): boolean {
    const isIt = (slot: number): boolean => this.run.slots[slot]?.storageOrNull === storage;
    if (step.kind === 'op') return step.written.some(isIt);
    return (
      step.kind === 'backward' &&
      step.leaves.some(({ existing }) => existing !== null && isIt(existing.slot))
    );
  }

  // ---- ends of segments

  /** A value is needed now: runs the compiled segment. */
  flush(reason: string): void {
    if (this.delegate !== null) return this.delegate.flush(reason);
    if (this.eager || this.matched.length === 0) return;
    for (const step of this.cursor.steps) {
      if (step.kind !== 'flush') continue;
      this.runSegment(step.segment);
      this.startSegment(step.next);
      return;
    }
    this.takeOver(() => `${reason} where the recorded call did not`);
    (this.delegate as Capture | null)?.flush(reason);
  }

  private runSegment(segment: Segment): void {
    this.run.noteRan(segment);
    segment.run(this.run);
    this.segments.push(segment);
  }

  private startSegment(branch: Branch): void {
    this.cursor = branch;
    this.segmentStart = branch;
    this.matched = [];
    this.segmentGradMode = gradMode.enabled;
  }

  /** The function returned; true if a recorded trace ended here too. */
  finish(): boolean {
    for (const step of this.cursor.steps) {
      if (step.kind !== 'return') continue;
      this.runSegment(step.segment);
      return true;
    }
    this.takeOver(() => 'the function returned earlier than the recorded call');
    return false;
  }

  /** Hands over to a capture, or to eager execution beyond the recompile limit. */
  takeOver(describe: () => string): void {
    this.delegate = this.diverge(this, describe);
    if (this.delegate === null) this.eager = true;
  }
}

/** Steps that may come next, looking into regions that are not jumped. */
function lookThrough(branch: Branch): Step[] {
  const found: Step[] = [];
  const branches = [branch];
  while (branches.length > 0) {
    for (const step of branches.pop()!.steps) {
      if (step.kind === 'region') branches.push(step.next);
      found.push(step);
    }
  }
  return found;
}

function describeRegion(owner: object, name: string, branch: Branch): string {
  const step = branch.steps.find(
    (candidate): candidate is RegionStep =>
      candidate.kind === 'region' && candidate.owner === owner && candidate.name === name,
  );
  const what = `${owner.constructor.name}.${name}`;
  if (step === undefined) return `the call went on with ${what} where the recorded call did not`;
  return step.jump?.guards.reason(owner) ?? `other tensors were passed to ${what}`;
}

function describeOp(op: OpOverload, args: readonly unknown[], branch: Branch): string {
  const expected = branch.steps.find((step): step is OpStep => step.kind === 'op');
  if (expected === undefined)
    return `the call went on with ${op.displayName} where the recorded call did not`;
  if (expected.op !== op)
    return `expected ${expected.op.displayName}, got ${op.displayName}${expected.location === null ? '' : ` (recorded at ${expected.location})`}`;
  const at = expected.args.findIndex(
    (pattern, i) => pattern.code === 2 && !Object.is(pattern.value, args[i]),
  );
  if (at >= 0) {
    const pattern = expected.args[at] as { value: unknown };
    return `argument '${op.schema.args[at]!.name}' of ${op.displayName} == ${String(pattern.value)}, actual ${String(args[at])}`;
  }
  return `another tensor was passed to ${op.displayName}`;
}
