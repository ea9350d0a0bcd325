/**
 * @file The mode stacks: the only way to intercept operators.
 *
 * Two stacks, as in the dispatch order (see dispatcher.ts). A *pre-dispatch* mode (graph capture) sees
 * every op first, composite ops included, and also the events that are not ops: `backward()`, changes
 * of grad mode, trusted regions. A *dispatch* mode (proxy, fake) sees primitive ops below autograd.
 * While a mode handles an op it is off, so that it can call ops itself.
 */
import type { OpOverload } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';
import type { Storage } from '../memory/storage.js';
import type { RegionInputs } from '../protocols/trusted-region.js';
import { checkFunction } from '@tessera/shared';

/** A mode below autograd. `handle` may call `redispatch` to continue to the next mode or the kernel. */
export interface DispatchMode {
  readonly name: string;
  handle(op: OpOverload, args: readonly unknown[]): unknown;
}

/** Options of `backward()`, as a capture sees them. */
export interface BackwardCall {
  readonly tensors: readonly Tensor[];
  readonly gradTensors: readonly (Tensor | null)[];
  readonly retainGraph: boolean;
  readonly createGraph: boolean;
  /** If given, only these leaves receive gradients. */
  readonly inputs: readonly Tensor[] | null;
}

type MaybeTensors = readonly (Tensor | null)[];

/** A mode above everything: captures or replays a program. */
export interface PreDispatchMode {
  readonly name: string;
  /** What is recorded runs again without the program: tensors made of numbers are copied before it uses them. */
  readonly copiesLiterals?: boolean;
  /** Nothing is recorded: operators run when they are called, and tensors have the histories that they show. */
  readonly isEager?: boolean;
  handle(op: OpOverload, args: readonly unknown[]): unknown;
  /** `backward()` was called; returns false to let the engine run it. */
  onBackward(call: BackwardCall): boolean;
  /** Grad mode is about to change. */
  onGradMode(enabled: boolean): void;
  /** A trusted region is entered; the mode runs or skips `fn`. */
  onRegion<R>(
    owner: object,
    name: string,
    inputs: RegionInputs,
    fn: (inputs: RegionInputs) => R,
  ): R;
  /** `tensor.grad = value` was assigned by the program. */
  onSetGrad(tensor: Tensor, value: Tensor | null): void;
  /**
   * A leaf has dropped this gradient, which nobody but the library can hold. The mode calls `releaseUnseen` once
   * the operators that it has recorded have read it; without this, the memory is left to the collector.
   */
  onDrop?(gradient: Tensor): void;
  /**
   * `requiresGrad` of a tensor is about to change: what was computed before has the history it had. Whether the mode
   * has changed it.
   */
  onSetRequiresGrad?(tensor: Tensor, value: boolean): boolean;
  /** Code that no graph may hold is about to run, without the mode; `why` says in words what it is. */
  onUntraced?(why: string): void;
  /** A hook, or `retainGrad()`, is about to be set on a tensor that exists: it belongs to the history by now. */
  onSetHook?(tensor: Tensor): void;
  /** Whether a write that is recorded, and has not run yet, lets gradients flow into a tensor. */
  givesGradients?(tensor: Tensor): boolean;
  /** Whether a lazy tensor was made a leaf by `requiresGrad_()`. */
  isLeafMadeInside?(tensor: Tensor): boolean;
  /**
   * The engine is about to be asked for the gradients of these tensors: by a hook, `retainGrad()`, `grad()` or
   * `backward({ inputs })`. What is differentiated may be among them.
   */
  onWatch?(tensors: readonly Tensor[]): void;
  /**
   * Memory is about to be read, or written, outside an op: a mode makes the writes that it owes to it, and
   * the reads that come before a write.
   */
  onAccess?(storage: Storage, writes: boolean): void;
  /**
   * Calls code that needs tensors with memory once for each example that some of these stand for, and gives its results
   * for all of them; null where they stand for no examples.
   */
  eachExample?(tensors: MaybeTensors, fn: (own: MaybeTensors) => MaybeTensors): MaybeTensors | null;
  /** Why a mode has something to do before memory is read, or written; null if it has not. */
  dueBefore?(storage: Storage, writes: boolean): object | null;
}

/** The active stacks. Read by the dispatcher on every op, hence one plain object. */
export interface ModeState {
  /** Active pre-dispatch mode, or null. */
  pre: PreDispatchMode | null;
  /** Dispatch modes, innermost last. */
  stack: readonly DispatchMode[];
  /** The tracer that has suspended async functions, or null: it finds the mode that the running code belongs to. */
  suspended: Resume | null;
  /** Whether the running code belongs to no suspended function, whoever called it: a scope, which ends before any goes on. */
  unseen: boolean;
}

/** A tracer with suspended async functions. */
export interface Resume {
  /** The mode of the code that runs now; `values` are what it works on. */
  modeOf(values: readonly unknown[]): PreDispatchMode | null;
  /** Memory is about to be accessed: suspended modes first do what they have recorded on it. */
  onAccess(storage: Storage, writes: boolean): void;
}

export const modes: ModeState = { pre: null, stack: [], suspended: null, unseen: false };

/** The pre-dispatch mode of the running code: the active one, or that of the async function it continues. */
export function activeMode(values: readonly unknown[] = []): PreDispatchMode | null {
  const { pre, suspended, unseen } = modes;
  return pre ?? (suspended === null || unseen ? null : suspended.modeOf(values));
}

/** Runs `fn` with the pre-dispatch mode replaced (null turns capture off). */
export function withPreDispatchMode<R>(mode: PreDispatchMode | null, fn: () => R): R {
  const { pre, unseen } = modes;
  modes.pre = mode;
  modes.unseen = true;
  try {
    return fn();
  } finally {
    modes.pre = pre;
    modes.unseen = unseen;
  }
}

/** Runs `fn` with `mode` on top of the dispatch modes. */
export function withDispatchMode<R>(mode: DispatchMode, fn: () => R): R {
  checkFunction('withDispatchMode', fn);
  const saved = modes.stack;
  modes.stack = [...saved, mode];
  try {
    return fn();
  } finally {
    modes.stack = saved;
  }
}

/** Runs `fn` with other dispatch modes. */
export function withDispatchModes<R>(stack: readonly DispatchMode[], fn: () => R): R {
  const saved = modes.stack;
  modes.stack = stack;
  try {
    return fn();
  } finally {
    modes.stack = saved;
  }
}

/** Runs `fn` with no mode at all: inside an opaque call or a backend. */
export function withoutModes<R>(fn: () => R): R {
  return withPreDispatchMode(null, () => withDispatchModes([], fn));
}
