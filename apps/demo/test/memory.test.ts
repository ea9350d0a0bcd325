/**
 * A compiled training loop that never yields holds memory flat where no collection can be forced: in a page.
 * `TESSERA_MEMORY_STEPS` sets how long it runs (10,000 on cpu and 500 on wgpu were tried).
 */
import { env } from 'node:process';
import { chromium } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { findChromium } from '../../../tooling/find-chromium.mjs';
import { type TrainingMemory, trainInOneTask } from './support/memory-program.js';
import type { MemoryResult } from './support/memory-page.js';
import { bundlePage, servePage } from './support/serve-page.js';

const executablePath = findChromium();
if (executablePath === null && env.TESSERA_REQUIRE_WEBGPU === '1')
  throw new Error('no chromium: set CHROMIUM_PATH');

const stepsOr = (steps: number): number => Number(env.TESSERA_MEMORY_STEPS ?? steps);

function expectFlat({ early, late, losses }: TrainingMemory): void {
  expect(early).toBeGreaterThan(8e6);
  expect(late - early).toBeLessThan(2e6);
  expect(losses[1]).toBeLessThan(losses[0] / 2);
}

describe('memory of a training loop that never yields', { timeout: 1_200_000 }, () => {
  it('is flat in Node without forced collections', async () =>
    expectFlat(await trainInOneTask('cpu', stepsOr(200))));

  it.skipIf(executablePath === null).each([
    ['cpu', 200],
    ['wgpu', 24],
  ])('is flat in a page on %s', async (device, steps) => {
    await using server = await servePage(await bundlePage('memory-page'), true, 'memory-page');
    const browser = await chromium.launch({
      executablePath: executablePath!,
      args: ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'],
    });
    try {
      const page = await browser.newPage();
      await page.goto(`${server.url}?device=${device}&steps=${stepsOr(steps)}`, {
        timeout: 120_000,
      });
      await page.waitForFunction(() => 'tesseraResult' in globalThis, undefined, { timeout: 0 });
      const result = (await page.evaluate(
        () => (globalThis as unknown as { tesseraResult: unknown }).tesseraResult,
      )) as MemoryResult;
      expect(result.error).toBe(undefined);
      expectFlat(result);
      if (env.TESSERA_MEMORY_STEPS !== undefined) console.log(device, JSON.stringify(result));
    } finally {
      await browser.close();
    }
  });
});
