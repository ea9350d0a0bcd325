/**
 * @file `Segment`: the ops between two graph breaks, as a graph and as compiled code.
 *
 * Which values a segment must return is known only when the whole function has run once: those that
 * later segments read, that the function returned, or that somebody can still reach. So a segment is
 * compiled after capture; and if a replay turns out to need another value, it is compiled again with
 * that value among its outputs, for good.
 */
import {
  type Graph,
  GraphModule,
  type Node,
  copyModule,
  eliminateDeadCode,
  isUniformNode,
  tensorVal,
} from '@tessera/graph';
import {
  type CompileReport,
  type Steps,
  atOnce,
  emptyReport,
  inScope,
  log,
  reportTo,
  now,
} from '@tessera/shared';
import { type Storage, type Tensor } from '@tessera/tensor';
import { gradEdge, gradFnOf, isHistoryRefused, show } from '@tessera/tensor/internal';
import {
  type Backend,
  type CompileRequest,
  type CompiledSegment,
  type SegmentInput,
  type SizedInput,
  type SizedSegment,
  checkCompiled,
  checkOutputs,
  stepsOf,
} from '../backend.js';
import { type InputMeta, isStill } from './input-meta.js';
import { type OwnLeaf, endAtLeaf, leadsTo } from './own-leaf.js';
import type { Frame } from '../frame/frame.js';
import { asRecorded } from './as-recorded.js';
import { SegmentCases } from './segment-cases.js';
import { settle } from './settle.js';
import { type Shared, sameSharing } from './sharing.js';
import { isWatchedBefore } from './watched-before.js';
import type { KnownPlace } from '../dynamic/known-place.js';
import type { SizedCode } from '../dynamic/shape-binding.js';

/** Input of a segment: a tensor slot or a runtime scalar. */
export type SegmentInputRef =
  | { readonly slot: number; readonly scalar: -1; readonly meta: InputMeta }
  | { readonly slot: -1; readonly scalar: number; readonly meta?: undefined };

/** Specializations that reports list. */
const SPECIALIZATIONS_LISTED = 16;

/** See the file header. */
export class Segment {
  /** Slots that somebody needs; those of all sizes of a program are one set. */
  private wanted = new Set<number>();
  /** How many there were when `outputSlots` was made. */
  private known = 0;
  /** `outputs`; code, module and `omits` are for these. */
  private outputSlots: readonly number[] = [];
  private compiled: CompiledSegment | null = null;
  private module: GraphModule<readonly Tensor[]> | null = null;
  /** Of the last run; see `CompiledSegment`. */
  private isFresh: CompiledSegment['isFresh'];
  /** `bases`, once found. */
  private views: ReadonlyMap<number, number | null> | null = null;
  private slots: Map<Node, number> | null = null;
  /** `leavesOut`, once known. */
  private omits: boolean | null = null;
  /** The segment of another call that this one is for other sizes. */
  private template: Segment | null = null;
  private uniform: boolean | null = null;
  /** The sizes it is for, if it has a template. */
  private sizes: readonly string[] | null = null;
  /** The sizes of which its graph is a sample: numbers and values of symbols, and what divisions of them leave. */
  point: readonly number[] = [];
  /** What is known behind its steps, and so the cases in which they are; null where nothing is known of one of them. */
  cases: KnownPlace | null = null;
  private readonly families = new SegmentCases();
  /** Whether the backend was given this graph, for whatever sizes. */
  private submitted = false;
  /** What is told when its code turns out to serve other sizes too. */
  told: { sharesCode: boolean } | null = null;
  /** Whether the call that captured it has ended, so that its outputs are known. */
  sealed = false;
  /** Gradients may arrive at a leaf made here: it runs operator by operator, and the next call ends it before the leaf. */
  isSplit = false;
  /** Versions for other sizes, oldest first; not all may still be held. */
  readonly specializations: { readonly sizes: readonly string[]; readonly segment: Segment }[] = [];
  /** Whether its code serves other sizes too. */
  isShared = false;
  /** Milliseconds spent in the backend so far. */
  compileMs = 0;
  /** How often the compiled code ran. */
  runs = 0;
  /** Stages and kernels of its compilations. */
  report: CompileReport = emptyReport();

  constructor(
    readonly graph: Graph,
    readonly inputs: readonly SegmentInputRef[],
    /** Node of every value that the segment computes, by slot. */
    readonly produced: ReadonlyMap<number, Node>,
    /** Which inputs the segment modifies. */
    readonly mutated: readonly number[],
    readonly hasRandom: boolean,
    /** Grad mode in force where the segment begins. */
    readonly startGradMode: boolean,
    readonly backend: Backend,
    /** Of the function, for `CompileRequest`. */
    readonly owner: Pick<CompileRequest, 'name' | 'program' | 'fullgraph'>,
    /** How inputs share memory, where an input is modified. */
    readonly sharing: readonly Shared[] | null,
    /** Slots that the program was given; the others were made inside trusted regions. */
    readonly visible: ReadonlySet<number>,
    /** The nodes that write to some memory, in order. */
    readonly writers: ReadonlyMap<Storage, readonly Node[]>,
    /** Leaves that the program made with `requiresGrad_()`. */
    readonly leaves: readonly OwnLeaf[],
  ) {}

  /** Whether the program was given values that are not returned. */
  get leavesOut(): boolean {
    this.refresh();
    this.omits ??= [...(this.template ?? this).visible].some(
      (slot) => this.produced.has(slot) && !this.wanted.has(slot),
    );
    return this.omits;
  }

  /** Whether the tensors of a call share memory as the code assumes, and are no more than it has. */
  fits(frame: Frame): boolean {
    for (const slot of frame.spares) if (!this.produced.has(slot)) return false;
    if (this.sharing === null) return true;
    // With symbolic sizes, offsets are the business of the specialised segments.
    return this.shares(this.gather(frame), this.template !== null || frame.shapes.parent === null);
  }

  /** Whether inputs share memory as the code assumes; without `offsets`, wherever in it they begin. */
  shares(inputs: readonly SegmentInput[], offsets: boolean): boolean {
    return this.sharing === null || sameSharing(this.sharing, inputs, offsets);
  }

  /** Slots that the compiled code returns, in order. */
  get outputs(): readonly number[] {
    this.refresh();
    return this.outputSlots;
  }

  /** Forgets what was made for fewer outputs. */
  private refresh(): void {
    const { size } = this.wanted;
    if (size === this.known) return;
    this.known = size;
    const slots = [...this.wanted].filter((slot) => this.produced.has(slot));
    if (slots.length === this.outputSlots.length) return;
    this.outputSlots = slots.sort((a, b) => a - b);
    this.compiled = null;
    this.module = null;
    this.omits = null;
  }

  /** The graph that is (or will be) given to the backend. */
  get graphModule(): GraphModule<readonly Tensor[]> {
    this.refresh();
    if (this.module === null) {
      this.module = copyModule(this.returning(this.outputSlots));
      eliminateDeadCode(this.module.graph);
    }
    return this.module;
  }

  /** The recorded graph as a module that returns these slots. */
  returning(slots: readonly number[]): GraphModule<readonly Tensor[]> {
    const { graph } = this;
    if (graph.outputNode !== null) graph.eraseNode(graph.outputNode);
    graph.output(slots.map((slot) => this.produced.get(slot)!));
    return new GraphModule([], graph);
  }

  /** Makes slots outputs from now on; a view of memory that the segment writes comes with what it is a view of. */
  addOutputs(slots: Iterable<number>): void {
    // A Set gives what is added meanwhile too.
    const asked = new Set(slots);
    for (const slot of asked) {
      const node = this.produced.get(slot);
      if (node === undefined || this.wanted.has(slot)) continue;
      this.wanted.add(slot);
      if (this.leaves.length > 0 && this.leadsToLeaf(node))
        (this.template ?? this).isSplit = this.isSplit = true;
      const base = this.bases.get(slot);
      if (base != null && this.writers.has(tensorVal(node)!.storage)) asked.add(base);
    }
  }

  /** Whether gradients of a value may arrive at a leaf made here, which must then be an input of what follows it. */
  leadsToLeaf(node: Node): boolean {
    const reached = this.leaves.filter((leaf) => leadsTo(tensorVal(node)!, leaf.fake));
    reached.forEach(endAtLeaf);
    return reached.length > 0;
  }

  /** The slot of an input or of a value that the segment computes; null for other nodes. */
  slotOf(node: Node): number | null {
    if (this.slots === null) {
      this.slots = new Map([...this.produced].map(([slot, made]) => [made, slot]));
      this.graph.placeholders.forEach((input, i) => {
        if (this.inputs[i]!.slot >= 0) this.slots!.set(input, this.inputs[i]!.slot);
      });
    }
    return this.slots.get(node) ?? null;
  }

  /** Registers the same ops for other sizes; they return what this segment returns. */
  addSpecialization(sizes: readonly string[], segment: Segment): void {
    segment.template = this;
    segment.sizes = sizes;
    segment.sealed = true;
    this.addOutputs(segment.wanted);
    segment.wanted = this.wanted;
    segment.known = -1;
    if (this.specializations.length >= SPECIALIZATIONS_LISTED) this.specializations.shift();
    this.specializations.push({ sizes, segment });
    const family = this.families.of(segment.cases);
    if (family !== null) family.latest = segment;
  }

  /** The code for a call at other sizes, in cases, if it is known to be what their graph would be compiled to; it may run if it `serves`. */
  knownCode(
    slots: readonly (SizedInput | undefined)[],
    cases: KnownPlace,
    point: readonly number[],
  ): SizedCode | null {
    const like = this.families.knowing(cases);
    if (like === null) return null;
    const inputs: SizedInput[] = [];
    for (let i = 0; i < like.inputs.length; i++) inputs.push(slots[like.inputs[i]!.slot] ?? 0);
    const proven = like.compiled!.forSizes!(point, inputs);
    return proven === null ? null : { segment: like, proven, outputs: like.outputs };
  }

  /** Whether its code may run for a call at other sizes. */
  serves(frame: Frame): boolean {
    return this.fits(frame) && !(this.mutated.length > 0 && this.changesHooked(this.gather(frame)));
  }

  /** Whether its code knows of other sizes, at which all its operators do the same. */
  get knowsOtherSizes(): boolean {
    if (this.wanted.size !== this.known) this.refresh();
    if (this.compiled?.forSizes === undefined) return false;
    return (this.uniform ??= this.graph.nodes.every(isUniformNode));
  }

  /** Inputs of a run in the graph's order. */
  gather(frame: Frame): SegmentInput[] {
    const values = new Array<SegmentInput>(this.inputs.length);
    for (let i = 0; i < this.inputs.length; i++) {
      const { slot, scalar } = this.inputs[i]!;
      values[i] = slot >= 0 ? frame.slots[slot]! : frame.scalars[scalar]!;
    }
    return values;
  }

  /** Gives the lazy tensor of a call in `slot`, if there is one, the value that was computed for it. */
  give(frame: Frame, slot: number, value: Tensor): void {
    const lazy = frame.slots[slot];
    if (lazy?.isLazy !== true) return;
    const at = this.bases.get(slot);
    const viewed = at == null ? at : frame.slots[at];
    // What was no view when this was captured may be one of a tensor from outside now; and what is viewed may not be there.
    const base = viewed?.storageOrNull === null ? undefined : (viewed?.base ?? viewed);
    settle(lazy, value, base, tensorVal(this.produced.get(slot))!);
  }

  /** Slots of what these are views of: a value whose gradient is watched has another history when a view is modified. */
  basesOf(slots: Iterable<number>): number[] {
    return [...slots].flatMap((slot) => this.bases.get(slot) ?? []);
  }

  /** Per value that is a view of another with a slot, that slot; null for what is no view. */
  get bases(): ReadonlyMap<number, number | null> {
    if (this.views !== null) return this.views;
    const slots = new Map<unknown, number>();
    const { placeholders } = this.graph;
    this.inputs.forEach(({ slot }, i) => slots.set(placeholders[i]!.meta.val, slot));
    for (const [slot, { meta }] of this.produced) slots.set(meta.val, slot);
    const bases = new Map<number, number | null>();
    for (const [slot, node] of this.produced) {
      const { base } = tensorVal(node)!;
      const at = base === null ? null : slots.get(base);
      if (at !== undefined) bases.set(slot, at);
    }
    return (this.views = bases);
  }

  /** Whether there is nothing to compute and nothing to change: of a function that only returned its arguments. */
  private get isIdle(): boolean {
    return this.outputs.length === 0 && this.mutated.length === 0;
  }

  /** Runs the segment and gives the lazy tensors of `frame` their values; `proven` is its code at other sizes. */
  run(frame: Frame, proven: SizedSegment | null = null): void {
    if (this.isIdle) return;
    const inputs = this.gather(frame);
    const outs = frame.execute(inputs, () => this.call(inputs, proven));
    // Those that the code was for: more may be wanted by now.
    const slots = this.outputSlots;
    for (let i = 0; i < slots.length; i++) {
      if (this.isFresh?.(i) !== true) show(outs[i]);
      this.give(frame, slots[i]!, outs[i]!);
    }
  }

  /**
   * Compiles the segment, with the pauses of the backend, although it does not run now. Not one whose inputs have become
   * others since they were recorded: it waits for inputs of its own.
   */
  *preparing(frame: Frame): Steps<void> {
    if (this.isIdle || this.isSplit || this.compiled !== null) return;
    for (const { slot, meta } of this.inputs)
      if (slot >= 0 && !isStill(frame.slots[slot]!, meta!)) return;
    const { outputs } = this;
    const steps = this.compiling(this.gather(frame));
    const compiled = yield* inScope((step) => asRecorded(this.startGradMode, step), steps);
    // Code of others may have asked for more in a pause, or for this to run.
    if (outputs === this.outputs) this.compiled ??= compiled;
  }

  /** Runs the compiled code; compiles it first if needed. No mode sees what it does. */
  call(inputs: readonly SegmentInput[], proven: SizedSegment | null = null): readonly Tensor[] {
    return asRecorded(this.startGradMode, () => {
      this.runs++;
      this.isFresh = undefined;
      const count = this.outputs.length;
      if (this.changesHooked(inputs)) return this.graphModule.forward(...inputs);
      const code = proven ?? (this.compiled ??= atOnce(this.compiling(inputs)));
      this.isFresh = this.compiled?.isFresh;
      return checkOutputs(code(inputs), count);
    });
  }

  /**
   * Whether a value is modified whose gradient somebody watches, or what it is a view of before its base: eager
   * autograd leads what is modified around those nodes, and what read it before through them. Such a call runs
   * operator by operator.
   */
  changesHooked(inputs: readonly SegmentInput[]): boolean {
    for (let i = 0; i < this.mutated.length; i++) {
      const tensor = inputs[this.mutated[i]!] as Tensor;
      const node = isHistoryRefused(tensor) ? null : gradFnOf(tensor);
      if (node === null) continue;
      const { base, retainsGrad } = tensor;
      if (base === null ? retainsGrad : isWatchedBefore(node, gradEdge(base)?.node)) return true;
    }
    return false;
  }

  private *compiling(inputs: readonly SegmentInput[]): Steps<CompiledSegment> {
    const module = this.graphModule;
    log('graph', () =>
      this.sizes === null ? module.print() : `// ${this.sizes.join(', ')}\n${module.print()}`,
    );
    const original = this.template ?? this;
    const request: CompileRequest = {
      sizes: original.submitted ? this.sizes : null,
      symbols: this.point,
      family: original.families.of(this.cases) ?? original,
      ...this.owner,
      onShared: () => {
        this.isShared = true;
        if (this.told !== null) this.told.sharesCode = true;
      },
    };
    const measured = <R>(step: () => R): R => {
      const start = now();
      try {
        return reportTo(this.report, step);
      } finally {
        this.compileMs += now() - start;
      }
    };
    const compiled = yield* inScope(measured, stepsOf(this.backend)(module, inputs, request));
    original.submitted = true;
    return checkCompiled(compiled);
  }
}
