/**
 * @file The backward node of a compiled function.
 *
 * Keeps exactly the values that the compiled backward graph reads, with the versions they had. The
 * backward graph is compiled when the first gradient arrives.
 */
import {
  GradNode,
  type Storage,
  type Tensor,
  type TensorMeta,
  isTensor,
  noGrad,
} from '@tessera/tensor';
import {
  type Edge,
  type GradMeta,
  SavedTensor,
  type StorageKeeper,
  gradMode,
  holdGradient,
  modes,
  modifiedSince,
  backwardTwice,
  outsideScopes,
  savedTensorHooks,
  setHistory,
  show,
  withoutModes,
} from '@tessera/tensor/internal';
import type { CompiledGraph } from '../graph-compiler.js';
import type { EagerHistory } from '../joint/eager-history.js';
import type { GradientSource } from '../partition/partition.js';
import { compiledDoubleBackward } from './double-backward.js';
import { copyWithStrides, withLayout } from './layout-copy.js';

/** A backward graph for some of the tangents. */
export interface BackwardVariant {
  readonly compiled: CompiledGraph;
  /** What it takes of the saved values and, behind them, the tangents. */
  readonly inputs: readonly number[];
  /** Saved values that it reads. */
  readonly reads: readonly number[];
  /** Per gradient; an input is a saved value or, behind them, a tangent. */
  readonly gradients: readonly (GradientSource | null)[];
}

/** A saved value that somebody else has too. */
export interface WatchedValue {
  /** Its number among the saved values. */
  readonly index: number;
  /** Tangents for which eager autograd keeps it, so modifying it is an error. */
  readonly keptFor: ReadonlySet<number>;
}

/** What all calls of one compiled function share. */
export interface BackwardProgram {
  /** What runs if gradients arrived for these tangents alone; compiled on first use. */
  readonly variant: (arrived: readonly boolean[]) => BackwardVariant;
  /** What the backward graph expects of each tangent. */
  readonly tangents: readonly TensorMeta[];
  /** Per tangent, what eager autograd would keep. */
  readonly histories: readonly EagerHistory[];
  /** Saved values that others can modify although eager autograd does not keep them. */
  readonly watched: readonly WatchedValue[];
  /** Per input that may receive a gradient: whether any result leads to it. */
  readonly reaches: readonly boolean[];
  /** Per gradient, the tangents that it comes from; null for all of them. */
  readonly tangentsOf: readonly (readonly number[] | null)[];
  /** Per tangent: the saved values that its gradients are computed from. */
  readonly readsOf: () => readonly ReadonlySet<number>[];
  /** The same for other sizes, where the forward is known to be the same; null if it is not known of the backward. */
  readonly forSizes: (sizes: readonly number[]) => BackwardProgram | null;
}

/**
 * Saved values as a node keeps them: hooks that are in force pack what eager autograd would keep, too.
 *
 * @throws inference-tensor if one of those was made in inference mode
 */
function packed({ watched }: BackwardProgram, saved: readonly unknown[]): readonly unknown[] {
  const isForInference = saved.some((value) => isTensor(value) && value.storage.isInference);
  if (savedTensorHooks.active === null && !isForInference) return saved;
  const spared = new Set(watched.map(({ index }) => index));
  return saved.map((value, i) =>
    isTensor(value) && !spared.has(i) ? new SavedTensor(value) : value,
  );
}

/** See the file header. Output `i` of the node is the value of tangent `i`. */
export class CompiledFunctionBackward extends GradNode implements StorageKeeper {
  /** Those that hooks have packed are a `SavedTensor`. */
  private saved: readonly unknown[];
  private readonly versions: readonly number[];
  /** Watched values as they were, of those that have changed. */
  private readonly copies = new Map<number, Tensor>();
  /** Tangents of the last run. */
  private arrived: readonly boolean[] = [];
  /** Edges along which the last run was asked for gradients; null for all. */
  private wanted: ReadonlySet<number> | null = null;
  /** Tangents whose nodes would be used up in the eager graph. */
  private readonly usedUp = new Set<number>();
  /** Nodes of the eager graph that runs for some gradients only would have used up. */
  private readonly usedNodes = new Set<GradNode>();

  constructor(
    private readonly program: BackwardProgram,
    edges: readonly (Edge | null)[],
    metas: readonly GradMeta[],
    saved: readonly unknown[],
    /** Numbers of the saved values whose memory nobody else has. */
    private readonly own: readonly number[],
  ) {
    super('CompiledFunctionBackward', edges, metas);
    this.saved = packed(program, saved);
    this.versions = saved.map((value) => (isTensor(value) ? value.storage.version : 0));
    for (const { index } of program.watched) {
      const value = saved[index];
      if (isTensor(value)) value.storage.addKeeper(this);
    }
  }

  /** Copies what the caller is about to modify: eager autograd would not miss it. */
  beforeChange(storage: Storage): void {
    for (const { index } of this.program.watched) {
      const value = this.saved[index];
      if (!isTensor(value) || value.storage !== storage || this.copies.has(index)) continue;
      const copy = withoutModes(() => noGrad(() => copyWithStrides(value)));
      this.copies.set(index, copy);
    }
  }

  override get keepsTensors(): boolean {
    return true;
  }

  override keptStorages(): Storage[] {
    const values = [...this.saved, ...this.copies.values()];
    return values.flatMap((value) => (isTensor(value) ? [value.storage] : []));
  }

  /** Drops what only the tangents of the last run, and those that share nodes with them, need. */
  override release(): void {
    const { program, usedUp, arrived, wanted } = this;
    if (wanted !== null) {
      for (const node of this.eagerNodes(arrived, wanted)) this.usedNodes.add(node);
      return;
    }
    arrived.forEach((has, i) => {
      if (has) for (const other of program.histories[i]!.sharing) usedUp.add(other);
    });
    if (usedUp.size === program.tangents.length) {
      this.keepSaved(() => false);
      this.copies.clear();
      return;
    }
    const needed = program.readsOf().filter((_, i) => !usedUp.has(i));
    this.keepSaved((i) => needed.some((reads) => reads.has(i)));
  }

  /** Drops the other saved values, and releases the memory of those that nobody else has. */
  private keepSaved(isNeeded: (i: number) => boolean): void {
    for (const i of this.own) {
      const value = this.saved[i];
      if (isTensor(value) && !isNeeded(i) && !value.storage.shown) value.storage.free();
    }
    this.saved = this.saved.map((value, i) => (isNeeded(i) ? value : null));
  }

  /** What runs for these gradients. What compiling it makes is not memory of this pass. */
  private variant(arrived: readonly boolean[]): BackwardVariant {
    return outsideScopes(() => this.program.variant(arrived));
  }

  override get runsProgram(): boolean {
    return false;
  }

  /** One node stands for the nodes of all results: what leads to an input may not start at a result. */
  override outputsTowards(edge: number): readonly number[] | null {
    return this.program.tangentsOf[edge]!;
  }

  /** Single-use nodes of the eager graph that such a run would go through. */
  private eagerNodes(arrived: readonly boolean[], wanted: ReadonlySet<number>): GradNode[] {
    return this.program.histories.flatMap(({ nodesTowards }, i) =>
      arrived[i] === true ? [...nodesTowards(wanted)] : [],
    );
  }

  private isRepeated(arrived: readonly boolean[]): boolean {
    const { usedUp, usedNodes, nextEdges } = this;
    if (arrived.some((has, i) => has && usedUp.has(i))) return true;
    if (usedNodes.size === 0) return false;
    const wanted = this.wanted ?? new Set(nextEdges.keys());
    return this.eagerNodes(arrived, wanted).some((node) => usedNodes.has(node));
  }

  /** The edges that gradients were asked for along; null if all. */
  private someOf(isWanted: (edge: Edge) => boolean): ReadonlySet<number> | null {
    const edges = this.nextEdges.flatMap((edge, i) => (edge === null ? [] : [i]));
    const wanted = edges.filter((i) => isWanted(this.nextEdges[i]!));
    return wanted.length < edges.length ? new Set(wanted) : null;
  }

  override apply(
    grads: readonly (Tensor | null)[],
    isWanted: ((edge: Edge) => boolean) | null = null,
  ): readonly (Tensor | null)[] {
    // Of vmap: compiled code takes one example.
    const batched = modes.pre?.eachExample?.(grads, (own) => this.apply(own, isWanted));
    if (batched != null) return batched;
    const { program } = this;
    const arrived = program.tangents.map((_, i) => grads[i] != null);
    this.wanted = isWanted === null ? null : this.someOf(isWanted);
    if (this.isRepeated(arrived)) throw backwardTwice(this.name);
    this.arrived = arrived;
    const variant = this.variant(arrived);
    const saved = this.savedAsThen(variant.reads);
    const inputs = withoutModes(() =>
      noGrad(() =>
        variant.inputs.map((i) =>
          i < saved.length
            ? saved[i]
            : withLayout(grads[i - saved.length]!, program.tangents[i - saved.length]!),
        ),
      ),
    );
    const outputs = this.run(variant, inputs);
    const results = variant.gradients.map((source) => {
      if (source === null) return null;
      if (source.kind === 'output') return outputs[source.index] as Tensor;
      // A tangent that is a gradient too: the one that came in, with its history.
      if (source.index >= saved.length) return grads[source.index - saved.length]!;
      // A saved value that is a gradient too: others hold it, so no leaf may take its memory.
      const value = saved[source.index] as Tensor;
      holdGradient(value);
      show(value);
      return value;
    });
    if (gradMode.enabled) this.forbidDoubleBackward(results, grads);
    return results;
  }

  private run(
    { compiled, gradients }: BackwardVariant,
    inputs: readonly unknown[],
  ): readonly unknown[] {
    const run = (): readonly unknown[] => withoutModes(() => noGrad(() => compiled(inputs)));
    const isFresh = gradients.every(
      (source) => source?.kind !== 'output' || compiled.isFresh?.(source.index) === true,
    );
    if (isFresh) return run();
    // A compiler of the program: it may hold what it is given, and what it returns.
    show(inputs);
    return outsideScopes(run);
  }

  /** The saved values, those that are read as they were. @throws inplace-version */
  private savedAsThen(reads: readonly number[]): readonly unknown[] {
    let saved = this.saved;
    for (const i of reads) {
      const value = this.saved[i];
      if (value instanceof SavedTensor) saved = saved.with(i, value.unpack(this.name));
      if (!isTensor(value) || value.storage.version === this.versions[i]) continue;
      const copy = this.copies.get(i);
      const keptFor = this.program.watched.find(({ index }) => index === i)?.keptFor;
      if (copy === undefined || this.arrived.some((has, t) => has && keptFor!.has(t)))
        throw modifiedSince(
          `a tensor of shape [${value.sizes.join(', ')}] that a compiled function saved for backward is at version ${value.storage.version}; expected version ${this.versions[i]} instead.`,
        );
      saved = saved.with(i, copy);
    }
    return saved;
  }

  /** With createGraph the results look differentiable; differentiating them is an error. */
  private forbidDoubleBackward(
    results: readonly (Tensor | null)[],
    grads: readonly (Tensor | null)[],
  ): void {
    const node = compiledDoubleBackward(results, [...this.nextEdges], grads);
    results.forEach((result, i) => {
      if (result !== null && !grads.includes(result)) setHistory(result, node, i);
    });
  }
}
