/**
 * @file `memoryEfficientFusion` with the `inductor` compiler.
 */
import {
  type AotOptions,
  type ModuleLike,
  memoryEfficientFusion as fuse,
} from '@tessera/aot-autograd';
import { compileFxInner } from './inductor.js';

type AnyFunction = (...args: never[]) => unknown;

/**
 * Compiles a function or a module without the tracer, once per signature of its arguments, so that
 * backward saves as little as it can and computes the rest again. What the function reads besides its
 * arguments is frozen at its first call.
 *
 * @throws aot-unsupported, graph-lint when called with arguments that cannot be compiled
 * @see functorch's memory_efficient_fusion
 */
export function memoryEfficientFusion<F extends AnyFunction>(
  fn: F,
  options?: Partial<AotOptions>,
): F;
export function memoryEfficientFusion<M extends ModuleLike>(
  module: M,
  options?: Partial<AotOptions>,
): M['call'];
export function memoryEfficientFusion(
  target: AnyFunction | ModuleLike,
  options: Partial<AotOptions> = {},
): AnyFunction {
  const all: AotOptions = { fwCompiler: compileFxInner, ...options };
  return typeof target === 'function' ? fuse(target, all) : fuse(target, all);
}
