/**
 * @file `Frame`: the values of one segment in one call of a compiled function.
 *
 * Slots number the tensors of a segment; a frame says which tensor each slot is in this call. It is the `pending` of
 * its lazy tensors: reading one ends the graph, or computes what compiled code left out (left-out.ts). Behind a graph
 * break the call goes on in another frame: a loop may come by the same steps again.
 *
 * A tensor carries the number of the frame that bound it last, and its slot there: a cache that saves a look-up for
 * every operand. Frames of nested and suspended calls may bind the same tensor; the frame that loses the cache
 * entry remembers the slot itself.
 */
import { TesseraError } from '@tessera/shared';
import { type OpOverload, type Storage, type Tensor, isTensor } from '@tessera/tensor';
import {
  GENERATOR_MEMORY,
  type PendingValue,
  gradMode,
  makeTensor,
  modes,
  releaseUnseen,
  show,
} from '@tessera/tensor/internal';
import type { SizedSegment } from '../backend.js';
import { type BreakReason, VALUE_READ } from '../breaks/graph-breaks.js';
import type { ShapeBinding } from '../dynamic/shape-binding.js';
import { asRecorded } from '../trace/as-recorded.js';
import type { Segment } from '../trace/segment.js';
import { type OutSpec, type Step, accesses, isRandom } from '../trace/step.js';
import { LeftOut } from './left-out.js';

let nextId = 1;

/** Frames of calls that have not ended, by number. */
const open = new Map<number, Frame>();

/** Whether a call of a compiled function is running, or waits. */
export function isCallOpen(): boolean {
  return open.size > 0;
}

/** Computes what was recorded. */
interface Flushing {
  flush(reason: BreakReason): void;
}

/** See the file header. */
export class Frame implements PendingValue {
  readonly id: number = nextId++;
  readonly slots: (Tensor | undefined)[] = [];
  readonly scalars: number[] = [];
  readonly symbols: (number | undefined)[] = [];
  /** Slots of results that were not there at the sizes of the recording: items of longer lists. */
  readonly spares: Set<number> = new Set();
  /** What was matched or recorded; the steps of a region that was jumped over are one entry. */
  readonly path: (Step | readonly Step[])[] = [];
  /** The segment, once it is about to run. */
  segment: Segment | null = null;
  /** Whether it ran as compiled code. */
  isCompiled = false;
  /** What computes everything recorded so far; set until the segment ends. */
  pending: Flushing | null = null;
  /** Grad mode as the trace has it: another one holds while code of others runs. */
  gradMode: boolean = gradMode.enabled;
  /** Compiled code of this call runs: what it reads is no access by the program. */
  busy = false;
  /** Slots whose values the program read. */
  readonly reads: Set<number> = new Set();
  /** Values from before the segment that it read. */
  readonly earlierReads: Set<Tensor> = new Set();
  /** Slots whose gradients somebody watches. */
  readonly watched: Set<number> = new Set();
  /** Tensors that exist, no views, that take gradients with their views once the segment has run. */
  readonly gaining: Set<Tensor> = new Set();
  private leftOut: LeftOut | null = null;
  /** Slots of tensors whose cache entry another frame has. */
  private displaced: Map<Tensor, number> | null = null;
  /** Gradients that leaves have dropped although recorded operators may still read them. */
  private readonly dropped: Tensor[] = [];

  /** @param shapes the root of the function's tree of shape bindings */
  /**
   * @param leaves lazy tensors of the call that are leaves made by the program
   * @param counts dims that depend on values, of what was made in the call: symbols when they are first captured
   */
  constructor(
    public shapes: ShapeBinding,
    readonly leaves: WeakSet<Tensor> = new WeakSet(),
    readonly counts: WeakMap<Tensor, readonly number[]> = new WeakMap(),
  ) {}

  /** The frame of what follows in the call; `shapes` as for the first one. */
  next(shapes: ShapeBinding): Frame {
    const next = new Frame(shapes, this.leaves, this.counts);
    next.gradMode = this.gradMode;
    next.pending = this.pending;
    next.busy = this.busy;
    this.end();
    next.begin();
    return next;
  }

  /** The segment begins. */
  begin(): void {
    open.set(this.id, this);
  }

  /** The segment is over. */
  end(): void {
    open.delete(this.id);
    this.pending = null;
  }

  // ---- slots

  /** Puts a tensor into a slot. */
  bind(slot: number, tensor: Tensor): void {
    const owner = tensor.traceOwner;
    if (owner !== this.id && open.size > 1) open.get(owner)?.displace(tensor);
    tensor.traceOwner = this.id;
    tensor.traceSlot = slot;
    this.slots[slot] = tensor;
  }

  /** Binds a tensor that has no slot yet, if it gains gradients as said; whether it did. */
  take(slot: number, tensor: Tensor, gains: boolean): boolean {
    if (tensor.traceOwner === this.id || this.displaced?.has(tensor) === true) return false;
    if ((this.gaining.size > 0 && this.givesGradients(tensor)) !== gains) return false;
    this.bind(slot, tensor);
    return true;
  }

  /** Takes a tensor out of its slot. */
  unbind(slot: number): void {
    const tensor = this.slots[slot];
    if (tensor !== undefined) tensor.traceOwner = 0;
    if (tensor !== undefined) this.displaced?.delete(tensor);
    this.slots[slot] = undefined;
  }

  /** The slot of a tensor while the frame is open; -1 if it has none. */
  slotOf(tensor: Tensor): number {
    if (tensor.traceOwner === this.id) return tensor.traceSlot;
    return this.displaced?.get(tensor) ?? -1;
  }

  /** The same at any time: later frames have other slots for the same tensors. */
  find(tensor: Tensor): number {
    const slot = this.slotOf(tensor);
    return slot >= 0 ? slot : this.slots.indexOf(tensor);
  }

  /** Whether a tensor of the segment has this memory. A loop without calls: programs ask it of every gradient that they drop. */
  holds(storage: Storage): boolean {
    const { slots } = this;
    for (let i = 0; i < slots.length; i++) if (slots[i]?.storageOrNull === storage) return true;
    return false;
  }

  private displace(tensor: Tensor): void {
    (this.displaced ??= new Map()).set(tensor, tensor.traceSlot);
  }

  /** A new lazy tensor for a result. */
  produce(spec: OutSpec): Tensor {
    const tensor = makeTensor(null, spec.dtype, spec.device, spec.sizes, spec.strides, spec.offset);
    tensor.pending = this;
    tensor.requiresGradFlag = spec.requiresGrad;
    tensor.traceOwner = this.id;
    tensor.traceSlot = spec.slot;
    this.slots[spec.slot] = tensor;
    return tensor;
  }

  // ---- symbols

  /** Gives a symbol its value for this call. */
  bindSymbol(index: number, value: number): void {
    this.symbols[index] = value;
    this.shapes = this.shapes.child(index, value);
  }

  /** Takes back what was bound since `shapes` was current. */
  unbindSymbols(shapes: ShapeBinding): void {
    while (this.shapes !== shapes) {
      this.symbols[this.shapes.symbol] = undefined;
      this.shapes = this.shapes.parent!;
    }
  }

  // ---- gradients

  /** Recorded operators let gradients flow into values that exist. */
  noteGradients(slots: readonly number[]): void {
    for (const slot of slots) {
      const tensor = this.slots[slot]!;
      if (tensor.isLazy) {
        tensor.requiresGradFlag = true;
        this.leaves.delete(tensor);
      } else this.gaining.add(tensor.base ?? tensor);
    }
  }

  /** Whether a tensor that exists takes gradients once the current segment has run. */
  givesGradients(tensor: Tensor): boolean {
    return this.gaining.size > 0 && this.gaining.has(tensor.base ?? tensor);
  }

  // ---- running

  /** Runs code on inputs of a segment; writes that suspended calls owe to them are made first. */
  execute<R>(inputs: readonly (Tensor | number)[], fn: () => R): R {
    if (modes.suspended === null) return fn();
    return this.whileBusy((suspended) => {
      for (const input of inputs)
        if (typeof input !== 'number') suspended.onAccess(input.storage, false);
      return fn();
    });
  }

  /**
   * Runs a segment, compiled if it can be, and remembers how to compute what it leaves out.
   *
   * @param proven its code where the sizes are not its own
   */
  runSegment(segment: Segment, proven: SizedSegment | null = null): void {
    if (segment.leavesOut) this.leftOut = new LeftOut(segment, this, proven === null);
    segment.run(this, proven);
    this.leftOut?.noteRun();
    this.segmentRan();
  }

  /**
   * Runs a segment operator by operator, for every value of it: in the call that records it, where it is not yet known
   * which of them later code needs, and where compiled code would not do.
   */
  runByOperator(segment: Segment): void {
    const slots = [...segment.produced.keys()];
    const module = segment.returning(slots);
    const inputs = segment.gather(this);
    try {
      const values = asRecorded(segment.startGradMode, () =>
        this.execute(inputs, () => module.forward(...inputs)),
      );
      show(values);
      slots.forEach((slot, i) => segment.give(this, slot, values[i]!));
    } finally {
      // What is returned for now is no use of a value.
      segment.graph.eraseNode(segment.graph.outputNode!);
    }
    this.segmentRan();
  }

  /** The recorded operators ran: nothing reads the gradients that were dropped meanwhile. */
  segmentRan(): void {
    for (const grad of this.dropped.splice(0)) releaseUnseen(grad);
  }

  /** A leaf has dropped a gradient that nobody else holds: it goes at once, or when the recorded operators that read it have run. */
  drop(grad: Tensor, isRead: boolean): void {
    if (isRead || grad.isLazy) this.dropped.push(grad);
    else releaseUnseen(grad);
  }

  // ---- what other calls recorded on the same memory

  private whileBusy<R>(fn: (suspended: NonNullable<typeof modes.suspended>) => R): R {
    const outer = this.busy;
    this.busy = true;
    try {
      return fn(modes.suspended!);
    } finally {
      this.busy = outer;
    }
  }

  /** Values of other calls are computed before this one takes any of them: computing them may end its segment. */
  settleForeign(values: readonly unknown[]): void {
    for (const tensor of tensorsIn(values))
      if (tensor.isLazy && this.slotOf(tensor) < 0) void tensor.storage;
  }

  /** An operator is about to be recorded or matched: suspended calls first do what they owe to its tensors. */
  announceOp(op: OpOverload, args: readonly unknown[]): void {
    if (modes.suspended === null) return;
    this.settleForeign(args);
    this.whileBusy((suspended) => {
      for (const tensor of tensorsIn(args))
        if (!tensor.isLazy) suspended.onAccess(tensor.storage, op.isMutable);
    });
  }

  /** Steps were recorded or matched: the same for the memory that they access. */
  announce(recorded: Step | readonly Step[]): void {
    if (modes.suspended === null) return;
    const steps = Array.isArray(recorded) ? recorded : [recorded];
    this.whileBusy((suspended) => {
      for (const step of steps) {
        if (isRandom(step)) suspended.onAccess(GENERATOR_MEMORY, true);
        for (const [slot, writes] of accesses(step)) {
          const storage = this.slots[slot]?.storageOrNull;
          if (storage != null) suspended.onAccess(storage, writes);
        }
      }
    });
  }

  // ---- reading lazy tensors

  /** Called when a lazy tensor's storage is read. @throws trace-escape */
  resolve(tensor: Tensor): void {
    const slot = this.find(tensor);
    if (this.leftOut === null && this.pending !== null) {
      this.reads.add(slot);
      this.pending.flush(VALUE_READ);
    }
    if (!tensor.isLazy) return;
    if (this.leftOut?.segment.produced.has(slot) !== true)
      throw new TesseraError(
        'trace-escape',
        'A tensor of a compiled function was never computed: the call that made it failed.',
        { hints: ['Call the function again.'] },
      );
    this.leftOut.compute(slot);
  }

  /** Code that is not recorded is about to read these. */
  noteReads(values: readonly unknown[]): void {
    for (const tensor of tensorsIn(values)) {
      const slot = this.slotOf(tensor);
      if (slot >= 0) this.reads.add(slot);
      else this.earlierReads.add(tensor);
    }
  }
}

/** Tensors among values and in nested lists of them. */
function tensorsIn(values: readonly unknown[]): Tensor[] {
  return values.flat(Infinity).filter(isTensor);
}
