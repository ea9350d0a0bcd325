/**
 * @file `compile`: the entry point.
 */
import {
  type AnyFunction,
  CompiledFunction,
  type Explanation,
  explainFunction,
} from '@tessera/dynamo-trace';
import type { ExportedGraph, GraphModule } from '@tessera/graph';
import type { Module } from '@tessera/nn';
import { discardFor, discardFrozen } from '@tessera/passes';
import { type ConfigValues, TesseraError, inspectsAs } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { type Compilable, callableOf } from './callable.js';
import { type BackendLike, lookupBackend } from './backend-registry.js';
import { checkCompileOptions } from './compile-options.js';
import { type CompileMode, configOf } from './compile-mode.js';
import { FunctionConfig } from './function-config.js';
import { compilationRecorder } from './observe-compilations.js';
import { type Explained, whenFinished } from './when-finished.js';

/** Options of `compile`. */
export interface CompileOptions {
  /** `inductor` (default), `aot_eager`, `eager`, another registered name, or a backend itself. */
  readonly backend?: string | BackendLike;
  /** Make graph breaks errors, and graphs that would run operator by operator because they cannot be compiled. */
  readonly fullgraph?: boolean;
  /**
   * Promise that the result depends only on the arguments (and `captures`): while their guards hold,
   * the function's JavaScript does not run.
   */
  readonly pure?: boolean;
  /**
   * What a `pure` function reads besides its arguments: guarded on every call. In others, what keeps tensors that a call
   * makes for the next one: variables that it replaces, and what holds such. Asked again at the end of a recorded call.
   */
  readonly captures?: () => Record<string, unknown>;
  /**
   * Symbolic sizes: `true` for all dims of arguments, `false` for none, undefined for those that changed
   * once. See also `markDynamic` and `markStatic`.
   */
  readonly dynamic?: boolean;
  /**
   * A preset of options: `default`, or `max-autotune`, which measures kernels on the device (`wgpu`: tiles of
   * matrix products) and keeps the fastest. Not together with `options`.
   */
  readonly mode?: CompileMode;
  /**
   * Configuration for this function: `{ freezing: true, 'trace.recompileLimit': 16 }`. Options that the whole
   * program shares (`cpu.threads`) are refused.
   */
  readonly options?: ConfigValues;
  /** Called with the reason whenever a call fits no recorded trace. */
  readonly guardFailFn?: (reason: string) => void;
}

/** What is known of a function that `compile` made. */
export interface Made {
  readonly compiled: CompiledFunction;
  /** Calls it; what has to be compiled for the call is compiled in slices. */
  readonly inSlices: (args: readonly unknown[]) => Promise<unknown>;
}

inspectsAs(CompiledFunction, ({ name, captures }) => `${name}: ${captures.length} trace(s)`);

const functions = new WeakMap<object, Made>();
/** Compiled functions that somebody still holds, for `reset()`. */
const live = new Set<WeakRef<CompiledFunction>>();
const dropped = new FinalizationRegistry<WeakRef<CompiledFunction>>((ref) => live.delete(ref));

/**
 * Compiles a function of tensors, or a module's forward. Calls behave as those of the original;
 * the first one captures and compiles, later ones replay (see `@tessera/dynamo-trace`). Parameters without a type
 * are tensors.
 *
 * @throws unknown-backend, invalid-argument
 * @example const f = compile((x: Tensor) => x.mul(2).add(1));
 * @see torch.compile
 */
export function compile<F extends (...args: Tensor[]) => unknown>(
  fn: F,
  options?: CompileOptions,
): F;
export function compile<F extends (...args: never[]) => unknown>(
  fn: F,
  options?: CompileOptions,
): F;
export function compile<M extends Module | GraphModule>(
  module: M,
  options?: CompileOptions,
): M['forward'];
export function compile(graph: ExportedGraph, options?: CompileOptions): ExportedGraph['call'];
export function compile(target: Compilable, options: CompileOptions = {}): AnyFunction {
  const { fn, self, signature } = callableOf(target);
  checkCompileOptions(options);
  const functionConfig = new FunctionConfig(configOf(options));
  const compiled = new CompiledFunction(fn, {
    signature,
    backend: functionConfig.backend(lookupBackend(options.backend ?? 'inductor')),
    fullgraph: options.fullgraph,
    pure: options.pure,
    captures: options.captures,
    guardFailFn: options.guardFailFn,
    dynamic: options.dynamic,
  });
  const scope = <R>(run: () => R): R => {
    const outer = discardFor(compiled);
    try {
      return functionConfig.call(run);
    } finally {
      discardFor(outer);
    }
  };
  const end = (): void => {
    discardFrozen(compiled, () => hasRunCompiled(compiled));
    compilationRecorder()?.finish(compiled);
  };
  const wrapper = function (this: unknown, ...args: unknown[]): unknown {
    try {
      return scope(() => compiled.call(self ?? (this === globalThis ? undefined : this), args));
    } finally {
      end();
    }
  };
  const inSlices = async (args: readonly unknown[]): Promise<unknown> => {
    try {
      return await scope(() => compiled.call(self, args, scope));
    } finally {
      end();
    }
  };
  Object.defineProperty(wrapper, 'name', { value: fn.name });
  // Modules are called with `call`: that of functions would take the first argument for `this`.
  if (self !== undefined)
    Object.defineProperty(wrapper, 'call', { value: (...args: unknown[]) => wrapper(...args) });
  functions.set(wrapper, { compiled, inSlices });
  const ref = new WeakRef(compiled);
  live.add(ref);
  dropped.register(compiled, ref);
  return wrapper;
}

/** Whether every graph of its traces ran compiled: those before a graph break do on the second call. */
function hasRunCompiled({ captures }: CompiledFunction): boolean {
  return captures.every(({ segments }) =>
    segments.every(
      ({ runs, outputs, mutated }) => runs > 0 || (outputs.length === 0 && mutated.length === 0),
    ),
  );
}

/** The traces of a compiled function. @throws invalid-argument if it is not one */
export function compiledFunctionOf(fn: AnyFunction): CompiledFunction {
  return madeBy(fn).compiled;
}

/** What is known of a compiled function. @throws invalid-argument if it is not one */
export function madeBy(fn: AnyFunction): Made {
  const made = functions.get(fn);
  if (made === undefined) {
    throw new TesseraError(
      'invalid-argument',
      `${fn.name || 'This function'} was not made by compile().`,
      { hints: ['Pass what compile() returned.'] },
    );
  }
  return made;
}

/** Forgets all recorded traces of all compiled functions. */
export function reset(): void {
  for (const ref of live) {
    const compiled = ref.deref();
    if (compiled === undefined) live.delete(ref);
    else compiled.reset();
  }
}

/**
 * Runs a function once under capture and says what happened: graphs, breaks with reasons and lines,
 * guards. A function that `compile` made is described as it is, after the call. A method is called on its object:
 * `explain(model.step).call(model, x)`.
 */
export function explain<F extends AnyFunction>(
  fn: F,
  options?: CompileOptions,
): (...args: Parameters<F>) => Explained<ReturnType<F>>;
export function explain<M extends Module>(
  module: M,
  options?: CompileOptions,
): (...args: Parameters<M['forward']>) => Explanation;
export function explain(
  target: AnyFunction | Module,
  options: CompileOptions = {},
): (...args: unknown[]) => Explanation | Promise<Explanation> {
  checkCompileOptions(options, 'explain');
  return function (this: unknown, ...args) {
    const wrapper = functions.has(target)
      ? (target as AnyFunction)
      : compile(target as AnyFunction, { backend: 'eager', ...options });
    return whenFinished(wrapper.apply(this, args), () =>
      explainFunction(compiledFunctionOf(wrapper)),
    );
  };
}
