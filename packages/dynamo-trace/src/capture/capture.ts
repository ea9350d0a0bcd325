/**
 * @file `Capture`: records a call of a function as a new path of its trie.
 *
 * Ops are recorded, not run: results are lazy tensors whose metadata comes from twins
 * (segment-builder.ts). It continues from any branch, so a replay that diverged hands over in the
 * middle: `adoptStep` feeds it the steps matched so far, and it goes on recording behind them.
 */
import { moduleStack, userFrame } from '@tessera/graph';
import { SymScalar, isTesseraError } from '@tessera/shared';
import {
  type BackwardCall,
  GENERATOR_MEMORY,
  type OpOverload,
  type PreDispatchMode,
  type RegionInputs,
  type Storage,
  type Tensor,
  type TensorBase,
  dispatchBelowPreDispatch,
  gradMode,
  requiresGrad,
  withPreDispatchMode,
} from '@tessera/tensor';
import {
  BACKWARD_OUTSIDE,
  type BreakReason,
  HOOK_SET,
  MEMORY_CHANGED,
  REQUIRES_GRAD_SET,
  VALUE_READ,
} from '../breaks/graph-breaks.js';
import { opBreak } from '../breaks/op-break.js';
import { reportBreak } from '../breaks/report-break.js';
import type { DynamicShapes, Older } from '../dynamic/dynamic-shapes.js';
import type { DynamicTensorGuard } from '../guards/dynamic-tensor-guard.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import { type ExternalPattern, type Pattern, type SlotPattern, slotsOf } from '../trace/pattern.js';
import type { Run } from '../trace/run.js';
import type { Segment } from '../trace/segment.js';
import {
  type Branch,
  type Numbering,
  type OpStep,
  type OutSpec,
  type Step,
  specOf,
} from '../trace/step.js';
import { prepareArguments } from './arguments.js';
import { captureBackward, isGradOp, leavesSegment } from './capture-backward.js';
import type { CaptureOptions, CapturedBreak } from './capture-options.js';
import { type RegionCapture, captureRegion } from './capture-region.js';
import { runSegmentEagerly } from '../trace/eager-segment.js';
import { Shadow } from './shadow.js';
import { gainingGradients } from './gaining-gradients.js';
import { runOnTwins } from './run-on-twins.js';
import { SegmentBuilder } from './segment-builder.js';
import { setGradEnabledNode } from './set-grad-enabled.js';
import { tensorPattern } from './tensor-pattern.js';

/** See the file header. */
export class Capture implements PreDispatchMode {
  readonly name = 'capture';
  builder: SegmentBuilder = new SegmentBuilder();
  /** Segments finished by graph breaks in this call, oldest first. */
  readonly segments: Segment[] = [];
  /** Objects whose regions ran: they can hold results. */
  readonly owners: Set<object> = new Set();
  /** Slots of results that the program was given, in order. */
  readonly visible: number[] = [];
  /** Adopted steps inside regions. */
  readonly innerSteps: Set<Step> = new Set();
  region: RegionCapture | null = null;
  shadow: Shadow = new Shadow(null);
  readonly breaks: CapturedBreak[] = [];
  /** Guards of the tensors from outside, by slot. */
  readonly guards: Map<number, TensorGuard | DynamicTensorGuard> = new Map();
  /** Guards of values made before the current segment, by slot. */
  readonly layouts: Map<number, TensorGuard | DynamicTensorGuard> = new Map();
  /** Results of the op recorded last. */
  lastOuts: readonly (OutSpec | null)[] = [];
  /** Grad mode in force when the current segment began. */
  segmentStartGradMode: boolean = gradMode.enabled;
  /** Branch at which the current segment began. */
  private segmentStart: Branch;

  constructor(
    readonly run: Run,
    public branch: Branch,
    readonly numbering: Numbering,
    readonly options: CaptureOptions,
    readonly shapes: DynamicShapes,
  ) {
    this.segmentStart = branch;
  }

  private resetSegment(): void {
    this.builder = new SegmentBuilder();
    this.layouts.clear();
    this.segmentStartGradMode = this.run.gradMode;
    this.segmentStart = this.branch;
    this.run.gaining.clear();
  }

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    this.run.announceOp(op, args);
    const isGrad = isGradOp(op) && leavesSegment(this.inputs, args[2] as readonly Tensor[]);
    const reason = isGrad ? BACKWARD_OUTSIDE : opBreak(op, args);
    if (reason !== null) {
      this.run.noteReads(args);
      if (isGrad) this.onWatch(args[2] as readonly Tensor[]);
      this.breakGraph(reason);
      return withPreDispatchMode(null, () => dispatchBelowPreDispatch(op, args));
    }
    return this.recordOp(op, args, null);
  }

  onGradMode(enabled: boolean): void {
    this.run.gradMode = enabled;
    this.shadow.pass('grad-mode');
    this.builder.graph.callFunction(setGradEnabledNode, [enabled]);
    this.push({ kind: 'grad-mode', enabled, next: { steps: [] } });
  }

  onBackward(call: BackwardCall): boolean {
    return captureBackward(this, call, null);
  }

  onRegion<R>(
    owner: object,
    name: string,
    inputs: RegionInputs,
    fn: (inputs: RegionInputs) => R,
  ): R {
    this.owners.add(owner);
    // A region inside a region is part of it.
    if (this.region !== null) return fn(inputs);
    return captureRegion(this, owner, name, inputs, fn);
  }

  onSetGrad(tensor: TensorBase, value: TensorBase | null): void {
    this.region?.noteGrad(tensor as Tensor, value as Tensor | null);
  }

  onDrop(grad: TensorBase): void {
    this.run.drop(grad, grad.isLazy || this.dueBefore(grad.storage, true) !== null);
  }

  onSetRequiresGrad(tensor: TensorBase): void {
    this.run.noteReads([tensor]);
    this.breakGraph(REQUIRES_GRAD_SET);
  }

  onSetHook(tensor: TensorBase): void {
    if (this.builder.uses(tensor.storage)) this.flush(HOOK_SET);
  }

  givesGradients(tensor: TensorBase): boolean {
    return this.run.givesGradients(tensor);
  }

  onWatch(tensors: readonly TensorBase[]): void {
    this.run.watch(tensors, (storage) => this.builder.writesTo(storage));
  }

  onAccess(storage: Storage, writes: boolean): void {
    const reason = this.dueBefore(storage, writes);
    if (reason !== null) this.flush(reason);
  }

  /** Why what is recorded must run before memory is read, or written; null if it need not. */
  dueBefore(storage: Storage, writes: boolean): BreakReason | null {
    if (storage === GENERATOR_MEMORY) return this.builder.hasRandom ? MEMORY_CHANGED : null;
    if (this.builder.writesTo(storage)) return VALUE_READ;
    return writes && this.builder.uses(storage) ? MEMORY_CHANGED : null;
  }

  /** Appends a step and moves behind it. */
  push(step: Step): void {
    if (step.kind !== 'return' && this.shadow.replaces !== null) {
      this.branch.steps = this.branch.steps.filter((other) => other !== this.shadow.replaces);
      this.shadow.replaces = null;
    }
    this.branch.steps.unshift(step);
    this.region?.steps.push(step);
    if (step.kind !== 'return') this.branch = step.next;
  }

  /** Moves behind a step that exists already. */
  follow(step: Step): void {
    this.region?.steps.push(step);
    if (step.kind !== 'return') this.branch = step.next;
  }

  // ---- ops

  /**
   * Records one op; with `adopted`, rebuilds what that step recorded. Returns the op's result.
   *
   * @param computed the op computes with its scalars while tracing, so none may be a runtime scalar
   */
  recordOp(
    op: OpOverload,
    args: readonly unknown[],
    adopted: OpStep | null,
    computed = false,
  ): unknown {
    const alignment = adopted === null ? this.shadow.align(op, args) : null;
    const prepared = prepareArguments(this, op, args, adopted, alignment, computed);
    const slots = prepared.flatMap((p) => slotsOf(p.pattern));
    const versions = slots.map((slot) => this.builder.twin(slot).storage.version);
    const twinArgs = prepared.map((p) => p.twin);
    let result: unknown;
    try {
      result = runOnTwins(op, twinArgs);
    } catch (error) {
      if (
        !isTesseraError(error) ||
        error.code !== 'lifted-scalar' ||
        !prepared.some((p) => p.pattern.code === 4)
      )
        throw error;
      // The op computes with this scalar while tracing: a symbol or a constant will do.
      return this.recordOp(
        op,
        args.map((arg) => (arg instanceof SymScalar ? arg.hint : arg)),
        null,
        true,
      );
    }
    // Composite ops may write without saying so in their schema (batch_norm), so the twins tell.
    const writtenArguments = slots.filter(
      (slot, i) => this.builder.twin(slot).storage.version !== versions[i],
    );
    const written = [
      ...new Set(writtenArguments.flatMap((slot) => [slot, ...this.builder.inputsSharing(slot)])),
    ];
    const isList = Array.isArray(result);
    const twins = (isList ? result : [result]) as (Tensor | null)[];
    const meta = {
      stackTrace: this.region === null ? userFrame() : this.region.frame,
      nnModuleStack: moduleStack(),
      sourceFn: op.schema.name,
      originalAten: op,
    };
    const known = twins.map((twin) => (twin === null ? -1 : (this.builder.slotOfTwin(twin) ?? -1)));
    const unchanged =
      written.length === 0 &&
      !op.isMutable &&
      twins.every((twin, i) => twin === null || known[i]! >= 0);
    const gaining = gainingGradients(this, twins, known);
    const nodes = unchanged ? [] : this.builder.addOp(op, prepared, twins, isList, meta);
    const outs = twins.map((twin, i) =>
      twin === null ? null : this.outSpec(twin, known[i]!, this.slotFor(adopted, i)),
    );
    const tensors = outs.map((spec, i) =>
      spec === null
        ? null
        : this.bindOut(
            spec,
            twins[i]!,
            nodes[i] ?? null,
            adopted !== null && this.innerSteps.has(adopted),
          ),
    );
    for (const slot of writtenArguments) this.builder.noteMutated(slot);
    this.lastOuts = outs;
    if (adopted !== null) this.follow(adopted);
    else {
      const step: OpStep = {
        kind: 'op',
        op,
        args: prepared.map((p) => p.pattern),
        outs,
        isList,
        written,
        gaining,
        location: meta.stackTrace ?? null,
        calls: [this.shapes.call],
        spare: [],
        next: { steps: [] },
      };
      this.shadow.advance(step);
      this.push(step);
      this.run.remember(step, outs);
      this.run.announce(step);
    }
    return isList ? tensors : tensors[0];
  }

  /** The slot of a result of a step that is recorded again; -1 for a new step. */
  private slotFor(adopted: OpStep | null, i: number): number {
    if (adopted === null) return -1;
    return adopted.outs[i]?.slot ?? (adopted.spare[i] ??= this.numbering.slots++);
  }

  /** Spec of a result: in a slot that is known, in a given one, or in a new one (-1). */
  outSpec(twin: Tensor, known: number, slot: number): OutSpec {
    return {
      ...specOf(twin),
      slot: known >= 0 ? known : slot >= 0 ? slot : this.numbering.slots++,
      same: known >= 0,
      requiresGrad: requiresGrad(twin),
    };
  }

  /** The tensor of a result: existing, or a new lazy one. */
  bindOut(
    spec: OutSpec,
    twin: Tensor,
    node: Parameters<SegmentBuilder['bind']>[1] | null,
    inner = false,
  ): Tensor {
    if (spec.same) {
      const tensor = this.run.slots[spec.slot]!;
      if (tensor.isLazy) tensor.requiresGradFlag = spec.requiresGrad;
      return tensor;
    }
    const tensor = this.run.slots[spec.slot] ?? this.run.produce(spec);
    this.builder.bind(spec.slot, node!, twin);
    this.builder.noteProduced(spec.slot);
    if (this.region !== null) this.region.produced.add(spec.slot);
    else if (!inner) this.visible.push(spec.slot);
    return tensor;
  }

  /** Tensors that the current segment takes. */
  private get inputs(): Tensor[] {
    return this.builder.inputSlots.map((slot) => this.run.slots[slot]!);
  }

  /** Tensors from outside with their guards. */
  get externals(): [Tensor, TensorGuard | DynamicTensorGuard][] {
    return [...this.guards].map(([slot, guard]) => [this.run.slots[slot]!, guard]);
  }

  // ---- arguments

  /** The pattern of a tensor argument; makes it an input of the segment if it is none yet. */
  patternOf(
    tensor: Tensor,
    adopted: Pattern | null = null,
    older: Older<Pattern> | null = null,
  ): SlotPattern | ExternalPattern {
    return tensorPattern(this, tensor, adopted, older);
  }

  // ---- graph breaks

  /** Everything recorded since the last break. */
  finishSegment(): Segment {
    const { builder, options, segmentStartGradMode, visible } = this;
    return builder.finish(options.backend, segmentStartGradMode, visible);
  }

  /** Ends the segment here and computes it; nothing to do where nothing is recorded. @throws trace-full-graph */
  flush(reason: BreakReason): void {
    if (this.branch === this.segmentStart) return;
    // What was only looked at may change its layout.
    const isTold =
      this.builder.opCount > 0 || (reason.code === 'GB0008' && this.builder.inputSlots.length > 0);
    this.endSegment(reason, isTold ? reportBreak(reason, this) : null);
  }

  /** The same for what no graph can hold: told even where nothing is recorded yet. @throws trace-full-graph */
  breakGraph(reason: BreakReason): void {
    if (this.region !== null) this.region.broken = true;
    const location = reportBreak(reason, this);
    if (this.branch !== this.segmentStart) this.endSegment(reason, location);
  }

  private endSegment(reason: BreakReason, location: string | null): void {
    if (this.region !== null) this.region.broken = true;
    const segment = this.finishSegment();
    this.run.noteFinished(segment);
    this.segments.push(segment);
    runSegmentEagerly(segment, this.run);
    this.shadow.pass('flush');
    this.push({ kind: 'flush', segment, reason, location, next: { steps: [] } });
    this.resetSegment();
  }
}
