/**
 * @file Compiling with a backend that interprets the captured graph.
 */
import type { GraphModule } from '@tessera/graph';
import { type Tensor } from '@tessera/tensor';
import { modes } from '@tessera/tensor/internal';
import {
  type AnyFunction,
  CompiledFunction,
  type EntryGuards,
  type TraceOptions,
} from '../src/index.js';

/** A compiled function and what its backend was given. */
export interface Compiled<F extends AnyFunction> {
  readonly call: F;
  readonly function: CompiledFunction;
  readonly graphs: GraphModule[];
}

/** Compiles `fn`; the backend counts graphs and runs them op by op. */
export function compileEager<F extends AnyFunction>(
  fn: F,
  options: Partial<TraceOptions> = {},
): Compiled<F> {
  const graphs: GraphModule[] = [];
  const compiled = new CompiledFunction(fn, {
    backend: (module) => {
      module.lint();
      graphs.push(module);
      return (inputs) => {
        if (modes.pre !== null) throw new Error('a mode is active inside the backend');
        return module.forward(...inputs) as Tensor[];
      };
    },
    ...options,
  });
  const call = function (this: unknown, ...args: unknown[]): unknown {
    return compiled.call(this === globalThis ? undefined : this, args);
  };
  return { call: call as unknown as F, function: compiled, graphs };
}

/** The first guard that fails for these roots, in words; null if all hold. */
export function firstFailure(
  guards: EntryGuards,
  ...of: Parameters<EntryGuards['failures']>
): string | null {
  return guards.failures(...of).next().value?.text ?? null;
}
