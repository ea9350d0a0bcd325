/**
 * The same package in a browser: a bundled page runs kernels through navigator.gpu.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { env } from 'node:process';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { findChromium } from '../../../tooling/find-chromium.mjs';
import type { BrowserResult } from './support/browser-page.js';

const executablePath = findChromium();
if (executablePath === null) {
  if (env.TESSERA_REQUIRE_WEBGPU === '1') throw new Error('no chromium: set CHROMIUM_PATH');
  console.warn('The browser test did not run: no chromium was found (CHROMIUM_PATH, PATH).');
}

async function servePage(): Promise<Server> {
  const bundle = await build({
    entryPoints: [fileURLToPath(new URL('./support/browser-page.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['@tessera/source'],
    logLevel: 'silent',
  });
  const script = bundle.outputFiles[0].text;
  const server = createServer((request, response) => {
    // Shared memory for the CPU heap needs an isolated page.
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    const isScript = request.url === '/page.js';
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
    response.end(
      isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>',
    );
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return server;
}

describe.skipIf(executablePath === null)('in a browser', () => {
  it('compiles and runs kernels through navigator.gpu', async () => {
    const server = await servePage();
    const browser = await chromium.launch({
      executablePath: executablePath!,
      args: ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'],
    });
    try {
      const page = await browser.newPage();
      const messages: string[] = [];
      page.on('pageerror', (error) => messages.push(String(error)));
      page.on('console', (message) => messages.push(message.text()));
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      await page.waitForFunction(() => 'tesseraResult' in globalThis, undefined, {
        timeout: 60_000,
      });
      const result = (await page.evaluate(
        () => (globalThis as unknown as { tesseraResult: unknown }).tesseraResult,
      )) as BrowserResult;
      expect(result.error, messages.join('\n')).toBe('');
      expect(result.adapterName).toContain('swiftshader');
      expect(result.softmaxError).toBeLessThan(1e-6);
      expect(result.matmulError).toBeLessThan(1e-4);
      expect(result.badKernel).toContain(`WebGPU rejected kernel 'broken'`);
    } finally {
      await browser.close();
      server.close();
    }
  }, 120_000);
});
