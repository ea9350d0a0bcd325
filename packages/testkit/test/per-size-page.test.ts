/**
 * @file FEATURES.md names the operators that get code for every size: those of the list that `eager-code-per-size.test.ts`
 * holds to what is measured.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { COMPILED_PER_SIZE } from './compiled-per-size.js';

const page = readFileSync(fileURLToPath(new URL('../../../FEATURES.md', import.meta.url)), 'utf8');

it('FEATURES.md names the operators that get code for every size', () => {
  const [, list] = /These get code for every size([^]*?)\n\n/.exec(page) ?? [];
  const named = [...list!.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
  const listed = Object.values(COMPILED_PER_SIZE)
    .flat()
    .map((name) => name.replace(/^aten::|\..*$/g, ''));
  expect(named.sort()).toEqual([...new Set(listed)].sort());
});
