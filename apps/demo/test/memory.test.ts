/**
 * A compiled training loop that never yields holds memory flat where no collection can be forced: in a page.
 * `TESSERA_MEMORY_STEPS` sets how long it runs (10,000 on cpu and 500 on wgpu were tried; the one that waits runs 500 always).
 */
import { env } from 'node:process';
import { describe, expect, it } from 'vitest';
import { type TrainingMemory, trainInOneTask } from './support/memory-program.js';
import type { MemoryResult } from './support/memory-page.js';
import { executablePath, openPage } from './support/open-page.js';

const stepsOr = (steps: number): number => Number(env.TESSERA_MEMORY_STEPS ?? steps);

function expectFlat({ early, late, buffers, losses }: TrainingMemory, least = 8e6): void {
  expect(early).toBeGreaterThan(least);
  expect(late - early).toBeLessThan(least / 4);
  expect(buffers).toBeLessThan(8);
  expect(losses[1]).toBeLessThan(losses[0] / 2);
}

describe('memory of a training loop that never yields', { timeout: 1_200_000 }, () => {
  it('is flat in Node without forced collections', async () =>
    expectFlat(await trainInOneTask('cpu', stepsOr(200))));

  it.skipIf(executablePath === null).each([
    ['cpu', stepsOr(200), ''],
    ['wgpu', stepsOr(24), ''],
    ['wgpu', 500, '&awaits'],
  ])('is flat in a page on %s over %i steps %s', async (device, steps, how) => {
    const result = (await openPage(
      'memory-page',
      `?device=${device}&steps=${steps}${how}`,
    )) as MemoryResult;
    expect(result.error).toBe(undefined);
    expectFlat(result, how === '' ? 8e6 : 20_000);
    if (env.TESSERA_MEMORY_STEPS !== undefined) console.log(device, JSON.stringify(result));
  });
});
