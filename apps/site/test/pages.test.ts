/**
 * @file The pages in a browser: accessible at both themes and widths, light to load, and the demo trains.
 */
import { readdirSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { COLOR_RULES, violations } from './support/axe.js';
import { launchBrowser, withoutBrowser } from './support/browser.js';
import { SITE } from './support/build-site.js';
import { type SiteServer, serveSite } from './support/serve-site.js';

/** Script that the start page may load before the demo is asked for, in bytes. */
const MOST_SCRIPT = 100_000;

/** Milliseconds from the click to the first compiled step of the demo. */
const MOST_FIRST_STEP = 2000;

/** All that were built. */
const PAGES = readdirSync(SITE, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.html'))
  .sort();

/** Whether the machine has nothing else to do, so that times say something of the page. */
const isIdle = (): boolean => loadavg()[0]! < 1.5 * availableParallelism();

const WIDTHS = { phone: 360, desktop: 1280 } as const;
const SCHEMES = ['light', 'dark'] as const;
/** Looks at all pages in all looks: half an hour on a small machine. */
const SEES_ALL = process.env['TESSERA_EVERY_PAGE'] === '1';

/** Pages that two templates make, and those of them that this run looks at, in looks that take turns. */
const MADE = PAGES.filter((path) => /^(errors|reference)/.test(path));
const SEEN = new Set(sampled(MADE, 10));

/** Themes in which a page is seen at a width. */
function schemesOf(path: string, width: number): readonly (typeof SCHEMES)[number][] {
  const at = MADE.indexOf(path);
  if (SEES_ALL || at < 0) return SCHEMES;
  return SEEN.has(path) && at % 2 === width ? [SCHEMES[Math.floor(at / 2) % 2]!] : [];
}

describe.skipIf(withoutBrowser)('the pages', () => {
  let browser: Browser;
  let server: SiteServer;

  beforeAll(async () => {
    browser = await launchBrowser();
    server = await serveSite();
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
  });

  for (const [at, [name, width]] of Object.entries(WIDTHS).entries())
    it(`pass axe in both themes on a ${name}, and fit its width (${sampleName})`, async () => {
      const page = await browser.newPage({ viewport: { width, height: 800 } });
      for (const path of PAGES) {
        for (const [i, colorScheme] of schemesOf(path, at).entries()) {
          await page.emulateMedia({ colorScheme });
          if (i === 0) await page.goto(server.url + path);
          const found = await violations(page, i === 0 ? undefined : COLOR_RULES);
          expect(found, `${path}, ${colorScheme}`).toEqual([]);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          expect(wide, `${path} scrolls sideways`).toBeLessThanOrEqual(width);
        }
      }
      await page.close();
      expect(server.missing).toEqual([]);
    }, 900_000);

  it('switches the theme with the keyboard, and keeps it', async () => {
    const page = await browser.newPage({ colorScheme: 'light' });
    await page.goto(server.url);
    const paper = (): Promise<string> =>
      page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.focus('#theme');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    expect(await page.getAttribute('#theme', 'aria-label')).toBe('Theme: dark');
    expect(await paper()).not.toBe(light);
    await page.goto(`${server.url}guides/memory.html`);
    expect(await page.getAttribute('html', 'data-theme')).toBe('dark');
    await page.close();
  }, 60_000);

  it('finds names in the reference without a server', async () => {
    const page = await browser.newPage();
    await page.goto(`${server.url}reference/index.html`);
    await page.fill('#search', 'layernorm');
    await page.waitForSelector('#results a');
    expect(await page.textContent('#results li')).toContain('LayerNorm');
    await page.click('#results a');
    await page.waitForURL(/reference\/nn.*\.html#class-layernorm/);
    expect(await page.textContent(`section:target h2`)).toContain('LayerNorm');
    await page.close();
  }, 60_000);

  it('trains on the start page, which loads little until then', async () => {
    server.scriptBytes = 0;
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    await page.goto(server.url, { waitUntil: 'networkidle' });
    expect(server.scriptBytes).toBeLessThan(MOST_SCRIPT);
    const order = page.evaluate(
      () =>
        new Promise<string[]>((resolve) => {
          const seen: string[] = [];
          const state = document.getElementById('train-state')!;
          new MutationObserver(() => {
            const text = state.textContent!.replace(/\d[\d,]*/g, 'N');
            if (seen.at(-1) !== text) seen.push(text);
            if (text.startsWith('Done')) resolve(seen);
          }).observe(state, { childList: true, characterData: true, subtree: true });
        }),
    );
    const wasIdle = isIdle();
    await page.click('#train');
    expect(await order).toEqual([
      'Loading the compiler…',
      'Compiling a step of N parameters…',
      'Training…',
      'Done: N graph, N kernels.',
    ]);
    expect(errors).toEqual([]);
    const figures = (await page.textContent('#train-figures'))!;
    const [, read] = /unseen digits read([\d.]+)/.exec(figures)!;
    expect(Number(read)).toBeGreaterThan(85);
    expect(await page.locator('#train-digits li').count()).toBe(24);
    expect(await page.locator('#train-chart canvas').count()).toBe(1);
    const first = await page.getAttribute('html', 'data-first-step-ms');
    console.log(`first compiled step ${first} ms after the click; ${figures}`);
    expect(Number(first)).toBeGreaterThan(0);
    if (wasIdle) expect(Number(first)).toBeLessThan(MOST_FIRST_STEP);
    expect(await violations(page)).toEqual([]);
    await page.close();
  }, 120_000);
});
