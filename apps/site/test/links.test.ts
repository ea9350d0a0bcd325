/**
 * @file Every link between pages of the built site leads to a page, and to an element of it where it has a fragment.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SITE } from './support/build-site.js';

const files = new Set(readdirSync(SITE, { recursive: true, encoding: 'utf8' }));
const pages = [...files].filter((file) => file.endsWith('.html')).sort();
const texts = new Map(pages.map((page) => [page, readFileSync(join(SITE, page), 'utf8')]));
const ids = new Map(
  pages.map((page) => [
    page,
    new Set([...texts.get(page)!.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id!)),
  ]),
);

/** What is wrong with the addresses of a page. */
function badLinks(page: string): string[] {
  const targets = [...texts.get(page)!.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, t]) => t!);
  return targets.flatMap((target) => {
    if (target.startsWith('https:')) return [];
    if (/^[a-z]+:|^\//.test(target)) return [`${page}: ${target} is not relative`];
    const [path, fragment] = target.split('#') as [string, string?];
    const file = path === '' ? page : posix.join(posix.dirname(page), path);
    if (!files.has(file)) return [`${page}: ${target} leads nowhere`];
    const known = fragment === undefined || ids.get(file)?.has(decodeURIComponent(fragment));
    return known ? [] : [`${page}: ${target} has no such element`];
  });
}

describe('links', () => {
  it('has pages of every kind', () => {
    for (const page of [
      'index.html',
      'guides/memory.html',
      'reference/nn-optim.html',
      'speed.html',
    ])
      expect(pages).toContain(page);
    expect(pages.filter((page) => page.startsWith('errors/')).length).toBeGreaterThan(50);
  });

  it('are relative, and lead to what is there', () => {
    expect(pages.flatMap(badLinks)).toEqual([]);
  });

  it('lead to ids that are there once', () => {
    for (const page of pages) {
      const all = [...texts.get(page)!.matchAll(/\sid="([^"]+)"/g)];
      expect(all.length, page).toBe(ids.get(page)!.size);
    }
  });
});
