/**
 * @file Opens a page of the tests in headless Chromium with WebGPU on SwiftShader, and waits for what it leaves.
 */
import { env } from 'node:process';
import { chromium } from 'playwright-core';
import { findChromium } from '../../../../tooling/find-chromium.mjs';
import { bundlePage, servePage } from './serve-page.js';

/** The browser; null where there is none and none is required. */
export const executablePath: string | null = findChromium();
if (executablePath === null && env.TESSERA_REQUIRE_WEBGPU === '1')
  throw new Error('no chromium: set CHROMIUM_PATH');

/** What a page left in `tesseraResult`. */
export async function openPage(page: string, query: string): Promise<unknown> {
  await using server = await servePage(await bundlePage(page), true, page);
  const browser = await chromium.launch({
    executablePath: executablePath!,
    args: ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'],
  });
  try {
    const opened = await browser.newPage();
    await opened.goto(`${server.url}${query}`, { timeout: 120_000 });
    await opened.waitForFunction(() => 'tesseraResult' in globalThis, undefined, { timeout: 0 });
    return await opened.evaluate(
      () => (globalThis as unknown as { tesseraResult: unknown }).tesseraResult,
    );
  } finally {
    await browser.close();
  }
}
