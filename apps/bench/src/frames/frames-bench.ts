/**
 * @file `pnpm bench frames`: how long a page stands still while the first call of a transformer of six layers
 * compiles, plainly and with `warmup`, in headless Chromium with WebGPU on SwiftShader, as JSON.
 *
 * Every measurement has a browser of its own, where the compiler is cold. The longest blocks are explained by one more
 * run under the debugger's profiler, which makes everything somewhat slower.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { TesseraError } from '@tessera/shared';
import type { Browser, Page } from 'playwright-core';
import { findChromium } from '../../../../tooling/find-chromium.mjs';
import { median } from '../harness/statistics.js';
import type { FramesCase, PageResult } from './page.js';
import { type CpuProfile, type ExplainedBlock, explainBlocks } from './profile-blocks.js';

/** Name on the command line. */
export const FRAMES = 'frames';

/** One way to make the first call; medians, except where said otherwise. */
export interface FirstCall {
  readonly totalMs: number;
  /** The longest time in which no other task ran. */
  readonly longestBlockMs: number;
  /** The same in the worst run. */
  readonly worstBlockMs: number;
  /** Blocks of more than 8 ms. */
  readonly blocksOver8Ms: number;
  /** The longest time between two frames. */
  readonly longestFrameMs: number;
}

/** One program on one device. */
export interface FramesRow {
  readonly device: FramesCase['device'];
  readonly use: FramesCase['use'];
  readonly plain: FirstCall;
  readonly warmup: FirstCall & {
    /** Milliseconds of the function's own JavaScript, one block that nothing can cut. */
    readonly captureMs: number;
    /** The longest blocks and what they were in. */
    readonly where: readonly ExplainedBlock[];
  };
  /** Milliseconds of a second call: what of a first one is not compiling. */
  readonly secondMs: number;
}

/** See the file header. */
export interface FramesReport {
  readonly browser: string;
  readonly adapter: string | null;
  readonly layers: number;
  readonly rounds: number;
  readonly rows: readonly FramesRow[];
}

const FLAGS = ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'];

/** Long blocks that are explained. */
const BLOCKS_EXPLAINED = 10;

/** Measures what the arguments ask for. @throws invalid-argument */
export async function framesReport(argv: readonly string[]): Promise<FramesReport> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      device: { type: 'string', multiple: true, default: ['cpu', 'wgpu'] },
      use: { type: 'string', multiple: true, default: ['forward', 'training'] },
      rounds: { type: 'string', default: '3' },
      quick: { type: 'boolean', default: false },
    },
  });
  const layers = values.quick ? 1 : 6;
  const rounds = values.quick ? 1 : Number(values.rounds);
  const launched = await chromium();
  const { version } = launched;
  await using server = await servePage();
  const rows: FramesRow[] = [];
  let adapter: string | null = null;
  for (const device of values.device as FramesCase['device'][])
    for (const use of values.use as FramesCase['use'][]) {
      const of = { device, use, layers };
      const plain: PageResult[] = [];
      const warm: PageResult[] = [];
      const visit = async (call: FramesCase['call']): Promise<PageResult> =>
        launched.on((page) => answerOf(page, server.url, { ...of, call }));
      for (let round = 0; round < rounds; round++) {
        plain.push(await visit('plain'));
        warm.push(await visit('warmup'));
      }
      adapter ??= warm[0]!.adapter;
      const where = await launched.on((page) =>
        explained(page, server.url, { ...of, call: 'warmup' }),
      );
      const captureMs = median(warm.map((result) => result.captureMs));
      const secondMs = median(warm.map((result) => result.secondMs));
      const warmup = { ...firstCall(warm), captureMs, where };
      rows.push({ device, use, plain: firstCall(plain), warmup, secondMs });
    }
  return { browser: version, adapter, layers, rounds, rows };
}

function firstCall(results: readonly PageResult[]): FirstCall {
  const longest = results.map(({ blocks }) => blocks[0]?.ms ?? 0);
  return {
    totalMs: median(results.map(({ totalMs }) => totalMs)),
    longestBlockMs: median(longest),
    worstBlockMs: Math.max(...longest),
    blocksOver8Ms: median(results.map(({ blocks }) => blocks.filter(({ ms }) => ms > 8).length)),
    longestFrameMs: median(results.map(({ longestFrameMs }) => longestFrameMs)),
  };
}

/** Opens the page for a case and waits for what it saw. */
async function answerOf(page: Page, url: string, asked: FramesCase): Promise<PageResult> {
  const query = Object.entries(asked).map(([key, value]) => `${key}=${value}`);
  await page.goto(`${url}?${query.join('&')}`);
  await page.waitForFunction(() => 'tesseraResult' in globalThis, undefined, {
    timeout: 120_000,
    polling: 200,
  });
  const answer = (await page.evaluate(
    () => (globalThis as unknown as { tesseraResult: unknown }).tesseraResult,
  )) as PageResult | { readonly error: string };
  if ('error' in answer) throw new Error(answer.error);
  return answer;
}

/** The longest blocks of a case, and what they were in. */
async function explained(page: Page, url: string, asked: FramesCase): Promise<ExplainedBlock[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Profiler.enable');
  await session.send('Profiler.setSamplingInterval', { interval: 200 });
  await session.send('Profiler.start');
  const { blocks, calledAt } = await answerOf(page, url, asked);
  const { profile } = await session.send('Profiler.stop');
  await session.send('Performance.enable');
  const { metrics } = await session.send('Performance.getMetrics');
  const began = metrics.find(({ name }) => name === 'NavigationStart')!.value;
  const clock = { origin: 1000 * began, calledAt };
  return explainBlocks(profile as CpuProfile, blocks, clock).slice(0, BLOCKS_EXPLAINED);
}

interface Launched {
  readonly version: string;
  /** Does something with a page of a fresh browser. */
  on<R>(use: (page: Page) => Promise<R>): Promise<R>;
}

async function chromium(): Promise<Launched> {
  const executablePath = findChromium();
  if (executablePath === null)
    throw new TesseraError('invalid-argument', 'There is no Chromium to measure in.', {
      hints: ['Install it, or name it in CHROMIUM_PATH.'],
    });
  const { chromium: type } = await import('playwright-core');
  const launch = (): Promise<Browser> => type.launch({ executablePath, args: FLAGS });
  const browser = await launch();
  const version = browser.version();
  await browser.close();
  return {
    version,
    async on(use) {
      const fresh = await launch();
      try {
        return await use(await fresh.newPage());
      } finally {
        await fresh.close();
      }
    },
  };
}

/** Bundles the page, and serves it until it is disposed. */
async function servePage(): Promise<AsyncDisposable & { readonly url: string }> {
  const { build } = await import('esbuild');
  const isSource = import.meta.url.endsWith('.ts');
  const page = new URL(isSource ? './page.ts' : './frames-page.js', import.meta.url);
  const bundle = await build({
    entryPoints: [fileURLToPath(page)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: isSource ? ['@tessera/source'] : [],
    logLevel: 'silent',
  });
  const script = bundle.outputFiles[0]!.text;
  const server = createServer((request, response) => {
    // Clocks are exact to 5 µs in a page that is isolated, to 100 µs in others.
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    const isScript = request.url === '/page.js';
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
    response.end(
      isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>',
    );
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
