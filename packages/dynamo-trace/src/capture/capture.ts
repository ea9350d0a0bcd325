/**
 * @file `Capture`: records a call of a function as a new path of its trie.
 *
 * Ops are recorded, not run: results are lazy tensors whose metadata comes from twins
 * (segment-builder.ts). It continues from any branch, so a replay that diverged hands over in the
 * middle: `adopt` feeds it the steps matched so far, and it goes on recording behind them.
 */
import { type Argument, userFrame } from '@tessera/graph';
import { SymScalar, TesseraError, isTesseraError, log } from '@tessera/shared';
import {
  type BackwardCall,
  type OpOverload,
  type PreDispatchMode,
  type RegionInputs,
  type Storage,
  type Tensor,
  type TensorBase,
  dispatchBelowPreDispatch,
  gradMode,
  isTensor,
  withFakeTensors,
  withPreDispatchMode,
} from '@tessera/tensor';
import type { Backend } from '../backend.js';
import { TensorGuard } from '../guards/tensor-guard.js';
import { type Pattern, instantiate, slotsOf } from '../trace/pattern.js';
import type { Run } from '../trace/run.js';
import type { Segment } from '../trace/segment.js';
import type { Branch, OpStep, OutSpec, Step } from '../trace/step.js';
import { captureBackward } from './capture-backward.js';
import { type RegionCapture, captureRegion } from './capture-region.js';
import { runSegmentEagerly } from './eager-segment.js';
import { Shadow } from './shadow.js';
import { SegmentBuilder } from './segment-builder.js';
import { setGradEnabledNode } from './set-grad-enabled.js';
import { type Sources, identifierOf } from './sources.js';

/** How many slots and runtime scalars the traces of a function use; each new one takes the next number. */
export interface Numbering {
  slots: number;
  scalars: number;
}

/** What a capture needs from its function. */
export interface CaptureOptions {
  readonly backend: Backend;
  readonly fullgraph: boolean;
  readonly functionName: string;
  readonly sources: Sources;
}

/** A prepared argument: what to match next time, what the graph and the twin op get. */
interface Prepared {
  readonly pattern: Pattern;
  readonly node: Argument;
  readonly twin: unknown;
}

/** See the file header. */
export class Capture implements PreDispatchMode {
  readonly name = 'capture';
  builder: SegmentBuilder = new SegmentBuilder();
  /** Segments finished by graph breaks in this call, oldest first. */
  readonly segments: Segment[] = [];
  /** Objects whose regions ran: they can hold results. */
  readonly owners: Set<object> = new Set();
  /** Slots of results made outside regions, in order. */
  readonly visible: number[] = [];
  region: RegionCapture | null = null;
  shadow: Shadow = new Shadow(null);
  readonly breaks: { readonly reason: string; readonly location: string | null }[] = [];
  /** Grad mode in force when the current segment began. */
  segmentStartGradMode: boolean = gradMode.enabled;

  constructor(
    readonly run: Run,
    public branch: Branch,
    readonly numbering: Numbering,
    readonly options: CaptureOptions,
  ) {}

  private resetSegment(): void {
    this.builder = new SegmentBuilder();
    this.segmentStartGradMode = gradMode.enabled;
  }

  // ---- events

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    if (op.hasTag('data-dependent')) {
      this.flush(`the shape of ${op.qualifiedName} depends on values`);
      return withPreDispatchMode(null, () => dispatchBelowPreDispatch(op, args));
    }
    return this.recordOp(op, args, null);
  }

  onGradMode(enabled: boolean): void {
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

  onAccess(storage: Storage): void {
    if (this.builder.writesTo(storage)) this.flush('the value of a tensor was read');
  }

  // ---- steps

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

  /** Feeds a step that a replay had matched; follows grad mode, which the caller restores. */
  adopt(step: Step): void {
    switch (step.kind) {
      case 'op':
        this.recordOp(
          step.op,
          step.args.map((pattern) => instantiate(pattern, this.run)),
          step,
        );
        break;
      case 'grad-mode':
        this.builder.graph.callFunction(setGradEnabledNode, [step.enabled]);
        gradMode.enabled = step.enabled;
        this.follow(step);
        break;
      case 'backward':
        captureBackward(this, null, step);
        break;
      default:
        this.follow(step);
    }
  }

  // ---- ops

  /** Records one op; with `adopted`, rebuilds what that step recorded. Returns the op's result. */
  recordOp(op: OpOverload, args: readonly unknown[], adopted: OpStep | null): unknown {
    const lifted = adopted === null ? this.shadow.liftedArgs(op, args) : null;
    const prepared = args.map((arg, i) =>
      this.prepare(arg, adopted?.args[i] ?? null, lifted?.get(i) ?? null),
    );
    const slots = prepared.flatMap((p) => slotsOf(p.pattern));
    const versions = slots.map((slot) => this.builder.twin(slot).storage.version);
    let result: unknown;
    try {
      result = this.runOnTwins(
        op,
        prepared.map((p) => p.twin),
      );
    } catch (error) {
      if (
        !isTesseraError(error) ||
        error.code !== 'lifted-scalar' ||
        !prepared.some((p) => p.pattern.code === 4)
      )
        throw error;
      // The op computes with this scalar while tracing: keep it a constant.
      return this.recordOp(
        op,
        args.map((arg) => (arg instanceof SymScalar ? arg.hint : arg)),
        null,
      );
    }
    // Composite ops may write without saying so in their schema (batch_norm), so the twins tell.
    const written = slots.filter(
      (slot, i) => this.builder.twin(slot).storage.version !== versions[i],
    );
    const isList = Array.isArray(result);
    const twins = (isList ? result : [result]) as (Tensor | null)[];
    const meta = {
      stackTrace: userFrame() ?? undefined,
      sourceFn: op.schema.name,
      originalAten: op,
    };
    const known = twins.map((twin) => (twin === null ? -1 : (this.builder.slotOfTwin(twin) ?? -1)));
    const unchanged =
      written.length === 0 &&
      !op.isMutable &&
      twins.every((twin, i) => twin === null || known[i]! >= 0);
    const nodes = unchanged
      ? []
      : this.builder.addOp(op, prepared.map((p) => p.node) as never[], twins, isList, meta);
    const outs = twins.map((twin, i) =>
      twin === null ? null : this.outSpec(twin, known[i]!, adopted?.outs[i]?.slot ?? -1),
    );
    const tensors = outs.map((spec, i) =>
      spec === null ? null : this.bindOut(spec, twins[i]!, nodes[i] ?? null),
    );
    for (const slot of written) this.builder.noteMutated(slot);
    if (adopted !== null) this.follow(adopted);
    else {
      const step: OpStep = {
        kind: 'op',
        op,
        args: prepared.map((p) => p.pattern),
        outs,
        isList,
        written,
        location: meta.stackTrace ?? null,
        next: { steps: [] },
      };
      this.shadow.advance(step);
      this.push(step);
    }
    return isList ? tensors : tensors[0];
  }

  /** Runs an op on twins: nothing is computed. */
  runOnTwins(op: OpOverload, args: readonly unknown[]): unknown {
    return withPreDispatchMode(null, () =>
      withFakeTensors(() => dispatchBelowPreDispatch(op, args)),
    );
  }

  private outSpec(twin: Tensor, known: number, slot: number): OutSpec {
    return {
      slot: known >= 0 ? known : slot >= 0 ? slot : this.numbering.slots++,
      same: known >= 0,
      dtype: twin.dtype,
      device: twin.device,
      sizes: twin.sizes,
      strides: twin.strides,
      offset: twin.storageOffset,
      requiresGrad: twin.requiresGrad,
    };
  }

  /** The tensor of a result: existing, or a new lazy one. */
  private bindOut(
    spec: OutSpec,
    twin: Tensor,
    node: Parameters<SegmentBuilder['bind']>[1] | null,
  ): Tensor {
    if (spec.same) {
      const tensor = this.run.slots[spec.slot]!;
      if (tensor.isLazy) tensor.requiresGradFlag = spec.requiresGrad;
      return tensor;
    }
    const tensor = this.run.slots[spec.slot] ?? this.run.produce(spec);
    this.builder.bind(spec.slot, node!, twin);
    this.builder.noteProduced(spec.slot);
    if (this.region === null) this.visible.push(spec.slot);
    else this.region.produced.add(spec.slot);
    return tensor;
  }

  /** A result that no op step made (a gradient): its lazy tensor. */
  bindProduced(spec: OutSpec, twin: Tensor, node: Parameters<SegmentBuilder['bind']>[1]): Tensor {
    return this.bindOut(spec, twin, node);
  }

  /** Spec of a new value. */
  newSpec(twin: Tensor, slot = -1): OutSpec {
    return this.outSpec(twin, -1, slot);
  }

  // ---- arguments

  private prepare(arg: unknown, adopted: Pattern | null, lift: 'float' | 'int' | null): Prepared {
    if (isTensor(arg)) {
      const pattern = this.patternOf(arg, adopted);
      return {
        pattern,
        node: this.builder.node(pattern.slot),
        twin: this.builder.twin(pattern.slot),
      };
    }
    if (arg instanceof SymScalar) {
      const index = this.region?.scalarIndex(arg) ?? -1;
      // Made by the program: a number that says of itself whether it is a float.
      if (index < 0) return this.scalar(this.numbering.scalars++, arg.hint, arg.kind);
      const { node } = this.builder.addScalar(index, arg.hint, arg.kind, arg.name);
      return { pattern: { code: 4, index, kind: arg.kind }, node, twin: arg };
    }
    if (adopted?.code === 4) return this.scalar(adopted.index, Number(arg), adopted.kind);
    if (lift !== null) return this.scalar(this.numbering.scalars++, Number(arg), lift);
    if (Array.isArray(arg) && arg.some((item) => isTensor(item))) {
      const items = arg.map((item, i) =>
        this.prepare(item, adopted?.code === 3 ? adopted.items[i]! : null, null),
      );
      return {
        pattern: { code: 3, items: items.map((p) => p.pattern) },
        node: items.map((p) => p.node),
        twin: items.map((p) => p.twin),
      };
    }
    const value: unknown = Array.isArray(arg) ? [...(arg as unknown[])] : arg;
    return { pattern: { code: 2, value }, node: value as Argument, twin: value };
  }

  private scalar(index: number, value: number, kind: 'float' | 'int' | 'bool'): Prepared {
    this.run.scalars[index] = value;
    const source = this.options.sources.nameOfNumber(value) ?? `scalar ${index}`;
    const { node, scalar } = this.builder.addScalar(index, value, kind, source);
    return { pattern: { code: 4, index, kind }, node, twin: scalar };
  }

  /** The pattern of a tensor argument; makes it an input of the segment if it is none yet. */
  patternOf(tensor: Tensor, adopted: Pattern | null = null): Extract<Pattern, { code: 0 | 1 }> {
    const { run, builder } = this;
    if (tensor.traceOwner === run.id) {
      const slot = tensor.traceSlot;
      if (!builder.has(slot)) this.addInput(slot, tensor);
      this.region?.uses.add(slot);
      return adopted?.code === 1 ? adopted : { code: 0, slot };
    }
    // Reading the storage computes a value that another compiled call owes.
    void tensor.storage;
    const slot = this.numbering.slots++;
    tensor.traceOwner = run.id;
    tensor.traceSlot = slot;
    run.slots[slot] = tensor;
    this.addInput(slot, tensor);
    this.region?.uses.add(slot);
    return { code: 1, slot, guard: TensorGuard.of(tensor) };
  }

  private addInput(slot: number, tensor: Tensor): void {
    const source = this.options.sources.nameOf(tensor);
    this.builder.addInput(slot, tensor, identifierOf(source), source);
  }

  // ---- graph breaks

  /** Everything recorded since the last break. */
  finishSegment(): Segment {
    return this.builder.finish(this.options.backend, this.segmentStartGradMode);
  }

  /** Ends the segment here and computes it. @throws trace-full-graph */
  flush(reason: string): void {
    if (this.builder.opCount === 0) return;
    const location = userFrame() ?? null;
    if (this.options.fullgraph) {
      throw new TesseraError(
        'trace-full-graph',
        `Graph break in ${this.options.functionName} (fullgraph: true): ${reason}.`,
        {
          location: location ?? undefined,
          hints: ['Move the read out of the compiled function, or compile without fullgraph.'],
        },
      );
    }
    log(
      'graph_breaks',
      () =>
        `Graph break in ${this.options.functionName} at ${location ?? 'unknown line'}: ${reason}`,
    );
    if (this.region !== null) this.region.broken = true;
    const segment = this.finishSegment();
    this.segments.push(segment);
    this.breaks.push({ reason, location });
    runSegmentEagerly(segment, this.run);
    this.push({ kind: 'flush', segment, reason, location, next: { steps: [] } });
    this.shadow = new Shadow(null);
    this.resetSegment();
  }
}
