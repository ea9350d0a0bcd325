/**
 * Random kernels against the interpreter. A failing seed can be run alone: TESSERA_FUZZ_SEED=17.
 */
import { env } from 'node:process';
import { printKernel } from '@tessera/inductor-core';
import { describe, it } from 'vitest';
import { openGpu } from './support/open-gpu.js';
import { randomKernel } from './support/random-kernel.js';
import { compareKernel } from './support/run-kernel.js';

const gpu = await openGpu();
const count = Number(env.TESSERA_FUZZ_COUNT ?? 60);
const seeds = env.TESSERA_FUZZ_SEED === undefined ? Array.from({ length: count }, (_, i) => i + 1) : [Number(env.TESSERA_FUZZ_SEED)];

describe.skipIf(gpu === null)('random kernels equal the interpreter', () => {
  for (const kind of ['pointwise', 'reduction'] as const) {
    it(`${seeds.length} ${kind} kernels`, async () => {
      const failures: string[] = [];
      for (const seed of seeds) {
        const { kernel, buffers, scalars } = randomKernel(seed, kind === 'reduction');
        try {
          await compareKernel(gpu!, kernel, buffers, scalars, 20);
        } catch (error) {
          failures.push(`seed ${seed}: ${(error as Error).message}\n${printKernel(kernel)}\n${gpu!.backend.generate(kernel).text}`);
        }
      }
      if (failures.length > 0) throw new Error(`${failures.length} failed\n${failures.slice(0, 2).join('\n')}`);
    }, 120_000);
  }
});
