/**
 * The training job in a page: the same model, data and compiled step, in headless Chromium.
 */
import { env } from 'node:process';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TrainingResult } from './support/browser-page.js';
import { findChromium } from '../../../tooling/find-chromium.mjs';
import { type PageFiles, bundlePage, servePage } from './support/serve-page.js';

/** Relative distance to PyTorch's losses. */
const TOLERANCE = 1e-3;

const executablePath = findChromium();
if (executablePath === null) {
  if (env.TESSERA_REQUIRE_WEBGPU === '1') throw new Error('no chromium: set CHROMIUM_PATH');
  console.warn('The browser tests did not run: no chromium was found (CHROMIUM_PATH, PATH).');
}

describe.skipIf(executablePath === null)('the training job in a browser', () => {
  let browser: Browser;
  let files: PageFiles;

  beforeAll(async () => {
    files = await bundlePage();
    browser = await chromium.launch({
      executablePath: executablePath!,
      args: ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'],
    });
  }, 120_000);

  afterAll(() => browser?.close());

  type Trained = TrainingResult & { readonly scriptBytes: number };

  async function train(device: 'cpu' | 'wgpu', isolated: boolean): Promise<Trained> {
    await using server = await servePage(files, isolated);
    const page = await browser.newPage();
    const messages: string[] = [];
    page.on('pageerror', (error) => messages.push(String(error)));
    page.on('console', (message) => messages.push(message.text()));
    await page.goto(`${server.url}?device=${device}`);
    await page.waitForFunction(() => 'tesseraResult' in globalThis, undefined, {
      timeout: 120_000,
    });
    const result = (await page.evaluate(
      () => (globalThis as unknown as { tesseraResult: unknown }).tesseraResult,
    )) as TrainingResult;
    await page.close();
    expect(result.error, messages.join('\n')).toBe('');
    return { ...result, scriptBytes: server.scriptBytes };
  }

  function expectRecordedLosses({ losses, recorded, captures }: TrainingResult): void {
    expect(captures).toBe(1);
    expect(losses).toHaveLength(recorded.length);
    const errors = losses.map((loss, i) => Math.abs(loss - recorded[i]!) / recorded[i]!);
    expect(Math.max(...errors)).toBeLessThan(TOLERANCE);
  }

  it('trains with WebAssembly and worker threads where the page is isolated', async () => {
    const result = await train('cpu', true);
    expect(result).toMatchObject({ isolated: true, sharedHeap: true });
    expect(result.workers).toBeGreaterThan(0);
    expectRecordedLosses(result);
  }, 180_000);

  it('trains with WebAssembly on one thread where it is not', async () => {
    const result = await train('cpu', false);
    expect(result).toMatchObject({ isolated: false, sharedHeap: false, workers: 0 });
    expectRecordedLosses(result);
  }, 180_000);

  it('trains through navigator.gpu, for which more is loaded', async () => {
    const result = await train('wgpu', true);
    expectRecordedLosses(result);
    const onCpu = await train('cpu', true);
    expect(result.scriptBytes).toBeGreaterThan(onCpu.scriptBytes);
  }, 180_000);
});
