/**
 * @file Whether a page in a browser is accessible, by axe.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Rules that look at colors: all that another theme can break. */
export const COLOR_RULES: readonly string[] = ['color-contrast', 'link-in-text-block'];

/** What axe finds wrong, in a line each; by all rules unless some are named. */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  return page.evaluate(async (runOnly) => {
    type Found = { violations: { id: string; nodes: { target: unknown[]; html: string }[] }[] };
    type Axe = { run(options: { runOnly?: readonly string[] }): Promise<Found> };
    const { axe } = globalThis as unknown as { axe: Axe };
    const found = await axe.run(runOnly === undefined ? {} : { runOnly });
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, html }) => `${id}: ${target.join(' ')} ${html.slice(0, 120)}`),
    );
  }, rules);
}
