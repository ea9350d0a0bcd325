/**
 * @file Forward hooks of a module.
 */
import type { Module } from './module.js';

/** Sees a module's arguments before forward; a returned array replaces them. */
export type ForwardPreHook = (
  module: Module,
  args: readonly unknown[],
) => readonly unknown[] | void;

/** Sees a module's arguments and result after forward; anything returned but undefined replaces the result. */
export type ForwardHook = (module: Module, args: readonly unknown[], output: unknown) => unknown;

/** Takes a hook away again. */
export interface HookHandle {
  remove(): void;
}

/** The hooks of one module, in order of registration. */
export class ModuleHooks {
  private readonly before = new Set<{ readonly hook: ForwardPreHook }>();
  private readonly after = new Set<{ readonly hook: ForwardHook }>();

  /** Whether no hook is registered. */
  get isEmpty(): boolean {
    return this.before.size === 0 && this.after.size === 0;
  }

  addBefore(hook: ForwardPreHook): HookHandle {
    return register(this.before, { hook });
  }

  addAfter(hook: ForwardHook): HookHandle {
    return register(this.after, { hook });
  }

  /** Runs `forward` between the hooks. */
  run(
    module: Module,
    args: readonly unknown[],
    forward: (args: readonly unknown[]) => unknown,
  ): unknown {
    let current = args;
    for (const { hook } of [...this.before]) current = hook(module, current) ?? current;
    let output = forward(current);
    for (const { hook } of [...this.after]) {
      const replaced = hook(module, current, output);
      if (replaced !== undefined) output = replaced;
    }
    return output;
  }
}

/** Each registration is its own entry, so that one function may be registered twice. */
function register<T>(set: Set<T>, entry: T): HookHandle {
  set.add(entry);
  return { remove: () => void set.delete(entry) };
}
