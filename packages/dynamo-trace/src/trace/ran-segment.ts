/**
 * @file `RanSegment`: what it takes to compute, later, a value that a segment did not return.
 *
 * Compiled code returns what its function was seen to need. The program may have kept another value, in a
 * closure or for a path that it takes for the first time. Such a value is computed from the inputs of the
 * segment as they were: a snapshot of each is taken before the segment runs, which copies what is
 * overwritten afterwards, by the segment itself or by anybody else, up to `trace.keepOverwritten` bytes.
 */
import {
  type Edge,
  type GeneratorState,
  GradNode,
  type Snapshot,
  type SnapshotBudget,
  type Storage,
  type Tensor,
  getRngState,
  gradEdge,
  itemSize,
  makeTensor,
  modes,
  noGrad,
  redirectGradients,
  sameNumbers,
  setHistory,
  setRngState,
  withAutocastSettings,
  withoutModes,
} from '@tessera/tensor';
import type { SegmentInput } from '../backend.js';
import { evaluateSegment } from './eager-segment.js';
import type { Run } from './run.js';
import { type Segment, settle } from './segment.js';

/** Leads from a copy of an input into the history that the input had. */
class HistoryOfInput extends GradNode {
  constructor({ sizes, dtype, device }: Tensor, edge: Edge) {
    super('HistoryOfInput', [edge], [{ sizes, dtype, device }]);
  }

  apply(grads: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    return grads;
  }
}

/** A tensor that exists, and the one that stands for it while values are computed again. */
interface Pair {
  readonly real: Tensor;
  readonly again: Tensor;
}

/** See the file header. Made before the segment runs. */
export class RanSegment {
  private readonly snapshots: readonly (Snapshot | null)[];
  private readonly edges: readonly (Edge | null)[];
  private readonly generator: GeneratorState | null;

  constructor(
    readonly segment: Segment,
    private readonly run: Run,
    budget: SnapshotBudget,
  ) {
    const inputs = segment.inputs.map(({ slot }) => (slot < 0 ? null : run.slots[slot]!));
    this.snapshots = inputs.map((input) => input?.storage.snapshot(budget) ?? null);
    this.edges = inputs.map((input) =>
      input !== null && input.requiresGradFlag && segment.startGradMode ? gradEdge(input) : null,
    );
    this.generator = segment.hasRandom ? getRngState() : null;
  }

  /** Where the gradients of its values arrive, as far as they exist; for `reconnect`. */
  private readonly arrivals = new Map<number, Edge>();
  private isConnected = false;

  /** The segment ran, or what it left out was computed. */
  noteArrivals(): void {
    const { segment, run } = this;
    for (const slot of [...segment.produced.keys(), ...segment.mutated]) {
      const tensor = run.slots[slot];
      if (tensor?.requiresGradFlag !== true || tensor.isLazy || this.arrivals.has(slot)) continue;
      const edge = gradEdge(tensor);
      if (edge !== null) this.arrivals.set(slot, edge);
    }
  }

  /** Whether everything that the segment left out can still be computed. */
  get computable(): boolean {
    return this.snapshots.every((snapshot) => snapshot?.state !== 'lost');
  }

  /** Computes what the segment left out, all or what became one of its outputs. */
  compute(): void {
    const { segment, run } = this;
    if (this.isUnchanged()) segment.run(run);
    else this.computeAgain();
    this.noteArrivals();
  }

  /** Gives all values of the segment the history that its ops record one by one: gradients flow between them too. */
  reconnect(): void {
    if (this.isConnected) return;
    this.isConnected = true;
    const again = this.computeAgain();
    for (const [slot, edge] of this.arrivals) {
      const value = again.get(slot);
      const to = value === undefined ? null : gradEdge(value);
      if (to === null) continue;
      redirectGradients(edge, to);
      const meta = this.run.slots[slot]!.autograd!;
      if (meta.gradFn === edge.node && meta.outputNr === edge.index)
        Object.assign(meta, { gradFn: to.node, outputNr: to.index });
    }
  }

  /** Runs the ops again; returns the values, and the inputs as they are afterwards, by slot. */
  private computeAgain(): ReadonlyMap<number, Tensor> {
    const { segment, run } = this;
    const inputs = segment.inputs.map((_, i) => this.inputAgain(i));
    const values = this.evaluate(inputs);
    const pairs = this.pairs(inputs, values);
    for (const [at, value] of values) {
      const lazy = run.slots[at];
      if (lazy === undefined || !lazy.isLazy) continue;
      settle(lazy, value, segment.baseOf(at, run));
      const pair = pairs.get(this.memoryOf(at)!);
      if (pair !== undefined) share(lazy, pair);
    }
    const written = segment.inputs.flatMap(({ slot }, i) =>
      segment.mutated.includes(slot) ? [[slot, inputs[i] as Tensor] as const] : [],
    );
    return new Map([...values, ...written]);
  }

  /** Whether the segment can simply run once more: it changes nothing, and nothing changed. */
  private isUnchanged(): boolean {
    const { segment } = this;
    return (
      this.generator === null &&
      segment.mutated.length === 0 &&
      this.snapshots.every((snapshot) => snapshot === null || snapshot.state === 'current') &&
      segment.inputs.every((_, i) => this.hasOldLayout(i)) &&
      !this.sharesMemory()
    );
  }

  /** Whether a value left out shares memory with an input or a value that exists. */
  private sharesMemory(): boolean {
    const { segment, run } = this;
    const existing = new Set<Storage | null>(
      segment.inputs.map(({ slot }, i) => (slot < 0 ? null : this.twin(i).storage)),
    );
    for (const slot of segment.produced.keys())
      if (run.slots[slot]?.isLazy === false) existing.add(this.memoryOf(slot));
    return [...segment.produced.keys()].some(
      (slot) => run.slots[slot]?.isLazy === true && existing.has(this.memoryOf(slot)),
    );
  }

  private evaluate(inputs: readonly SegmentInput[]): Map<number, Tensor> {
    const { resume } = modes;
    const generator = getRngState();
    modes.resume = null;
    if (this.generator !== null) setRngState(this.generator);
    try {
      return withAutocastSettings(null, () => evaluateSegment(this.segment, this.run, inputs));
    } finally {
      modes.resume = resume;
      setRngState(generator);
    }
  }

  /** Copies made for this computation, of memory that the segment writes to. */
  private readonly copies = new Map<Storage, Storage>();

  /** An input as it was. */
  private inputAgain(i: number): SegmentInput {
    const { segment, run } = this;
    const { slot, scalar } = segment.inputs[i]!;
    if (slot < 0) return run.scalars[scalar]!;
    const tensor = run.slots[slot]!;
    const snapshot = this.snapshots[i]!;
    const written = segment.mutated.includes(slot);
    if (snapshot.state === 'current' && !written && this.hasOldLayout(i)) return tensor;
    const old = snapshot.copy ?? tensor.storage;
    const { sizes, strides } = this.hasOldLayout(i) ? tensor : this.twin(i);
    const again = makeTensor(
      written ? this.copyOf(old) : old,
      tensor.dtype,
      tensor.device,
      sizes,
      strides,
      tensor.storageOffset,
    );
    const edge = this.edges[i]!;
    if (edge !== null) setHistory(again, new HistoryOfInput(again, edge), 0);
    return again;
  }

  private copyOf(storage: Storage): Storage {
    let copy = this.copies.get(storage);
    if (copy === undefined) this.copies.set(storage, (copy = storage.clone()));
    return copy;
  }

  private twin(i: number): Tensor {
    return this.segment.graph.nodes[i]!.meta.val as Tensor;
  }

  private hasOldLayout(i: number): boolean {
    const { slot } = this.segment.inputs[i]!;
    return slot < 0 || sameLayout(this.run.slots[slot]!, this.twin(i));
  }

  /** Stands for the memory of a value. */
  private memoryOf(slot: number): Storage | null {
    const val = this.segment.produced.get(slot)!.meta.val as Tensor;
    return val.storageOrNull;
  }

  /** Tensors that exist, by the memory that they stand in. */
  private pairs(
    inputs: readonly SegmentInput[],
    values: ReadonlyMap<number, Tensor>,
  ): Map<Storage, Pair> {
    const { segment, run } = this;
    const pairs = new Map<Storage, Pair>();
    for (const [slot, again] of values) {
      const real = run.slots[slot];
      if (real !== undefined && !real.isLazy) pairs.set(this.memoryOf(slot)!, { real, again });
    }
    segment.inputs.forEach(({ slot }, i) => {
      if (slot >= 0)
        pairs.set(this.twin(i).storage, { real: run.slots[slot]!, again: inputs[i] as Tensor });
    });
    return pairs;
  }
}

function sameLayout(a: Tensor, b: Tensor): boolean {
  return (
    sameNumbers(a.sizes, b.sizes) &&
    a.strides.every((stride, d) => stride === b.strides[d] || a.sizes[d] === 1)
  );
}

/** Whether tensors lie in memory alike, in whatever order their dimensions are. */
function sameMemory(a: Tensor, b: Tensor): boolean {
  const dims = ({ sizes, strides }: Tensor): string =>
    strides
      .map((stride, d) => `${stride}x${sizes[d]!}`)
      .filter((_, d) => sizes[d] !== 1)
      .sort()
      .join();
  return dims(a) === dims(b);
}

/** Makes a tensor computed again share memory with one that exists. */
function share(tensor: Tensor, { real, again }: Pair): void {
  if (tensor.storage !== again.storage) return;
  const offset = tensor.storageOffset - again.storageOffset + real.storageOffset;
  if (sameMemory(real, again) && holds(real.storage, tensor, offset)) {
    tensor.setStorage(real.storage, offset);
    tensor.base = real.base ?? real;
  } else if (sameNumbers(real.sizes, again.sizes)) {
    // Compiled code gave the part that it returned memory of its own.
    withoutModes(() => noGrad(() => again.copy_(real)));
    real.setStorage(again.storage, again.storageOffset);
    real.strides = again.strides;
    real.guardSpec = null;
    if (real.autograd !== null) real.autograd.versionAtGradFn = real.storage.version;
  }
  if (tensor.autograd !== null) tensor.autograd.versionAtGradFn = tensor.storage.version;
}

/** Whether a storage has room for a tensor at an offset (elements). */
function holds(storage: Storage, tensor: Tensor, offset: number): boolean {
  const last = tensor.sizes.reduce((at, size, d) => at + (size - 1) * tensor.strides[d]!, offset);
  return offset >= 0 && (last + 1) * itemSize(tensor.dtype) <= storage.nbytes;
}
