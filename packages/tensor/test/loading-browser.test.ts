/**
 * @file Loading in Chromium: relative addresses, the private file system as a cache, answers of other origins.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { env } from 'node:process';
import { build } from 'esbuild';
import { type Browser, type Page, chromium } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ones, serializeSafetensors } from '../src/index.js';
import { type FileServer, serveFiles } from './support/file-server.js';
import { findChromium } from '../../../tooling/find-chromium.mjs';
import type { LoadRequest, LoadResult } from './support/loading-page.js';

const executablePath = findChromium();
if (executablePath === null) {
  if (env.TESSERA_REQUIRE_WEBGPU === '1') throw new Error('no chromium: set CHROMIUM_PATH');
  console.warn('The browser tests did not run: no chromium was found (CHROMIUM_PATH, PATH).');
}

const COUNT = 400_000;
const bytes = serializeSafetensors({
  a: ones([COUNT]).mul(2),
  b: ones([COUNT]).mul(3),
  c: ones([4]),
});
const sums = { a: 2 * COUNT, b: 3 * COUNT, c: 4 };

interface PageGlobals {
  tesseraLoad: (request: LoadRequest) => Promise<LoadResult>;
  tesseraWorker: (request: LoadRequest) => Promise<LoadResult>;
  tesseraSave: () => Promise<{ names: string[]; average: unknown; error: string }>;
}

const HTML = `<!doctype html><script type="module" src="/page.js"></script><script>
  const worker = new Worker('/scripts/worker.js');
  globalThis.tesseraWorker = (request) => new Promise((done, failed) => {
    worker.onmessage = (event) => done(event.data);
    worker.onerror = (event) => failed(new Error(event.message));
    worker.postMessage(request);
  });
</script>`;

async function bundle(format: 'esm' | 'iife'): Promise<Uint8Array> {
  const result = await build({
    entryPoints: [fileURLToPath(new URL('./support/loading-page.ts', import.meta.url))],
    bundle: true,
    write: false,
    format,
    platform: 'browser',
    conditions: ['@tessera/source'],
    logLevel: 'silent',
  });
  return result.outputFiles[0]!.contents;
}

describe.skipIf(executablePath === null)('in a browser', () => {
  let browser: Browser;
  let server: FileServer;
  let other: FileServer;
  let page: Page;

  beforeAll(async () => {
    server = await serveFiles();
    other = await serveFiles();
    const script = { headers: { 'content-type': 'text/javascript' } };
    server.files.set('/page.js', { bytes: await bundle('esm'), ...script });
    server.files.set('/scripts/worker.js', { bytes: await bundle('iife'), ...script });
    server.files.set('/pages/index.html', {
      bytes: new TextEncoder().encode(HTML),
      headers: { 'content-type': 'text/html' },
    });
    browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] });
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    await other?.[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    page = await browser.newPage();
    await page.goto(`${server.url}/pages/index.html`);
    await page.waitForFunction(() => 'tesseraLoad' in globalThis);
    server.seen.length = 0;
    other.seen.length = 0;
  }, 60_000);
  afterEach(() => page.close());

  const inPage = (request: LoadRequest): Promise<LoadResult> =>
    page.evaluate((r) => (globalThis as unknown as PageGlobals).tesseraLoad(r), request);
  const inWorker = (request: LoadRequest): Promise<LoadResult> =>
    page.evaluate((r) => (globalThis as unknown as PageGlobals).tesseraWorker(r), request);
  const statuses = (): number[] => server.seen.map(({ status }) => status);

  it('resolves relative addresses against the page and against the worker', async () => {
    server.files.set('/pages/models/m.safetensors', { bytes });
    server.files.set('/scripts/models/m.safetensors', { bytes });
    expect(await inPage({ source: 'models/m.safetensors' })).toMatchObject({ sums, error: null });
    expect(await inWorker({ source: 'models/m.safetensors' })).toMatchObject({ sums, error: null });
    expect(await inWorker({ source: '/pages/models/m.safetensors' })).toMatchObject({ sums });
    expect(server.seen.map(({ path }) => path)).toEqual([
      '/pages/models/m.safetensors',
      '/scripts/models/m.safetensors',
      '/pages/models/m.safetensors',
    ]);
    const { error } = await inPage({ source: 'file:///etc/hostname' });
    expect(error).toContain('there is no file system here');
  }, 60_000);

  it.each([
    ['a page', inPage, undefined],
    ['a worker', inWorker, undefined],
    ['a worker without createWritable', inWorker, 'hide-writable'],
  ] as const)(
    'keeps downloads in the private file system: %s',
    async (_where, load, hide) => {
      server.files.set('/m.safetensors', { bytes, etag: '"1"' });
      const request: LoadRequest = { source: '/m.safetensors', options: { cache: true } };
      if (hide !== undefined) await load({ ...request, first: hide });
      server.seen.length = 0;
      expect(await load({ ...request, first: 'clear' })).toMatchObject({ sums, error: null });
      // Chromium asks with its own cache out of the way when we name a tag.
      expect(await load(request)).toMatchObject({ sums, error: null, leftBytes: 0 });
      expect(await inPage(request)).toMatchObject({ sums, error: null });
      expect(statuses()).toEqual([200, 304, 304]);
      server.files.set('/m.safetensors', {
        bytes: serializeSafetensors({ z: ones([3]).mul(5) }),
        etag: '"2"',
      });
      expect(await load(request)).toMatchObject({ sums: { z: 15 } });
      expect(await load(request)).toMatchObject({ sums: { z: 15 } });
      expect(statuses().slice(3)).toEqual([200, 304]);
    },
    60_000,
  );

  it('keeps nothing of a load that is aborted, and releases what it had', async () => {
    server.files.set('/m.safetensors', { bytes, etag: '"1"' });
    const options = { cache: true, abortAfter: 2_000_000 };
    const result = await inPage({ source: '/m.safetensors', options, first: 'clear' });
    expect(result.error).toContain('AbortError');
    expect(result.leftBytes).toBe(0);
    server.seen.length = 0;
    await inPage({ source: '/m.safetensors', options: { cache: true } });
    expect(server.seen[0]!.headers['if-none-match']).toBeUndefined();
  }, 60_000);

  it('fetches a kept file again that was damaged', async () => {
    server.files.set('/m.safetensors', { bytes, etag: '"1"' });
    const request: LoadRequest = { source: '/m.safetensors', options: { cache: true } };
    await inPage({ ...request, first: 'clear' });
    await page.evaluate(async () => {
      type Folder = FileSystemDirectoryHandle & { values(): AsyncIterable<FileSystemFileHandle> };
      const root = await navigator.storage.getDirectory();
      const tessera = await root.getDirectoryHandle('tessera');
      const folder = (await tessera.getDirectoryHandle('checkpoints')) as Folder;
      for await (const file of folder.values()) {
        const writable = await file.createWritable({ keepExistingData: true });
        await writable.write({ type: 'write', position: 1_500_000, data: new Uint8Array([1, 2]) });
        await writable.close();
      }
    });
    server.seen.length = 0;
    expect(await inPage(request)).toMatchObject({ sums, error: null, leftBytes: 0 });
    expect(statuses()).toEqual([304, 200]);
  }, 60_000);

  it('reads compressed answers of another origin, whose Content-Encoding is hidden', async () => {
    const headers = { 'access-control-allow-origin': '*' };
    other.files.set('/m.safetensors', { bytes, gzip: true, headers });
    const source = `${other.url}/m.safetensors`;
    const result = await inPage({ source });
    expect(result).toMatchObject({ sums, error: null });
    // Not the length of the compressed body: none at first, then what the header says.
    expect(result.totals).toEqual([null, bytes.length]);
    const uncompressed = await inPage({ source, options: { keys: ['b'] } });
    expect(uncompressed).toMatchObject({ sums: { b: sums.b }, error: null });
  }, 60_000);

  it('asks another origin for parts without asking it for permission', async () => {
    const headers = { 'access-control-allow-origin': '*' };
    const source = `${other.url}/m.safetensors`;
    for (const shown of ['', 'content-range, etag']) {
      other.seen.length = 0;
      other.files.set('/m.safetensors', {
        bytes,
        ranges: true,
        etag: '"1"',
        // Else Chromium asks about parts that it has from the round before.
        headers: {
          ...headers,
          'access-control-expose-headers': shown,
          'cache-control': 'no-store',
        },
      });
      const result = await inPage({ source, options: { keys: ['b'] } });
      expect(result).toMatchObject({ sums: { b: sums.b }, error: null });
      expect(other.seen.map(({ method, status }) => [method, status])).toEqual([
        ['GET', 206],
        ['GET', 206],
      ]);
    }
  }, 60_000);

  it('keeps downloads of another origin by what it shows of them', async () => {
    const headers = { 'access-control-allow-origin': '*' };
    const lastModified = 'Sun, 22 Nov 2026 10:00:00 GMT';
    other.files.set('/m.safetensors', { bytes, lastModified, headers });
    const request: LoadRequest = { source: `${other.url}/m.safetensors`, options: { cache: true } };
    expect(await inPage({ ...request, first: 'clear' })).toMatchObject({ sums });
    other.files.get('/m.safetensors')!.stallAt = 1000;
    expect(await inPage(request)).toMatchObject({ sums, error: null });
    expect(other.seen.every(({ method }) => method === 'GET')).toBe(true);
  }, 60_000);

  it('reads files of PyTorch, with ranges of another origin or without', async () => {
    const file = readFileSync(new URL('./data/torch/views.pt', import.meta.url));
    const headers = { 'access-control-allow-origin': '*' };
    const options = { torch: true, keys: ['whole', 'row'] };
    for (const ranges of [true, false]) {
      other.files.set('/m.pt', { bytes: new Uint8Array(file), ranges, headers });
      const result = await inPage({ source: `${other.url}/m.pt`, options });
      expect(result).toMatchObject({ sums: { whole: 276, row: 87 }, error: null });
    }
  }, 60_000);

  it("saves an optimizer's state to the private file system, and refuses a path", async () => {
    const save = (): Promise<unknown> =>
      page.evaluate(() => (globalThis as unknown as PageGlobals).tesseraSave());
    expect(await save()).toEqual({
      names: ['paramGroups.0.lr', 'paramGroups.0.params.0', 'state.0.exp_avg', 'state.0.step'],
      average: [1, 2],
      error: expect.stringMatching(/no file system here to save to.*\n→ await serializeCheckpoint/),
    });
  }, 60_000);
});
