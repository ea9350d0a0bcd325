/**
 * @file `memoryEfficientFusion`: a function or module whose backward saves as little as it can.
 */
import type { AotOptions } from './aot-compile.js';
import { aotFunction } from './aot-function.js';
import { type ModuleLike, aotModule } from './aot-module.js';
import { minCutRematerializationPartition } from './partition/min-cut-partition.js';

type AnyFunction = (...args: never[]) => unknown;

/**
 * Compiles with the min-cut partitioner: pointwise ops and reductions fuse, and backward computes them
 * again instead of reading saved results.
 *
 * @see functorch's memory_efficient_fusion
 */
export function memoryEfficientFusion<F extends AnyFunction>(fn: F, options: AotOptions): F;
export function memoryEfficientFusion<M extends ModuleLike>(
  module: M,
  options: AotOptions,
): M['call'];
export function memoryEfficientFusion(
  target: AnyFunction | ModuleLike,
  options: AotOptions,
): AnyFunction {
  const all: AotOptions = { partitionFn: minCutRematerializationPartition, ...options };
  return typeof target === 'function' ? aotFunction(target, all) : aotModule(target, all);
}
