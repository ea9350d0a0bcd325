/**
 * @file Hooks of a module: around its forward, in its backward, and around its state dict.
 */
import { checkFunction } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { runWithBackwardHooks } from './backward-hooks.js';
import type { Forward, Module } from './module.js';

/** The arguments of a module's forward; of a module of which nothing is known, any. */
export type HookArguments<F extends Forward = Forward> = [Parameters<F>, never[]] extends [
  never[],
  Parameters<F>,
]
  ? readonly unknown[]
  : Readonly<Parameters<F>>;

/** Sees a module's arguments before forward; a returned array replaces them. */
export type ForwardPreHook<F extends Forward = Forward, M = Module> = (
  module: M,
  args: HookArguments<F>,
) => HookArguments<F> | void;

/**
 * Sees a module's arguments and result after forward; anything returned but undefined replaces the result, so that an
 * arrow function that only looks is written with braces.
 */
export type ForwardHook<F extends Forward = Forward, M = Module> = (
  module: M,
  args: HookArguments<F>,
  output: ReturnType<F>,
) => ReturnType<F> | void;

/** Gradients by position: null where there is none. */
export type HookGradients = readonly (Tensor | null)[];

/** Sees the gradients of a module's results before its backward; a returned array replaces them. */
export type BackwardPreHook = (module: Module, gradOutput: HookGradients) => HookGradients | void;

/** Sees the gradients of a module's arguments and results; a returned array replaces those of the arguments. */
export type BackwardHook = (
  module: Module,
  gradInput: HookGradients,
  gradOutput: HookGradients,
) => HookGradients | void;

/** Runs before a module's tensors are put into a state dict. */
export type StateDictPreHook = (module: Module, prefix: string) => void;

/** Runs after the tensors of a module and those below it were put into a state dict, which it may change. */
export type StateDictHook = (
  module: Module,
  stateDict: Record<string, Tensor>,
  prefix: string,
) => void;

/** Names that did not match, which a hook may shorten. */
export interface IncompatibleKeys {
  readonly missingKeys: string[];
  readonly unexpectedKeys: string[];
}

/** Runs after loading; names that it takes off the lists are no errors. */
export type LoadStateDictHook = (module: Module, keys: IncompatibleKeys) => void;

/** Options of forward and backward hooks. */
export interface HookOptions {
  /** Whether the hook runs before those registered earlier (default false). */
  readonly prepend?: boolean;
}

/** Takes a hook away again. */
export interface HookHandle {
  remove(): void;
}

/** Hooks around forward as they are given, for modules of any kind: parameters of methods may be narrower. */
interface AroundForward {
  before(module: Module, args: readonly unknown[]): readonly unknown[] | void;
  after(module: Module, args: readonly unknown[], output: unknown): unknown;
}

/** Every kind of hook. */
interface HookKinds extends AroundForward {
  backwardBefore: BackwardPreHook;
  backward: BackwardHook;
  stateDictBefore: StateDictPreHook;
  stateDict: StateDictHook;
  loadBefore: StateDictHook;
  load: LoadStateDictHook;
}

/** The hooks of one module, per kind in order. */
export class ModuleHooks {
  private readonly lists: { [K in keyof HookKinds]: { readonly hook: HookKinds[K] }[] } = {
    before: [],
    after: [],
    backwardBefore: [],
    backward: [],
    stateDictBefore: [],
    stateDict: [],
    loadBefore: [],
    load: [],
  };

  /** Whether no hook sees calls. */
  get isEmpty(): boolean {
    const { before, after, backwardBefore, backward } = this.lists;
    return before.length + after.length + backwardBefore.length + backward.length === 0;
  }

  /** Each registration is its own entry, so that one function may be registered twice. */
  add<K extends keyof HookKinds>(
    kind: K,
    hook: HookKinds[K],
    options: HookOptions = {},
  ): HookHandle {
    checkFunction('register…Hook', hook);
    const list = this.lists[kind];
    const entry = { hook };
    if (options.prepend === true) list.unshift(entry);
    else list.push(entry);
    return {
      remove: () => {
        const index = list.indexOf(entry);
        if (index !== -1) list.splice(index, 1);
      },
    };
  }

  /** The hooks of a kind, as they are now. */
  of<K extends keyof HookKinds>(kind: K): HookKinds[K][] {
    return this.lists[kind].map(({ hook }) => hook);
  }

  /** Runs `forward` between the hooks. */
  run(
    module: Module,
    args: readonly unknown[],
    forward: (args: readonly unknown[]) => unknown,
  ): unknown {
    let current = args;
    for (const hook of this.of('before')) current = hook(module, current) ?? current;
    const withAfter = (given: readonly unknown[]): unknown => {
      let output = forward(given);
      for (const hook of this.of('after')) {
        const replaced = hook(module, current, output);
        if (replaced !== undefined) output = replaced;
      }
      return output;
    };
    const [pre, post] = [this.of('backwardBefore'), this.of('backward')];
    if (pre.length + post.length === 0) return withAfter(current);
    return runWithBackwardHooks(module, pre, post, current, withAfter);
  }
}
