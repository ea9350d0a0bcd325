/**
 * @file The command shows a debug folder of the tiny-GPT example in a browser.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '../../../tooling/find-chromium.mjs';
import { buildCommand, bundle } from './support/build-command.js';
import { type RunningCommand, explore } from './support/run-command.js';

const executablePath = findChromium();
if (executablePath === null) {
  if (process.env.TESSERA_REQUIRE_WEBGPU === '1') throw new Error('no chromium: set CHROMIUM_PATH');
  console.warn('The browser test of the command did not run: no chromium (CHROMIUM_PATH, PATH).');
}

const example = fileURLToPath(new URL('../../../examples/tiny-gpt/', import.meta.url));

/** A debug folder of a few compiled steps of the example. */
async function trainedFolder(scratch: string): Promise<string> {
  const program = fileURLToPath(new URL('../.test-results/tiny-gpt/src/main.mjs', import.meta.url));
  await bundle(join(example, 'src/main.ts'), program);
  const folder = join(scratch, 'debug');
  const text = join(example, 'data/text.txt');
  execFileSync(
    process.execPath,
    ['--enable-source-maps', program, '--compile', '--steps=3', '--characters=4', '--text', text],
    { env: { ...process.env, TESSERA_DEBUG_DIR: folder }, stdio: 'ignore' },
  );
  return folder;
}

describe.skipIf(executablePath === null)('npx @tessera/cli explore', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'tessera-explore-'));
  let browser: Browser;
  let command: RunningCommand;
  let built: string;

  beforeAll(async () => {
    const [program, folder] = await Promise.all([buildCommand(), trainedFolder(scratch)]);
    built = program;
    command = await explore(program, folder);
    browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] });
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    await command?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true });
  });

  it('shows graphs, passes, kernels, guards and times, linked to the lines of the program', async () => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    const errors: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    page.on('pageerror', (error) => errors.push(String(error)));
    await page.goto(command.url);
    await page.waitForFunction(() =>
      document.getElementById('state')!.textContent!.includes('kernel(s)'),
    );
    const stage = async (name: string): Promise<string> => {
      await page.click(`[role=tab]:text-is("${name}")`);
      return (await page.textContent('#view'))!;
    };
    expect(await page.locator('#compilations option').allTextContents()).toContain('compile-000');
    expect(await stage('Captured')).toContain('aten.embedding');
    // The step calls backward() itself, so that forward and backward are one graph.
    expect(await stage('Joint')).toContain('No graph has a backward pass');
    expect(await stage('Passes')).toMatch(/line\(s\) changed/);
    expect(await stage('Forward, backward')).toContain('aten.');
    expect(await stage('Plan')).toContain('launch');
    expect(await stage('Guards')).toContain("L['x']: TENSOR_MATCH");
    expect(await stage('Timeline')).toContain('joint graph');
    await stage('Picture');
    await page.waitForSelector('.graph-view[data-boxes]');

    // Lines are those of the example's sources, and lead to kernels.
    expect(await page.textContent('#editor')).toContain('examples/tiny-gpt/src/model.ts');
    expect(await stage('Schedule')).toMatch(/WebAssembly\s*scheduled /);
    expect(await stage('Code')).toContain('WebAssembly');
    await page.click('#view h3.kernel >> nth=0');
    expect(await page.locator('.cm-linked').count()).toBeGreaterThan(0);
    expect(errors).toEqual([]);
    await page.close();
  }, 60_000);

  it('shows the timeline of a trace', async () => {
    const trace = join(scratch, 'trace.json');
    const events = ['mul', 'add'].map((name, i) => ({
      ph: 'X',
      name,
      cat: 'forward',
      ts: i * 10,
      dur: 5,
    }));
    writeFileSync(trace, JSON.stringify({ traceEvents: events }));
    await using shown = await explore(built, trace);
    const page = await browser.newPage();
    await page.goto(shown.url);
    await page.waitForSelector('.timeline');
    expect(await page.locator('.timeline rect').count()).toBe(2);
    expect(await page.textContent('#state')).toBe('2 event(s).');
    expect(await page.textContent('[role=tab][aria-selected=true]')).toBe('Timeline');
    await page.close();
  }, 60_000);
});
