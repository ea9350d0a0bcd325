/**
 * @file The code in the README runs, and prints what it says; what the package exports is named in it.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as distributions from '../src/distributions/index.js';
import * as nn from '../src/index.js';
import { testReadme } from '../../../tooling/readme.js';

const readme = new URL('../README.md', import.meta.url);
testReadme(readme);

/** The words of the README, `Conv1d`–`3d` as three of them. */
const named = new Set(
  readFileSync(readme, 'utf8')
    .replace(/`(\w+)(\d)d`–`(\d)d`/g, (_all, name: string, first: string, last: string) =>
      ['1', '2', '3']
        .filter((n) => n >= first && n <= last)
        .map((n) => `${name}${n}d`)
        .join(' '),
    )
    .match(/\w+/g),
);

const { init, lrScheduler, optim, parametrize, prune, ...rest } = nn;
const parts = {
  nn: rest,
  init,
  lrScheduler,
  optim,
  swaUtils: optim.swaUtils,
  parametrize,
  prune,
  distributions,
};
describe.each(Object.entries(parts))('%s', (_name, part) => {
  it('is named in the README, name by name', () => {
    expect(Object.keys(part).filter((name) => !named.has(name))).toEqual([]);
  });
});
