/**
 * @file A GPT trained here lives on as a model like others, in Node and in Chromium: on the CPU, and in a full run
 * on WebGPU, which takes minutes without a GPU.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { findChromium } from '../../../tooling/find-chromium.mjs';
import { fullTests } from '../../../tooling/full-tests.js';
import { DEFAULT_TEXT, writeFolder } from '../src/files.js';
import { type Life, life } from './support/life.js';

const executablePath = findChromium();
if (executablePath === null) {
  if (env.TESSERA_REQUIRE_WEBGPU === '1') throw new Error('no chromium: set CHROMIUM_PATH');
  console.warn('The browser test did not run: no chromium was found (CHROMIUM_PATH, PATH).');
}

const first = readFileSync(DEFAULT_TEXT, 'utf8');
const second =
  'a boat on the sea, a bird in the tree, a bell on the wall, and a song for us all\n'.repeat(6);

const folder = mkdtempSync(join(tmpdir(), 'tiny-gpt-life-'));
afterAll(() => rmSync(folder, { recursive: true }));

function expectGood({ trained, perplexity, tuned, written, ...differences }: Life): void {
  expect(trained[1]).toBeLessThan(trained[0] - 0.5);
  expect(differences.loaded).toBeLessThan(1e-4);
  expect(differences.adapters).toBeLessThan(1e-5);
  expect(differences.merged).toBeLessThan(1e-3);
  expect(perplexity.float).toBeLessThan(25);
  expect(Math.abs(perplexity.int8 / perplexity.float - 1)).toBeLessThan(0.01);
  expect(Math.abs(perplexity.int4 / perplexity.float - 1)).toBeLessThan(0.1);
  expect(tuned[1]).toBeLessThan(0.7 * tuned[0]);
  expect(written).toHaveLength(20);
}

describe('a trained GPT', () => {
  it('is exported, loaded, quantized, tuned, merged and generated from: in Node', async () => {
    const at = (name: string): string => join(folder, name);
    const write = (name: string) => (file: string, content: string | Uint8Array<ArrayBuffer>) =>
      writeFolder(at(name), { [file]: content });
    expectGood(await life({ device: 'cpu', at, write }, first, second));
  }, 300_000);

  describe.skipIf(executablePath === null)('in Chromium', () => {
    it.each(fullTests ? (['cpu', 'wgpu'] as const) : (['cpu'] as const))(
      'does the same: %s',
      async (device) => {
        const bundle = await build({
          entryPoints: [fileURLToPath(new URL('./support/life-page.ts', import.meta.url))],
          bundle: true,
          write: false,
          format: 'esm',
          platform: 'browser',
          conditions: ['@tessera/source'],
          logLevel: 'silent',
        });
        const files = new Map<string, Buffer>([
          ['/', Buffer.from('<!doctype html><script type="module" src="/page.js"></script>')],
          ['/page.js', Buffer.from(bundle.outputFiles[0]!.contents)],
        ]);
        const server = createServer((request, response) => {
          void (async () => {
            if (request.method === 'PUT')
              files.set(request.url!, Buffer.concat(await request.toArray()));
            const file = files.get(request.url!);
            response.setHeader(
              'content-type',
              request.url!.endsWith('.js') ? 'text/javascript' : 'text/html',
            );
            response.writeHead(file === undefined ? 404 : 200).end(file);
          })();
        });
        await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
        const browser = await chromium.launch({
          executablePath: executablePath!,
          args: ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'],
        });
        try {
          const page = await browser.newPage();
          await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
          await page.waitForFunction(() => 'tesseraLife' in globalThis);
          const seen = await page.evaluate(
            (texts) =>
              (
                globalThis as unknown as { tesseraLife: (...args: string[]) => Promise<Life> }
              ).tesseraLife(...texts),
            [device, first, second],
          );
          expectGood(seen);
          expect([...files.keys()]).toContain('/files/adapter/adapter_config.json');
        } finally {
          await browser.close();
          server.close();
        }
      },
      420_000,
    );
  });
});
