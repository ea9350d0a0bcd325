/**
 * @file Random kernels against the interpreter. A failing seed can be run alone: TESSERA_FUZZ_SEED=17.
 * Unless the run is full, each kernel is tried in one of the modes, another one in other samples, and half of the products.
 */
import { env } from 'node:process';
import { printKernel } from '@tessera/inductor-core';
import { describe, it } from 'vitest';
import { generateMatmul } from '../src/codegen/scheduled/matmul.js';
import { MATMUL_TILES, tileFits } from '@tessera/inductor-core';
import { directVariant, generateKernel } from '../src/index.js';
import { fullTests, sampleName, sampleSeed, sampled } from '../../../tooling/full-tests.js';
import { openGpu } from './support/open-gpu.js';
import { randomKernel, randomMatmul } from './support/random-kernel.js';
import { compareKernel, type RunOptions } from './support/run-kernel.js';

const gpu = await openGpu();
const count = Number(env.TESSERA_FUZZ_COUNT ?? 40);
const seeds =
  env.TESSERA_FUZZ_SEED === undefined
    ? Array.from({ length: count }, (_, i) => i + 1)
    : [Number(env.TESSERA_FUZZ_SEED)];

/** Ways to run the same kernels. */
const modes: Readonly<Record<string, (seed: number) => RunOptions>> = {
  'as the backend does': () => ({}),
  'without subgroups': () => ({
    generate: (kernel, variant) =>
      generateKernel(kernel, { ...gpu!.backend.target, subgroups: null }, variant),
  }),
  'for software adapters': () => ({
    generate: (kernel, variant) =>
      generateKernel(kernel, { ...gpu!.backend.target, software: true, parallelism: 4 }, variant),
  }),
  'as views at odd offsets': (seed) => ({ offset: 1 + (seed % 70) }),
};

describe.skipIf(gpu === null)('random kernels equal the interpreter', () => {
  for (const kind of ['pointwise', 'reduction'] as const) {
    for (const [number, [name, options]] of Object.entries(modes).entries()) {
      it(`random ${kind} kernels ${name} (${sampleName})`, async () => {
        const failures: string[] = [];
        for (const seed of seeds) {
          const isTried = (seed + sampleSeed) % Object.keys(modes).length === number;
          if (!isTried && !fullTests && seeds.length > 1) continue;
          const { kernel, buffers, scalars } = randomKernel(seed, kind === 'reduction');
          try {
            await compareKernel(gpu!, kernel, buffers, scalars, 20, options(seed));
          } catch (error) {
            failures.push(
              `seed ${seed}: ${(error as Error).message}\n${printKernel(kernel)}\n${gpu!.backend.generate(kernel).text}`,
            );
          }
        }
        if (failures.length > 0)
          throw new Error(`${failures.length} failed\n${failures.slice(0, 2).join('\n')}`);
      }, 300_000);
    }
  }

  const products = seeds.length > 1 ? sampled(seeds, 2) : seeds;
  it(`${products.length} products, each with a tile of the table (${sampleName})`, async () => {
    const { target } = gpu!.backend;
    const tiles = MATMUL_TILES.filter((tile) => tileFits(tile, target));
    const failures: string[] = [];
    for (const seed of products) {
      const { kernel, buffers } = randomMatmul(seed);
      const tile = tiles[seed % tiles.length];
      const generate: RunOptions['generate'] = (_, variant) =>
        generateMatmul(kernel, target, variant ?? directVariant(kernel.params.length), { tile });
      try {
        await compareKernel(gpu!, kernel, buffers, [], 20, { generate });
      } catch (error) {
        failures.push(`seed ${seed}: ${(error as Error).message}\n${printKernel(kernel)}`);
      }
    }
    if (failures.length > 0)
      throw new Error(`${failures.length} failed\n${failures.slice(0, 3).join('\n')}`);
  }, 300_000);
});
