/**
 * @file docs/stale-results.md names tests that exist.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';

it('every row of the stale-result table is a test', () => {
  const here = new URL('.', import.meta.url);
  const tests = readdirSync(here)
    .filter((name) => /^staleness.*\.test\.ts$/.test(name))
    .map((name) => readFileSync(new URL(name, here), 'utf8'))
    .join('\n');
  const page = readFileSync(new URL('../../../docs/stale-results.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| \d+ /.test(line));
  expect(rows.length).toBeGreaterThanOrEqual(20);
  for (const row of rows) {
    const name = /`([^`]+)` *\|$/.exec(row)![1]!;
    expect(tests).toContain(`it('${name}'`);
  }
});
