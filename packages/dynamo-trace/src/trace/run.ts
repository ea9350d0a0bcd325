/**
 * @file `Run`: the values of one call of a compiled function.
 *
 * It is the `pending` of lazy tensors: reading one asks the active mode to flush, or computes a value that
 * was not among the outputs from the inputs as they were (ran-segment.ts).
 */
import { TesseraError } from '@tessera/shared';
import {
  GENERATOR_MEMORY,
  type OpOverload,
  type PendingValue,
  type SnapshotBudget,
  type Storage,
  type Tensor,
  type TensorBase,
  gradMode,
  isTensor,
  makeTensor,
  modes,
  releaseUnseen,
} from '@tessera/tensor';
import { type BreakReason, VALUE_READ } from '../breaks/graph-breaks.js';
import { traceConfig } from '../config.js';
import type { SizeTuple } from '../dynamic/size-tuple.js';
import { type Bindings, slotsOf } from './pattern.js';
import { RanSegment } from './ran-segment.js';
import type { Segment } from './segment.js';
import type { OutSpec, Step } from './step.js';

let nextId = 1;

/** See the file header. */
export class Run implements Bindings, PendingValue {
  /** The innermost call whose function runs now. */
  static current: Run | null = null;
  /** The suspended call that went on last. */
  static resumed: Run | null = null;
  readonly id: number = nextId++;
  readonly slots: (Tensor | undefined)[] = [];
  readonly scalars: number[] = [];
  readonly symbols: (number | undefined)[] = [];
  /** Slots of results of the current segment that were not there at the sizes of its capture: items of longer lists. */
  readonly spares: Set<number> = new Set();
  /** Computes everything recorded so far; set while the call is active. */
  flush: ((reason: BreakReason) => void) | null = null;
  /** Grad mode as the trace has it: another one holds while code of others runs. */
  gradMode: boolean = gradMode.enabled;
  /** Compiled code of this call runs: what it reads is no access by the program. */
  busy = false;
  /** Slots whose values the program read. */
  readonly reads: Set<number> = new Set();
  /** Tensors that exist, no views, that take gradients with their views once the present segment has run. */
  readonly gaining: Set<TensorBase> = new Set();
  /** Segments of this call that ran, compiled or not. */
  readonly finished: Segment[] = [];
  /** Slots of the current segment whose gradients the program watches. */
  private readonly watched: Set<number> = new Set();
  private readonly ran: RanSegment[] = [];
  /** For inputs that are overwritten. */
  private readonly budget: SnapshotBudget = { left: traceConfig.keepOverwritten };

  /** @param tuple the root of the function's tree of symbol values */
  constructor(public tuple: SizeTuple) {}

  /** Gives a symbol its value for this call. */
  bindSymbol(index: number, value: number): void {
    this.symbols[index] = value;
    this.tuple = this.tuple.child(index, value);
  }

  /** Recorded ops let gradients flow into values that exist. */
  noteGradients(slots: readonly number[]): void {
    for (const slot of slots) {
      const tensor = this.slots[slot]!;
      if (tensor.isLazy) tensor.requiresGradFlag = true;
      else this.gaining.add(tensor.base ?? tensor);
    }
  }

  /** Whether a tensor that exists takes gradients once the present segment has run. */
  givesGradients(tensor: TensorBase): boolean {
    return this.gaining.has(tensor.base ?? tensor);
  }

  /** Numbers the call's tensors as its own again, after another call may have done so. */
  claim(): void {
    this.slots.forEach((tensor, slot) => {
      if (tensor === undefined) return;
      tensor.traceOwner = this.id;
      tensor.traceSlot = slot;
    });
  }

  /** Runs compiled code on inputs; writes that suspended calls owe to them are made first. */
  execute<R>(inputs: readonly (Tensor | number)[], fn: () => R): R {
    if (modes.suspended === null) return fn();
    const outer = this.busy;
    this.busy = true;
    try {
      for (const input of inputs)
        if (typeof input !== 'number') modes.suspended.onAccess(input.storage, false);
      return fn();
    } finally {
      this.busy = outer;
    }
  }

  /** An op is about to be recorded or matched: tensors look as what suspended calls owe them makes them look. */
  announceOp(op: OpOverload, args: readonly unknown[]): void {
    const { suspended } = modes;
    if (suspended === null) return;
    const outer = this.busy;
    this.busy = true;
    const announce = (value: unknown): void => {
      if (Array.isArray(value)) value.forEach(announce);
      else if (isTensor(value) && !value.isLazy) suspended.onAccess(value.storage, op.isMutable);
    };
    try {
      for (const i of op.tensorArgs) announce(args[i]);
    } finally {
      this.busy = outer;
    }
  }

  /** Steps were recorded or matched: what suspended calls have recorded on the same memory comes first. */
  announce(...steps: readonly Step[]): void {
    const { suspended } = modes;
    if (suspended === null) return;
    const outer = this.busy;
    this.busy = true;
    try {
      for (const step of steps) {
        if (isRandom(step)) suspended.onAccess(GENERATOR_MEMORY, true);
        for (const [slot, writes] of accesses(step)) {
          const storage = this.slots[slot]?.storageOrNull;
          if (storage != null) suspended.onAccess(storage, writes);
        }
      }
    } finally {
      this.busy = outer;
    }
  }

  /** Remembers the results of a step at the present sizes. */
  remember(step: Step, outs: readonly (OutSpec | null)[]): void {
    if (this.tuple.parent !== null) this.tuple.specs.set(step, outs);
  }

  /** Takes back what was bound since `tuple` was current. */
  unbindSymbols(tuple: SizeTuple): void {
    while (this.tuple !== tuple) {
      this.symbols[this.tuple.symbol] = undefined;
      this.tuple = this.tuple.parent!;
    }
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

  /**
   * Runs a segment, and remembers what it takes to compute later what it does not return, or to differentiate one
   * of its values by another.
   */
  runSegment(segment: Segment): void {
    const watchable =
      this.flush !== null &&
      segment.startGradMode &&
      segment.outputs.length + segment.mutated.length > 1;
    if (!segment.leavesOut && !watchable) {
      segment.run(this);
      this.releaseDropped();
      return;
    }
    const ran = new RanSegment(segment, this, this.budget);
    this.ran.push(ran);
    segment.run(this);
    ran.noteArrivals();
    this.releaseDropped();
  }

  /** Gradients that leaves have dropped although recorded operators may still read them. */
  private dropped: TensorBase[] = [];

  /** Releases a gradient now, or once the present segment has run. */
  drop(grad: TensorBase, isDue: boolean): void {
    if (isDue || grad.isLazy) this.dropped.push(grad);
    else releaseUnseen(grad);
  }

  private releaseDropped(): void {
    for (const grad of this.dropped) releaseUnseen(grad);
    this.dropped = [];
  }

  /** How compiled code ran for a segment, or for another one that it is for other sizes. */
  private ranOf(segment: Segment): RanSegment | undefined {
    const ran = this.ran.find((entry) => segment.isFor(entry.segment));
    return ran?.computable === true ? ran : undefined;
  }

  /** Called when a lazy tensor's storage is read. */
  resolve(tensor: TensorBase): void {
    // What an earlier segment left out is computed from its inputs; the present one goes on.
    const slot = this.slotOf(tensor);
    if (this.flush !== null && this.ranWith(slot) === undefined) {
      this.reads.add(slot);
      // Where another call reads, that one takes its tensors back.
      const reader = Run.current ?? Run.resumed;
      if (reader !== this) this.claim();
      this.flush(VALUE_READ);
      if (reader !== this) reader?.claim();
    }
    if (tensor.storageOrNull === null) this.recompute(slot);
  }

  /** The slot of one of the call's tensors, which another call may have numbered as its own since. */
  private slotOf(tensor: TensorBase): number {
    return tensor.traceOwner === this.id ? tensor.traceSlot : this.slots.indexOf(tensor as Tensor);
  }

  /** Code that is not recorded is about to read these; nested lists of them are looked through. */
  noteReads(values: readonly unknown[]): void {
    for (const value of values) {
      if (Array.isArray(value)) this.noteReads(value);
      else if (isTensor(value) && value.traceOwner === this.id) this.reads.add(value.traceSlot);
    }
  }

  /**
   * The engine is about to be asked for the gradients of these (see pieces.ts).
   *
   * @param isChanged whether the current segment writes to memory
   */
  watch(tensors: readonly TensorBase[], isChanged: (storage: Storage) => boolean): void {
    this.noteReads(tensors);
    for (const { traceOwner, traceSlot, storageOrNull } of tensors) {
      if (traceOwner !== this.id) continue;
      for (const segment of this.finished) {
        // Compiled code that was not cut there has run.
        if (segment.watch([traceSlot])) this.ranOf(segment)?.reconnect();
      }
      if (storageOrNull === null || isChanged(storageOrNull)) this.watched.add(traceSlot);
    }
  }

  /** The current segment is complete. */
  noteFinished(segment: Segment): void {
    segment.watch(this.watched);
    this.watched.clear();
    this.finished.push(segment);
  }

  private ranWith(slot: number): RanSegment | undefined {
    return this.ran.find((entry) => entry.segment.produced.has(slot));
  }

  private recompute(slot: number): void {
    const ran = this.ranWith(slot);
    if (ran === undefined) this.refuse('it was never computed (the call that made it failed)');
    // From the next call on it is there.
    ran.segment.addOutputs([slot]);
    if (!ran.computable)
      this.refuse(
        'what it is made of was overwritten or disposed since, and is too large to be kept',
      );
    if (ran.segment.isWatched && this.slots[slot]!.requiresGradFlag) ran.reconnect();
    else ran.compute();
  }

  private refuse(why: string): never {
    throw new TesseraError(
      'trace-escape',
      `A tensor made inside a compiled function left it on a way that was not seen, and cannot be computed now: ${why}.`,
      {
        hints: [
          'Return it from the function, or store it on an argument or on a tracked object (track(obj)).',
          'Raise config trace.keepOverwritten, the bytes that are kept of overwritten inputs.',
        ],
      },
    );
  }
}

/** Slots whose memory a step accesses, and whether it writes to it. */
function* accesses(step: Step): Iterable<readonly [slot: number, writes: boolean]> {
  if (step.kind === 'op') {
    for (const slot of step.written) yield [slot, true];
    for (const pattern of step.args) for (const slot of slotsOf(pattern)) yield [slot, false];
  } else if (step.kind === 'backward') {
    for (const { existing } of step.leaves) if (existing !== null) yield [existing.slot, true];
  }
}

function isRandom(step: Step): boolean {
  return step.kind === 'op' && step.op.hasTag('random');
}

/** Whether a matched step, which has not run yet, must do so before memory is read, or written. */
export function isDueBefore(step: Step, storage: Storage, writes: boolean, run: Run): boolean {
  if (storage === GENERATOR_MEMORY) return isRandom(step);
  for (const [slot, wrote] of accesses(step))
    if ((wrote || writes) && run.slots[slot]?.storageOrNull === storage) return true;
  return false;
}
