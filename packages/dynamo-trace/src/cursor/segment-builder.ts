/**
 * @file Builds the graph of one segment, with a fake tensor for every value.
 *
 * Ops run on the fake tensors with autograd on, so shapes, dtypes, aliasing, `requires_grad` and the backward
 * graph of a captured program come from the real rules, not from a second set.
 */
import { FakeConverter, Graph, type Node, getItem, tensorVal } from '@tessera/graph';
import { SymScalar } from '@tessera/shared';
import { GradNode, type OpOverload, type Storage, type Tensor } from '@tessera/tensor';
import {
  type GradMeta,
  gradFnOf,
  isHistoryRefused,
  noteWrittenSince,
  requiresGrad,
  setHistory,
} from '@tessera/tensor/internal';
import { gradModeNode } from '../trace/as-recorded.js';
import { inputMetaOf } from '../trace/input-meta.js';
import { noteSymbolicArgs } from '../dynamic/symbolic-meta.js';
import type { Prepared } from './arguments.js';
import type { RecorderOptions } from './recorder.js';
import { type Shared, sharingOf } from '../trace/sharing.js';
import type { OwnLeaf } from '../trace/own-leaf.js';
import { Segment, type SegmentInputRef } from '../trace/segment.js';

/** Stands for the history that a tensor has when it comes into a segment. */
export class ComputedBefore extends GradNode {
  /** Named in messages as the node that made it, of which it is output number `outputNr`. */
  constructor({ sizes, dtype, device }: Tensor, { name }: GradNode, outputNr: number) {
    const metas = Array.from({ length: outputNr + 1 }, (): GradMeta => ({ sizes, dtype, device }));
    super(name, [], metas);
  }

  apply(): readonly (Tensor | null)[] {
    return [];
  }
}

/** See the file header. */
export class SegmentBuilder {
  readonly graph: Graph = new Graph();
  /** Ops recorded so far. */
  opCount = 0;
  private readonly nodes = new Map<number, Node>();
  private readonly slots = new Map<Tensor, number>();
  private readonly converter = new FakeConverter();
  /** Fakes of tensors made before the segment, and of their bases. */
  private readonly outside = new Set<Tensor>();
  private readonly inputs: SegmentInputRef[] = [];
  private readonly scalars = new Map<number, { node: Node; scalar: SymScalar }>();
  private readonly produced = new Map<number, Node>();
  /** The nodes that write to some memory, in order. */
  private readonly writers = new Map<Storage, Node[]>();
  /** Leaves that the program made with `requiresGrad_()`. */
  readonly leaves: OwnLeaf[] = [];
  /** Whether random numbers are drawn. */
  hasRandom = false;
  private lastPlaceholder: Node | null = null;
  private lastOp: Node | null = null;

  /** Grad mode behind what is recorded. */
  gradMode = false;

  /** What comes runs in this grad mode. */
  switchGradMode(enabled: boolean): void {
    if (enabled !== this.gradMode) this.graph.callFunction(gradModeNode, [enabled]);
    this.gradMode = enabled;
  }

  /** Whether the slot has a value in this segment. */
  has(slot: number): boolean {
    return this.nodes.has(slot);
  }

  node(slot: number): Node {
    return this.nodes.get(slot)!;
  }

  fake(slot: number): Tensor {
    return tensorVal(this.node(slot))!;
  }

  /** The slot of a fake, if it has one. */
  slotOfFake(fake: Tensor): number | undefined {
    return this.slots.get(fake);
  }

  /** Slots of tensor inputs. */
  get inputSlots(): number[] {
    return this.inputs.filter((input) => input.slot >= 0).map((input) => input.slot);
  }

  /** Makes a tensor an input. */
  addInput(slot: number, tensor: Tensor, name: string, source: string): void {
    // Either may refuse the tensor; then the graph is as it was.
    const fake = this.fakeOf(tensor);
    const meta = inputMetaOf(tensor);
    const node = this.placeholder(name);
    node.meta.val = fake;
    node.meta.source = source;
    this.inputs.push({ slot, scalar: -1, meta });
    this.bind(slot, node);
  }

  /** Makes runtime scalar `index` an input, once. */
  addScalar(
    index: number,
    hint: number,
    kind: 'float' | 'int' | 'bool',
    source: string,
  ): { node: Node; scalar: SymScalar } {
    const existing = this.scalars.get(index);
    if (existing !== undefined) return existing;
    const node = this.placeholder(`scalar_${index}`);
    node.meta.val = hint;
    node.meta.scalar = { kind };
    node.meta.source = source;
    this.inputs.push({ slot: -1, scalar: index });
    const entry = { node, scalar: new SymScalar(hint, kind, source) };
    this.scalars.set(index, entry);
    return entry;
  }

  /** Takes runtime scalars out again that no op uses. */
  dropUnusedScalars(indices: Iterable<number>): void {
    for (const index of indices) {
      const { node } = this.scalars.get(index)!;
      if (node.users.size > 0) continue;
      this.scalars.delete(index);
      this.inputs.splice(
        this.inputs.findIndex(({ scalar }) => scalar === index),
        1,
      );
      this.graph.eraseNode(node);
    }
    this.lastPlaceholder = this.graph.placeholders.at(-1) ?? null;
  }

  /** Placeholders stay in front, in the order of the inputs. */
  private placeholder(name: string): Node {
    const create = (): Node => this.graph.placeholder(name);
    const nodes = this.lastPlaceholder === null ? this.graph.nodes : null;
    const node =
      this.lastPlaceholder !== null
        ? this.graph.insertingAfter(this.lastPlaceholder, create)
        : nodes!.length > 0
          ? this.graph.insertingBefore(nodes![0]!, create)
          : create();
    this.lastPlaceholder = node;
    return node;
  }

  /** The fake of a tensor from outside, with that of what it is a view of. */
  private fakeOf(tensor: Tensor): Tensor {
    const fake = this.converter.fresh(tensor);
    if (this.outside.has(fake)) return fake;
    this.outside.add(fake);
    fake.requiresGradFlag = requiresGrad(tensor);
    fake.madeAs = tensor.madeAs;
    if (tensor.isLazy) return fake;
    // What was computed before is no leaf: the program may modify it in place.
    const isRefused = isHistoryRefused(tensor);
    const made = isRefused ? (tensor.autograd?.gradFn ?? null) : gradFnOf(tensor);
    const node = fake.requiresGradFlag ? made : null;
    if (node !== null) {
      const { outputNr } = tensor.autograd!;
      setHistory(fake, new ComputedBefore(fake, node, outputNr), outputNr);
    }
    if (tensor.base !== null) fake.base = this.fakeOf(tensor.base);
    if (isRefused) {
      // Reading its history is an error here too; where nothing does, nothing is wrong.
      fake.requiresGradFlag = tensor.requiresGradFlag;
      noteWrittenSince(fake);
    }
    return fake;
  }

  /** Gives a slot its node, whose value is the fake. */
  private bind(slot: number, node: Node): void {
    this.nodes.set(slot, node);
    this.slots.set(this.fake(slot), slot);
  }

  /** A slot is computed here, by a node. */
  addResult(slot: number, node: Node): void {
    this.bind(slot, node);
    this.produced.set(slot, node);
  }

  /** Notes that a node, by default that of the last op, writes to a slot. */
  noteMutated(slot: number, writer: Node = this.lastOp!): void {
    const { storage } = this.fake(slot);
    const before = this.writers.get(storage);
    if (before === undefined) this.writers.set(storage, [writer]);
    else if (before.at(-1) !== writer) before.push(writer);
  }

  /** Adds the node of an op; list results get `getItem` nodes. */
  addOp(
    op: OpOverload,
    args: readonly Prepared[],
    fakes: readonly (Tensor | null)[],
    isList: boolean,
    meta: Node['meta'],
  ): (Node | null)[] {
    const node = this.graph.callFunction(
      op,
      args.map((arg) => arg.node),
    );
    this.opCount++;
    this.lastOp = node;
    if (op.hasTag('random')) this.hasRandom = true;
    node.meta = { ...node.meta, ...meta, val: isList ? fakes : (fakes[0] ?? null) };
    noteSymbolicArgs(node, args);
    if (!isList) return [node];
    return fakes.map((fake, i) => {
      if (fake === null) return null;
      const item = this.graph.callFunction(getItem, [node, i]);
      item.meta = { ...meta, val: fake };
      return item;
    });
  }

  /** The finished segment. Inputs that an op wrote to are its mutated ones. */
  finish(
    { backend, program, fullgraph = false, functionName: name }: RecorderOptions,
    startGradMode: boolean,
    visible: Iterable<number>,
  ): Segment {
    const mutated = this.inputs.flatMap(({ slot }, i) =>
      slot >= 0 && this.writers.has(this.fake(slot).storage) ? [i] : [],
    );
    return new Segment(
      this.graph,
      this.inputs,
      this.produced,
      mutated,
      this.hasRandom,
      startGradMode,
      backend,
      { name, program, fullgraph },
      this.sharing(),
      new Set(visible),
      this.writers,
      this.leaves,
    );
  }

  /** How inputs share memory, if that counts: where some are written to, or give their `madeAs` to views. */
  private sharing(): Shared[] | null {
    const fakes = this.inputs.map(({ slot }) => (slot < 0 ? null : this.fake(slot)));
    const views = [...this.produced.keys()].map((slot) => this.fake(slot));
    const viewed = new Set(views.map((view) => (view.base === null ? null : view.storageOrNull)));
    const counts = fakes.map((fake) => {
      const storage = fake?.storageOrNull ?? null;
      if (storage === null) return false;
      return this.writers.has(storage) || (fake!.madeAs !== null && viewed.has(storage));
    });
    if (!counts.includes(true)) return null;
    return sharingOf(fakes, this.writers).map((shared, i) =>
      counts[i] === true ? shared : { ...shared, madeAs: undefined },
    );
  }

  /** Whether another value is a view of this one. */
  isViewed(slot: number): boolean {
    const fake = this.fake(slot);
    return [...this.slots.keys()].some(({ base }) => base === fake);
  }

  /** Slots of inputs that share memory with a slot. */
  inputsSharing(slot: number): number[] {
    const { storage } = this.fake(slot);
    return this.inputSlots.filter((input) => this.fake(input).storage === storage);
  }

  /** Slots of values that share memory with one of these fakes and take gradients. */
  slotsWithGradients(fakes: readonly (Tensor | null)[]): number[] {
    const storages = new Set(fakes.flatMap((fake) => (fake === null ? [] : [fake.storage])));
    if (storages.size === 0) return [];
    return [...this.nodes.keys()].filter((slot) => {
      const fake = this.fake(slot);
      return storages.has(fake.storage) && requiresGrad(fake);
    });
  }
}
