/**
 * @file The programs of the gallery in a browser: they learn, and what they learned can be seen.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MODELS } from '../src/build/gallery-pages.js';
import { textOf } from '../src/build/repository-files.js';
import { launchBrowser, withoutBrowser } from './support/browser.js';
import { type SiteServer, serveSite } from './support/serve-site.js';

/** Lines that the code of a program may have. */
const MOST_LINES = 150;

it.each(MODELS)('%s is short', (file) => {
  expect(textOf(file).split('\n').length).toBeLessThanOrEqual(MOST_LINES);
});

describe.skipIf(withoutBrowser)('the gallery', () => {
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

  async function open(path: string): Promise<{ page: Page; errors: string[] }> {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    await page.goto(server.url + path);
    return { page, errors };
  }

  /** Waits until the state of the page says so. */
  async function says(page: Page, pattern: RegExp): Promise<string> {
    await page.waitForFunction(
      (source) => new RegExp(source).test(document.getElementById('state')!.textContent!),
      pattern.source,
      { timeout: 90_000 },
    );
    return (await page.textContent('#state'))!;
  }

  it('reads what is drawn with the keyboard, and learns what it is told', async () => {
    const { page, errors } = await open('gallery/digits.html');
    await page.click('#learn');
    const [, read] = /Reads ([\d.]+) %/.exec(await says(page, /Draw one/))!;
    expect(Number(read)).toBeGreaterThan(85);
    // A one: a line from the top to the bottom.
    await page.focus('#pad');
    await page.keyboard.press('Space');
    for (let i = 0; i < 24; i++) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await says(page, /It reads a \d/);
    // Told that it is a seven, it reads a seven, and knows the others still.
    await page.click('#answers button:nth-of-type(8)');
    const [, rest] = /It reads a 7 .* unseen digits, ([\d.]+) %/.exec(await says(page, /unseen/))!;
    expect(Number(rest)).toBeGreaterThan(80);
    expect(errors).toEqual([]);
    await page.close();
  }, 120_000);

  it('draws with a pointer and clears', async () => {
    const { page } = await open('gallery/digits.html');
    const box = (await page.locator('#pad').boundingBox())!;
    const dark = (): Promise<number> =>
      page.evaluate(() => {
        const canvas = document.getElementById('pad') as HTMLCanvasElement;
        const { data } = canvas.getContext('2d')!.getImageData(0, 0, 32, 32);
        return data.filter((value, i) => i % 4 === 3 && value === 255).length;
      });
    await page.mouse.move(box.x + 40, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + 120, box.y + 120, { steps: 20 });
    await page.mouse.up();
    expect(await dark()).toBeGreaterThan(40);
    await page.click('#clear');
    expect(await dark()).toBeLessThan(2);
    await page.close();
  }, 60_000);

  it('learns a pasted text and writes like it', async () => {
    const { page, errors } = await open('gallery/text.html');
    await page.fill('#text', 'the cat sat on the mat. '.repeat(40));
    await page.fill('#start', 'the ');
    await page.click('#learn');
    await says(page, /300 steps learned/);
    await page.click('#write');
    await says(page, /characters written/);
    const written = (await page.textContent('#written'))!;
    expect(written.length).toBe(304);
    expect(written).toContain('the cat sat on the mat. the cat');
    expect(errors).toEqual([]);
    await page.close();
  }, 120_000);

  it('makes the points of a shape out of noise', async () => {
    const { page, errors } = await open('gallery/points.html');
    await page.selectOption('#shape', 'star');
    await page.click('#learn');
    await says(page, /Learned/);
    await page.click('#make');
    const [, far] = /noise, ([\d.]+) from the shape/.exec(await says(page, /out of noise/))!;
    // Noise alone is 0.5 from it on average.
    expect(Number(far)).toBeLessThan(0.2);
    expect(errors).toEqual([]);
    await page.close();
  }, 120_000);
});
