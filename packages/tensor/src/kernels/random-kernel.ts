/**
 * @file Reference kernels of random ops.
 *
 * Every random op takes one generator offset when it runs and makes element i (row-major) from
 * `philox(seed, offset, i)`, see rng/philox.ts; so a compiled program repeats eager's numbers. Integers are
 * `low + ((u · 2²⁴) mod (high - low))` of the uniform u, probabilities are compared in single precision,
 * and 16-bit floats use only as many bits of u as they hold, to stay below 1.
 */
import { runKernel } from '../dispatch/kernels.js';
import type { DType } from '../dtype.js';
import type { OpOverload } from '../op/op-overload.js';
import { reserveOffsets } from '../rng/generator.js';
import { philoxNormal, philoxUniform } from '../rng/philox.js';
import type { Tensor } from '../tensor.js';
import { readNumbers, writeNumbers } from './elements.js';

/** Number of element `index`. */
export type Draw = (index: number) => number;

/** Takes a generator offset: uniform numbers of one op. */
export function drawUniform(dtype: DType): Draw {
  const { seed, offset } = reserveOffsets(1);
  const levels = dtype === 'float16' ? 2 ** 11 : dtype === 'bfloat16' ? 2 ** 8 : 0;
  if (levels === 0) return (index) => philoxUniform(seed, offset, index);
  return (index) => Math.floor(philoxUniform(seed, offset, index) * levels) / levels;
}

/** The uniform numbers of one call of an operator that draws them: by the device's code, if it has some. */
export function drawnBy(op: OpOverload, args: readonly unknown[]): Float64Array {
  const drawn = runKernel(op, args) as Tensor;
  const numbers = readNumbers(drawn);
  drawn.dispose();
  return numbers;
}

/** Takes a generator offset: normal numbers of one op. */
export function drawNormal(): Draw {
  const { seed, offset } = reserveOffsets(1);
  return (index) => philoxNormal(seed, offset, index);
}

/** Writes a number per element. */
export function fillWith(out: Tensor, draw: Draw): void {
  const numbers = new Float64Array(out.numel);
  for (let i = 0; i < numbers.length; i++) numbers[i] = draw(i);
  writeNumbers(out, numbers);
}

/** Kernel of uniform numbers in [0, 1). */
export function uniformKernel(_args: unknown, [out]: readonly Tensor[]): void {
  fillWith(out!, drawUniform(out!.dtype));
}

/** Kernel of standard normal numbers. */
export function normalKernel(_args: unknown, [out]: readonly Tensor[]): void {
  fillWith(out!, drawNormal());
}
