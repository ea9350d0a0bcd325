/**
 * @file `GradNode`: a step of the backward graph (PyTorch's `grad_fn`).
 */
import type { DeviceType } from '../device.js';
import type { DType } from '../dtype.js';
import type { Storage } from '../memory/storage.js';
import type { Tensor } from '../tensor.js';

/** An input of a node: gradient number `index` of `node` flows here. */
export interface Edge {
  readonly node: GradNode;
  readonly index: number;
}

/** Shape and type that a gradient must have. */
export interface GradMeta {
  readonly sizes: readonly number[];
  readonly dtype: DType;
  readonly device: DeviceType;
}

/** What a gradient of a tensor looks like. */
export function metaOf({ sizes, dtype, device }: GradMeta): GradMeta {
  return { sizes, dtype, device };
}

/** Called with a gradient; may return a replacement. */
export type GradHook = (grad: Tensor) => Tensor | void;

/** Called with the gradients that arrive at a node; may return replacements. */
export type NodePreHook = (
  gradOutputs: readonly (Tensor | null)[],
) => readonly (Tensor | null)[] | void;

/** Called with the gradients that a node computed and those that arrived; may return replacements of the former. */
export type NodeHook = (
  gradInputs: readonly (Tensor | null)[],
  gradOutputs: readonly (Tensor | null)[],
) => readonly (Tensor | null)[] | void;

/** Takes a hook off again. */
export interface HookHandle {
  remove(): void;
}

let nextSequenceNr = 0;

/** The sequence number that the next node will get. */
export function peekSequenceNr(): number {
  return nextSequenceNr;
}

/** A sequence number for something that is made between nodes. */
export function takeSequenceNr(): number {
  return nextSequenceNr++;
}

/** See the file header. Subclasses say how gradients of outputs become gradients of inputs. */
export abstract class GradNode {
  /** Order of creation in the forward pass; higher runs first. Leaves (`AccumulateGrad`) run as soon as ready. */
  readonly sequenceNr: number;
  /** Forward stack in anomaly mode. */
  forwardStack: string | null = null;
  /** Hooks on the gradient of output `index`, by index. */
  preHooks: Map<number, GradHook[]> | null = null;
  /** Hooks that run before `apply`, after those of tensors. */
  nodePreHooks: NodePreHook[] | null = null;
  /** Hooks that run after `apply`. */
  nodeHooks: NodeHook[] | null = null;
  /** The backward node during whose run this node was made (anomaly mode, createGraph). */
  anomalyParent: GradNode | null = null;
  /** Tensors (by output index) that keep their gradient though they are not leaves. */
  retained: Map<number, Tensor> | null = null;
  /** Whether the tensor is a leaf for whoever sees it: a tracer put the node in between. */
  standsForLeaf = false;
  /** Whether a backward without `retainGraph` ran it. */
  released = false;

  constructor(
    /** PyTorch's name, `MulBackward0`. */
    readonly name: string,
    /** Where each result of `apply` goes; null where no gradient is wanted. */
    readonly nextEdges: readonly (Edge | null)[],
    /** What each incoming gradient must look like; one entry per output of the forward op. */
    public inputMetas: readonly GradMeta[],
    sequenceNr?: number,
  ) {
    this.sequenceNr = sequenceNr ?? nextSequenceNr++;
  }

  /**
   * Gradients of the forward inputs, one per edge, from gradients of its outputs (null: none arrived).
   *
   * @param isWanted along which edges gradients were asked for; null for all
   */
  abstract apply(
    grads: readonly (Tensor | null)[],
    isWanted?: ((edge: Edge) => boolean) | null,
  ): readonly (Tensor | null)[];

  /** Whether it keeps tensors that `release` drops: then it runs once. Others may run again, as in PyTorch. */
  get keepsTensors(): boolean {
    return false;
  }

  /** Whether `apply` may run code of the program, or keeps what it makes. */
  get runsProgram(): boolean {
    return true;
  }

  /** The outputs on whose gradients that of an edge, by number, depends; null for all. */
  outputsTowards(_edge: number): readonly number[] | null {
    return null;
  }

  /** Memory whose modification makes a run of this node an error. */
  savedStorages(): readonly Storage[] {
    return [];
  }

  /** Memory that it holds for backward. */
  keptStorages(): readonly Storage[] {
    return this.savedStorages();
  }

  /** Drops saved tensors after a backward without `retainGraph`. */
  release(): void {}

  /** Adds a hook on the gradient of output `index`. */
  addPreHook(index: number, hook: GradHook): HookHandle {
    this.preHooks ??= new Map();
    const list = this.preHooks.get(index) ?? [];
    this.preHooks.set(index, list);
    return addHook(list, hook);
  }

  /** Calls `hook` before every run of this node. @see torch.autograd.graph.Node.register_prehook */
  registerPrehook(hook: NodePreHook): HookHandle {
    return addHook((this.nodePreHooks ??= []), hook);
  }

  /** Calls `hook` after every run of this node. @see torch.autograd.graph.Node.register_hook */
  registerHook(hook: NodeHook): HookHandle {
    return addHook((this.nodeHooks ??= []), hook);
  }
}

/** Adds a hook to others. */
export function addHook<T>(list: T[], hook: T): HookHandle {
  list.push(hook);
  return {
    remove: () => {
      const at = list.indexOf(hook);
      if (at >= 0) list.splice(at, 1);
    },
  };
}
