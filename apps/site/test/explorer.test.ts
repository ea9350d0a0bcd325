/**
 * @file The explorer in a browser: five programs, every stage, what is selected shows everywhere, and large graphs.
 * A full run leaves pictures of all stages in the folder of results.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullTests } from '../../../tooling/full-tests.js';
import { EXAMPLES } from '../src/explorer/examples.js';
import { toFragment } from '../src/explorer/share.js';
import { launchBrowser, withoutBrowser } from './support/browser.js';
import { type SiteServer, serveSite } from './support/serve-site.js';

const SCREENSHOTS = fileURLToPath(new URL('../.test-results/screenshots/', import.meta.url));

/** Milliseconds between an event and the picture that answers it. */
const MOST_MS = 100;

const TABS = [
  'Captured',
  'Picture',
  'Joint',
  'Passes',
  'Forward, backward',
  'Loops',
  'Schedule',
  'Code',
  'Plan',
  'Guards',
  'Timeline',
  'Output',
];

const LARGE = `import { compile } from '@tessera/compile';
import { type Tensor, ones } from '@tessera/tensor';

const long = compile((x: Tensor): Tensor => {
  let y = x;
  for (let i = 0; i < 5000; i++) y = i % 2 === 0 ? y.sin() : y.mul(0.5);
  return y;
}, { backend: 'eager' });
long(ones([2]));
`;

describe.skipIf(withoutBrowser)('the explorer', () => {
  let browser: Browser;
  let server: SiteServer;

  beforeAll(async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    browser = await launchBrowser();
    server = await serveSite();
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
  });

  /** A page with a program that has run. */
  async function explored(source: string): Promise<Page> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${server.url}explorer.html${await toFragment(source)}`);
    await page.waitForFunction(
      () => /kernel\(s\)|Stopped|rror/.test(document.getElementById('state')!.textContent!),
      undefined,
      { timeout: 90_000 },
    );
    return page;
  }

  async function stage(page: Page, name: string): Promise<string> {
    await page.click(`[role=tab]:text-is("${name}")`);
    return (await page.textContent('#view'))!;
  }

  for (const { name, source } of EXAMPLES)
    it(`shows every stage of: ${name}`, async () => {
      const page = await explored(source);
      expect(await page.textContent('#state')).toMatch(/^\d+ captured, .* [1-9]\d* kernel\(s\)\.$/);
      for (const tab of TABS) {
        const text = await stage(page, tab);
        expect(text, tab).not.toBe('');
        expect(text, tab).not.toContain('compiled nothing');
        const file = `${name} ${tab}`.toLowerCase().replaceAll(/\W+/g, '-');
        if (tab === 'Picture') await page.waitForSelector('.graph-view[data-boxes]');
        if (fullTests) await page.screenshot({ path: `${SCREENSHOTS}${file}.png` });
      }
      await page.close();
    }, 120_000);

  it('links a line of the program with its nodes and kernels, and back', async () => {
    const softmax = EXAMPLES.find(({ name }) => name === 'Softmax')!;
    const page = await explored(softmax.source);
    const powers = softmax.source.split('\n').findIndex((line) => line.includes('.exp()')) + 1;
    const marked = (): Promise<string[]> => page.locator('#view .linked').allTextContents();

    await page.click(`.cm-line:nth-child(${powers})`);
    expect((await marked()).join()).toMatch(/^\s*const exp = aten\.exp/);
    for (const view of ['Loops', 'Schedule', 'Code']) {
      await stage(page, view);
      expect(await marked(), view).toHaveLength(1);
    }

    await stage(page, 'Captured');
    await page.click('#view .line:has-text("aten.amax")');
    expect(await page.locator('.cm-linked').allTextContents()).toEqual([
      expect.stringContaining('x.amax('),
    ]);
    for (const view of ['Loops', 'Schedule', 'Code']) {
      await page.click('.cm-line:nth-child(1)');
      await stage(page, view);
      await page.click('#view h3.kernel');
      const lines = await page.locator('.cm-linked').allTextContents();
      expect(lines.join('\n'), view).toContain('shifted.exp()');
    }
    await page.close();
  }, 120_000);

  it('shows for each device how a kernel runs there, and the code that is made of it', async () => {
    const page = await explored(EXAMPLES.find(({ name }) => name === 'Softmax')!.source);
    const blocks = async (view: string): Promise<string[]> => {
      await stage(page, view);
      const texts = await page.locator('#view details').allTextContents();
      return texts.map((text) => text.replaceAll(/\s+/g, ' '));
    };
    expect(await blocks('Schedule')).toEqual([
      expect.stringMatching(/^WebAssembly ?scheduled fused/),
      expect.stringMatching(/^WGSL ?scheduled fused\w* grid group: .*accumulator/),
    ]);
    expect(await blocks('Code')).toEqual([
      expect.stringMatching(/^WebAssembly.*\(func /),
      expect.stringMatching(/^WGSL.*@compute/),
    ]);
    await page.close();
  }, 120_000);

  it('links backward nodes with the line of the forward pass', async () => {
    const page = await explored(EXAMPLES.find(({ name }) => name === 'Attention')!.source);
    await page.click('.cm-line:has-text("weights.matmul")');
    await stage(page, 'Forward, backward');
    const sections = page.locator('#view section');
    expect(await sections.count()).toBe(2);
    expect(await sections.nth(1).locator('.linked').count()).toBeGreaterThan(0);
    await page.close();
  }, 120_000);

  it('says in words where a graph breaks and why it was recorded again', async () => {
    const page = await explored(EXAMPLES.at(-1)!.source);
    const text = await stage(page, 'Guards');
    expect(text).toMatch(/GB0001 in line 6: .*value/);
    expect(text).toMatch(/dtype/);
    await page.click('#view [data-lines]:has-text("GB0001")');
    expect(await page.textContent('.cm-linked')).toContain('norm.item()');
    await page.close();
  }, 120_000);

  it('shares a program by an address', async () => {
    const shared = `${EXAMPLES[0]!.source}// shared\n`;
    const page = await explored(EXAMPLES[0]!.source);
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('// shared\n');
    await page.click('#share');
    await page.waitForFunction(() => location.hash !== '');
    await page.waitForFunction(() => /link/.test(document.getElementById('state')!.textContent!));
    const other = await browser.newPage();
    await other.goto(page.url());
    const lines = await other.locator('.cm-line').allTextContents();
    expect(lines.join('\n')).toBe(shared);
    expect(await other.locator('#examples option:checked').textContent()).toBe('Your program');
    await Promise.all([page.close(), other.close()]);
  }, 120_000);

  it('shows what a program throws, and goes on after one that does not end', async () => {
    const page = await explored(`throw new RangeError('on purpose');`);
    expect(await page.textContent('#state')).toContain('RangeError: on purpose');
    await page.close();
  }, 60_000);

  it('stays usable with 5,000 nodes', async () => {
    const page = await explored(LARGE.replace(", { backend: 'eager' }", ''));
    await stage(page, 'Picture');
    await page.waitForSelector('.graph-view[data-boxes]', { timeout: 60_000 });
    const [first] = await page.locator('.graph-view canvas').all();
    expect(await first!.getAttribute('aria-label')).toMatch(/50\d\d nodes in \d{1,3} boxes/);
    const times = await first!.evaluate(async (canvas) => {
      const taken: number[] = [];
      for (let i = 0; i < 20; i++) {
        const start = performance.now();
        const key = i % 4 === 0 ? '-' : 'ArrowDown';
        canvas.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        taken.push(performance.now() - start);
      }
      return taken.sort((a, b) => a - b);
    });
    console.log(
      `5,000 nodes: median ${times[10]!.toFixed(1)} ms, worst ${times.at(-1)!.toFixed(1)} ms`,
    );
    expect(times[10]).toBeLessThan(MOST_MS);
    await page.close();
  }, 180_000);

  it('fits a phone, and its tabs are used with the keyboard', async () => {
    const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
    await page.goto(`${server.url}explorer.html`);
    await page.waitForFunction(() =>
      document.getElementById('state')!.textContent!.includes('kernel'),
    );
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      360,
    );
    await page.focus('[role=tab][aria-selected=true]');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await page.textContent('[role=tab][aria-selected=true]')).toBe('Joint');
    await page.close();
  }, 60_000);
});
