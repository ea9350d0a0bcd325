/**
 * @file `warmup` and `compileAsync`: calls whose compilation blocks no page.
 */
import type { AnyFunction } from '@tessera/dynamo-trace';
import type { GraphModule } from '@tessera/graph';
import type { Module } from '@tessera/nn';
import { type CompileOptions, compile, madeBy } from './compile.js';

/**
 * Calls a compiled function, which behaves as in any call, and compiles what the call needs a few milliseconds at a
 * time: frames and events of a page come in between, and the pipelines of a GPU are compiled side by side. Later calls
 * find the code. Resolves to the call's result.
 *
 * The function's own JavaScript runs at once, as it must. Tensors that it uses belong to the call until then: code that
 * touches them meanwhile ends the graph (GB0008), and what is left of it runs operator by operator.
 *
 * @throws invalid-argument if `compile` did not make it; what a call throws
 * @example
 * const step = compile(trainingStep);
 * const loss = await warmup(step, images, labels);
 */
export async function warmup<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  ...args: A
): Promise<Awaited<R>> {
  return (await madeBy(fn).inSlices(args)) as Awaited<R>;
}

/**
 * `compile` and `warmup` in one: resolves to the compiled function when a call with these arguments, which is really
 * made, has compiled.
 *
 * @throws what `compile` and the call throw
 * @example const step = await compileAsync(trainingStep, [images, labels]);
 */
export function compileAsync<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  args: A,
  options?: CompileOptions,
): Promise<(...args: A) => R>;
export function compileAsync<M extends Module | GraphModule>(
  module: M,
  args: Parameters<M['forward']>,
  options?: CompileOptions,
): Promise<M['forward']>;
export async function compileAsync(
  target: AnyFunction | Module,
  args: readonly unknown[],
  options?: CompileOptions,
): Promise<AnyFunction> {
  const fn = compile(target as AnyFunction, options);
  await warmup(fn, ...args);
  return fn;
}
