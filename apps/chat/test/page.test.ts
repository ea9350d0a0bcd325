/**
 * @file The page in a browser, with a tiny model from an address and from a chosen folder.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { manualSeed } from '@tessera/tensor';
import { CausalLM, TextGenerator, readConfig, saveCausalLM } from '@tessera/transformers';
import { type Browser, type Page, chromium } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '../../../tooling/find-chromium.mjs';
import { Chat } from '../src/chat.js';
import { ggufVocabulary } from '../src/gguf-vocabulary.js';
import { Vocabulary } from '../src/vocabulary.js';
import { CONFIG, METADATA } from './support/tiny-chat.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
};
const executablePath = findChromium();
if (executablePath === null) {
  if (env.TESSERA_REQUIRE_WEBGPU === '1') throw new Error('no chromium: set CHROMIUM_PATH');
  console.warn('The tests of the chat page did not run: no chromium (CHROMIUM_PATH, PATH).');
}

describe.skipIf(executablePath === null)('the chat page', () => {
  // The page, with the model beside it.
  const site = mkdtempSync(join(tmpdir(), 'tessera-chat-page-'));
  const folder = join(site, 'model');
  let browser: Browser;
  let server: Server;
  let url: string;
  let expected: string;

  beforeAll(async () => {
    const configFile = fileURLToPath(new URL('../vite.config.ts', import.meta.url));
    await build({ configFile, build: { outDir: site, emptyOutDir: true, minify: false } });
    manualSeed(3);
    const model = new CausalLM(readConfig(CONFIG)).eval();
    await saveCausalLM(model, folder, CONFIG);
    const { tokenizer, config } = ggufVocabulary(METADATA);
    writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
    writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
    const chat = new Chat(
      new TextGenerator(model, { maxLength: 128, compile: false }),
      new Vocabulary({ tokenizer, config }),
      { temperature: 0, maxNewTokens: 6 },
    );
    const pieces: string[] = [];
    for await (const piece of chat.answer('hello there')) pieces.push(piece);
    expected = pieces.join('');
    server = createServer(async (request, response) => {
      const file = join(site, new URL(request.url!, 'http://page').pathname);
      const bytes = await readFile(file).catch(() => null);
      if (bytes === null) return void response.writeHead(404).end();
      response.setHeader('Content-Type', TYPES[extname(file)] ?? 'application/octet-stream');
      response.end(bytes);
    });
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/index.html`;
    browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] });
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    await new Promise((closed) => server?.close(closed));
    rmSync(site, { recursive: true });
  });

  async function open(colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
    const page = await browser.newPage({ colorScheme, viewport: { width: 360, height: 800 } });
    await page.goto(url);
    return page;
  }

  /** Waits until the state of the page says so, or that something failed. */
  async function says(page: Page, wanted: RegExp): Promise<void> {
    await page.waitForFunction(
      () => !/…$|^Loading/.test(document.getElementById('state')!.textContent!),
      undefined,
      { timeout: 180_000 },
    );
    expect(await page.textContent('#state')).toMatch(wanted);
  }

  /** Settings that make short answers without chance. */
  async function settle(page: Page, tokens: string): Promise<void> {
    await page.click('summary');
    await page.fill('#temperature', '0');
    await page.fill('#max-tokens', tokens);
  }

  const answerOf = (page: Page): Promise<string> =>
    page.evaluate(() => document.querySelector('#log .model:last-child')!.lastChild!.textContent!);

  it('answers with a model from an address, by the keyboard alone', async () => {
    const page = await open();
    await settle(page, '6');
    await page.focus('#url');
    await page.keyboard.type('model');
    await page.keyboard.press('Enter');
    await says(page, /^Ready: 1 layers/);
    // The message has the focus.
    await page.keyboard.type('hello there');
    await page.keyboard.press('Enter');
    await says(page, /^Answered/);
    expect(await answerOf(page)).toBe(expected);
    await page.close();
  }, 90_000);

  it('takes a chosen folder and rounds its weights; the same seed gives the same answer', async () => {
    const answers: string[] = [];
    for (let i = 0; i < 2; i++) {
      const page = await open();
      await settle(page, '8');
      await page.fill('#temperature', '1');
      await page.fill('#seed', '5');
      await page.selectOption('#quantize', '8');
      await page.setInputFiles('#folder', folder);
      await says(page, /^Ready/);
      await page.fill('#message', 'hello');
      await page.click('#send');
      await says(page, /^Answered/);
      answers.push(await answerOf(page));
      await page.close();
    }
    expect(answers[0]!.length).toBeGreaterThan(0);
    expect(answers[1]).toBe(answers[0]);
  }, 300_000);

  it('stops, and goes on', async () => {
    const page = await open();
    await settle(page, '100');
    await page.fill('#url', 'model');
    await page.press('#url', 'Enter');
    await says(page, /^Ready/);
    await page.fill('#message', 'hello');
    // Stops at the first piece.
    await page.evaluate(() => {
      const log = document.getElementById('log')!;
      const watch = new MutationObserver(() => {
        if (log.querySelector('.model')?.lastChild?.textContent === '') return;
        watch.disconnect();
        document.getElementById('stop')!.click();
      });
      watch.observe(log, { subtree: true, characterData: true });
    });
    await page.click('#send');
    // It says that it answered where all tokens came.
    await says(page, /^Stopped/);
    expect((await answerOf(page)).length).toBeGreaterThan(0);
    await page.fill('#max-tokens', '3');
    await page.fill('#message', 'and');
    await page.click('#send');
    await says(page, /^Answered/);
    await page.close();
  }, 90_000);

  it.each([
    ['nowhere', /no tokenizer.json in .*nowhere/],
    ['nothing.gguf', /nothing\.gguf/],
  ])('says what is wrong with %s', async (address, wanted) => {
    const page = await open();
    await page.fill('#url', address);
    await page.press('#url', 'Enter');
    await says(page, wanted);
    expect(await page.isDisabled('#send')).toBe(true);
    expect(await page.isEnabled('#url')).toBe(true);
    await page.close();
  });

  it.each(['light', 'dark'] as const)('passes axe and fits a phone, %s', async (scheme) => {
    const page = await open(scheme);
    await page.click('summary');
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
      type Found = { violations: { id: string; nodes: { html: string }[] }[] };
      const { axe } = globalThis as unknown as { axe: { run(): Promise<Found> } };
      const { violations } = await axe.run();
      return violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
    });
    expect(found).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      360,
    );
    await page.close();
  });
});
