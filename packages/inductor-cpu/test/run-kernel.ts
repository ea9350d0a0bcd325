/** @file Compares a generated matmul kernel with the reference interpreter on random numbers. */
import { interpretKernel, type MatmulKernel } from '@tessera/inductor-core';
import { isFloatingPoint, type DType } from '@tessera/tensor';
import { hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';
import { generateMatmul } from '../src/matmul/generate-matmul.js';
import { loadKernel } from './load-kernel.js';

/** Elements of each buffer by parameter name. */
export type Sizes = Readonly<Record<string, number>>;

/** Deterministic values: floats in (-1, 1), small integers otherwise. */
function fill(count: number, dtype: DType, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    if (!isFloatingPoint(dtype)) return (state >>> 16) % 7;
    const value = state / 2 ** 31 - 1;
    return dtype === 'float64' ? value : Math.fround(Math.round(value * 128) / 128);
  });
}

/**
 * Largest difference between both sides, relative to the largest expected magnitude (at least 1).
 *
 * @param scalars values of the kernel's scalars in order
 * @param adjust changes the initial values of buffers
 */
export function compareWithInterpreter(
  kernel: MatmulKernel,
  sizes: Sizes,
  scalars: readonly number[] = [],
  adjust: (values: Map<string, number[]>) => void = () => {},
): number {
  const values = new Map(
    kernel.params.map(({ name, dtype }, i) => [name, fill(sizes[name] as number, dtype, i + 1)]),
  );
  adjust(values);
  const named = Object.fromEntries(
    kernel.scalars.map(({ name }, i) => [name, scalars[i] as number]),
  );
  const expected = structuredClone(values);
  interpretKernel(kernel, expected, named);
  let worst = 0;
  for (const relaxedSimd of hasRelaxedSimd() ? [false, true] : [false]) {
    const code = generateMatmul(kernel, { relaxedSimd });
    for (const parts of new Set([1, Math.min(Number(code.workItems), 3)])) {
      const actual = Object.fromEntries(structuredClone(values));
      loadKernel(kernel, code).run(actual, named, parts);
      for (const [name, wanted] of expected) {
        const scale = wanted.reduce((max, x) => Math.max(max, Math.abs(x)), 1);
        wanted.forEach((x, i) => {
          const difference = Math.abs(x - (actual[name] as number[])[i]);
          worst = Math.max(worst, Number.isNaN(difference) ? Infinity : difference / scale);
        });
      }
    }
  }
  return worst;
}
