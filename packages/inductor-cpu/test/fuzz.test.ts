/** @file Random loop kernels: generated code against the reference interpreter. */
import { interpretKernel, printKernel } from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { generateLoopKernel } from '../src/loops/loop-kernel.js';
import { hasRelaxedSimd } from '../src/runtime/relaxed-simd.js';
import { loadKernel, type Buffers } from './load-kernel.js';
import { randomKernel } from './random-kernel.js';

const FIRST = Number(process.env.FUZZ_SEED ?? 1);
const COUNT = Number(process.env.FUZZ_COUNT ?? 400);
const PER_TEST = 50;

const TOLERANCE: Record<DType, number> = {
  float32: 2e-4,
  float64: 2e-4,
  float16: 2e-3,
  bfloat16: 2e-2,
  int64: 0,
  int32: 0,
  int16: 0,
  int8: 0,
  uint8: 0,
  bool: 0,
};

/** Compares one kernel; returns what differs first. */
function difference(seed: number): string | undefined {
  const { kernel, buffers, scalars } = randomKernel(seed);
  const wanted: Buffers = structuredClone(buffers);
  interpretKernel(kernel, wanted, scalars);
  // Fused multiply-add where the engine has it, for every other kernel.
  const code = generateLoopKernel(kernel, { relaxedSimd: seed % 2 === 0 && hasRelaxedSimd() });
  const got: Buffers = structuredClone(buffers);
  loadKernel(kernel, code).run(
    got,
    scalars,
    Math.max(1, Math.min(Number(code.workItems), 1 + (seed % 3))),
  );
  for (const { name, dtype } of kernel.params) {
    for (const [i, value] of (wanted[name] as number[]).entries()) {
      const x = (got[name] as number[])[i] as number;
      const close =
        Object.is(x, value) ||
        x === value ||
        Math.abs(x - value) <= TOLERANCE[dtype] * Math.max(1, Math.abs(value));
      if (!close)
        return `seed ${seed}: ${name}[${i}] is ${x}, expected ${value}\n${printKernel(kernel)}`;
    }
  }
  return undefined;
}

describe('random loop kernels', () => {
  for (let start = FIRST; start < FIRST + COUNT; start += PER_TEST) {
    it(`agree with the interpreter, seeds ${start} to ${start + PER_TEST - 1}`, () => {
      for (let seed = start; seed < start + PER_TEST; seed++) {
        let found: string | undefined;
        try {
          found = difference(seed);
        } catch (error) {
          throw new Error(
            `seed ${seed}: ${String(error)}\n${printKernel(randomKernel(seed).kernel)}`,
            { cause: error },
          );
        }
        if (found !== undefined) expect.fail(found);
      }
    });
  }
});
