/**
 * @file Numbers in READMEs are those of the code, and the files that they name are there.
 */
import '@tessera/compile';
import { allOps } from '@tessera/tensor/internal';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BACKEND_CONFORMANCE_CASES } from '../src/backend-conformance/suite.js';
import { recordedModels } from '../src/index.js';

const root = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** The number in front of a word in a package's README. */
function claimed(path: string, pattern: RegExp): number {
  const found = pattern.exec(read(path));
  expect(found, `${path} says nothing like ${String(pattern)}`).not.toBeNull();
  return Number(found![1]!.replaceAll(',', ''));
}

/** "More than" holds, and is not an understatement by more than a quarter. */
function expectMoreThan(actual: number, said: number): void {
  expect(actual).toBeGreaterThan(said);
  expect(actual).toBeLessThan(1.25 * said);
}

describe('numbers in READMEs', () => {
  it('count operators and conformance programs', () => {
    expectMoreThan(
      allOps().length,
      claimed('packages/tensor/README.md', /more than (\d+) overloads/),
    );
    expectMoreThan(
      BACKEND_CONFORMANCE_CASES.length,
      claimed('packages/testkit/README.md', /more than (\d+) programs/),
    );
  });

  it("count PyTorch's calls and models as the oracle does", () => {
    const calls = Number(/toBe\((\d{4,})\)/.exec(read('apps/oracle/test/oracle.test.ts'))![1]);
    for (const path of ['README.md', 'FEATURES.md', 'packages/tensor/README.md'])
      expect(claimed(path, /([\d,]{4,}) calls/), path).toBe(calls);
    expect(claimed('README.md', /operators and (\d+)\s+models/)).toBe(
      Object.keys(recordedModels).length,
    );
    expect(Object.keys(recordedModels)).toHaveLength(14);
    expect(read('packages/testkit/README.md')).toContain('fourteen models');
  });

  it('give the size of shared as its budget does', () => {
    const budget = Number(/shared: '([\d.]+) kB'/.exec(read('.size-limit.mjs'))![1]);
    expect(claimed('packages/shared/README.md', /everything about (\d+) kB/)).toBe(
      Math.round(budget),
    );
  });
});

describe('files that READMEs name', () => {
  it.each(readdirSync(new URL('packages/', root)))('are there: %s', (name) => {
    const named = [
      ...read(`packages/${name}/README.md`).matchAll(/`([a-z][\w-]*\/[\w/-]*(?:\.ts)?)`/g),
    ]
      .map(([, path]) => path!)
      .filter((path) => path.endsWith('/') || path.endsWith('.ts'));
    for (const path of named)
      expect(
        [`${name}/`, `${name}/src/`, ''].some((folder) =>
          existsSync(new URL(`packages/${folder}${path}`, root)),
        ),
        path,
      ).toBe(true);
  });
});
