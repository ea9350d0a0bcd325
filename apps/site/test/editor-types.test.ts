/**
 * @file Types in the explorer's editor, in a browser: errors, hover, completion, and that the first result does not wait.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toFragment } from '../src/explorer/share.js';
import { violations } from './support/axe.js';
import { launchBrowser, withoutBrowser } from './support/browser.js';
import { type SiteServer, serveSite } from './support/serve-site.js';

const PROGRAM = `import { compile } from '@tessera/compile';
import { type Tensor, ones } from '@tessera/tensor';

const f = compile((x: Tensor): Tensor => x.softmax(-1));
f(ones([2, 3]));
const y: Tensor = f(ones([2, 3]));
`;

describe.skipIf(withoutBrowser)('types in the editor', () => {
  let browser: Browser;
  let server: SiteServer;
  let page: Page;

  beforeAll(async () => {
    browser = await launchBrowser();
    server = await serveSite();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    // When the first result was there.
    await page.addInitScript(() => {
      addEventListener('DOMContentLoaded', () => {
        const state = document.getElementById('state')!;
        new MutationObserver(() => {
          if (/kernel/.test(state.textContent!))
            document.body.dataset['seen'] ??= String(performance.now());
        }).observe(state, { childList: true });
      });
    });
    await page.goto(`${server.url}explorer.html${await toFragment(PROGRAM)}`);
    await page.waitForSelector('body[data-seen]', { timeout: 60_000 });
  }, 240_000);

  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
  });

  /** With a popup open, in both themes. */
  async function passesAxe(popup: string): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await page.locator(popup).count(), colorScheme).toBe(1);
      // Arrow keys move through the list of completions while the editor keeps the focus, which axe cannot know.
      const found = (await violations(page)).filter(
        (line) => !line.startsWith('scrollable-region-focusable: #cm-ac-'),
      );
      expect(found, colorScheme).toEqual([]);
    }
  }

  /** The middle of a word of the program. */
  const placeOf = (word: string): Promise<{ x: number; y: number }> =>
    page.evaluate((wanted) => {
      const texts = document.createTreeWalker(
        document.querySelector('.cm-content')!,
        NodeFilter.SHOW_TEXT,
      );
      const range = document.createRange();
      for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
        const at = node.textContent!.indexOf(wanted);
        if (at < 0) continue;
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        break;
      }
      const { x, y, width, height } = range.getBoundingClientRect();
      return { x: x + width / 2, y: y + height / 2 };
    }, word);

  it('show a declaration for the name that is pointed at', async () => {
    const { x, y } = await placeOf('softmax');
    const shown = page.locator('.type-hover');
    // The editor asks when the pointer rests; until the declarations are there, it rests somewhere else in between.
    for (let tries = 0; tries < 20 && (await shown.count()) === 0; tries++) {
      await page.mouse.move(x, y + 200);
      await page.mouse.move(x, y, { steps: 3 });
      await shown.waitFor({ timeout: 3000 }).catch(() => null);
    }
    expect(await shown.first().textContent()).toMatch(/softmax: \(dim/);
    await passesAxe('.type-hover');
  }, 90_000);

  it('show what is at the cursor by a key, until the cursor moves', async () => {
    await page.mouse.move(0, 0);
    await page.waitForSelector('.type-hover', { state: 'detached' });
    const { x, y } = await placeOf('softmax');
    await page.mouse.click(x, y);
    await page.mouse.move(0, 0);
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Control+i');
    await page.waitForSelector('.type-hover');
    expect(await page.textContent('.type-hover')).toMatch(/softmax: \(dim/);
    expect(await page.textContent('.cm-announced')).toMatch(/softmax: \(dim/);
    await passesAxe('.type-hover');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.type-hover', { state: 'detached' });
    // Behind a name is as good as in it; a place without a name is told.
    await page.keyboard.press('Control+ArrowRight');
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Control+i');
    await page.waitForSelector('.type-hover:has-text("softmax: (dim")');
    await page.keyboard.press('Home');
    await page.waitForSelector('.type-hover', { state: 'detached' });
    await page.click('.cm-line:nth-child(3)');
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Control+i');
    await page.waitForSelector('.type-hover:has-text("Nothing is known")');
    await page.keyboard.press('Escape');
  }, 60_000);

  it('were not asked for before the first result was there', async () => {
    const [seen, asked] = await page.evaluate(() => {
      const scripts = performance
        .getEntriesByType('resource')
        .filter(({ name }) => /type-/.test(name));
      return [
        Number(document.body.dataset['seen']),
        Math.min(...scripts.map((entry) => entry.startTime)),
      ];
    });
    expect(asked).toBeLessThan(Infinity);
    expect(asked).toBeGreaterThan(seen!);
    expect(server.missing).toEqual([]);
  });

  it('list members to choose from, and mark what is wrong', async () => {
    await page.click('.cm-line:nth-child(6)');
    await page.keyboard.press('End');
    await page.keyboard.type('\ny.so', { delay: 30 });
    await page.waitForSelector('.cm-tooltip-autocomplete', { timeout: 20_000 });
    expect(await page.locator('.cm-completionLabel').allTextContents()).toContain('softmax');
    await passesAxe('.cm-tooltip-autocomplete');
    await page.keyboard.press('Escape');
    await page.keyboard.type('Such();', { delay: 30 });
    await page.waitForSelector('.cm-lintRange-error:text-is("soSuch")', { timeout: 20_000 });
  }, 60_000);

  it('goes on without types where they cannot be had, and says so', async () => {
    const other = await browser.newPage();
    const faults: string[] = [];
    other.on('pageerror', ({ message }) => faults.push(message));
    await other.route('**/types.json', (route) => route.fulfill({ status: 404, body: '' }));
    await other.goto(`${server.url}explorer.html${await toFragment(PROGRAM)}`);
    const said = other.locator('#types-state');
    await said.waitFor({ timeout: 120_000 });
    expect(await said.textContent()).toMatch(/^The editor does not know types: .*404$/);
    await other.locator('.cm-content').click();
    await other.keyboard.press('Control+End');
    await other.keyboard.type('f(ones([1, 2])).');
    await other.click('#run');
    await other.waitForTimeout(500);
    expect(await said.count()).toBe(1);
    expect(faults).toEqual([]);
    await other.close();
  }, 180_000);
});
