/**
 * @file Every operator that exists against calls that PyTorch itself made: values, shapes, strides, dtypes, what the
 * meta rule says about them, gradients, and arguments that an in-place op left behind.
 */
import { describe, expect, it } from 'vitest';
import { findOp } from '../src/index.js';
import { EXCEPTIONS } from './oracle/exceptions.js';
import { type OracleCase, readOracle } from './oracle/oracle-file.js';
import { runCase } from './oracle/run-case.js';

const file = readOracle(new URL('./oracle/cases.br', import.meta.url));
const byOp = new Map<string, OracleCase[]>();
for (const entry of file.cases) {
  // The file holds operators that are still to come.
  if (findOp(qualifiedName(entry)) !== undefined)
    byOp.set(entry.op, [...(byOp.get(entry.op) ?? []), entry]);
}

function qualifiedName(entry: OracleCase): string {
  return entry.schema.slice(0, entry.schema.indexOf('('));
}

describe('operators agree with PyTorch', () => {
  it.each([...byOp])('%s', (name, cases) => {
    const op = findOp(qualifiedName(cases[0]!))!;
    const failures = cases.flatMap((entry) => {
      const differences = runCase(file, op, entry, EXCEPTIONS[name]);
      return differences.length === 0
        ? []
        : [`${name} ${JSON.stringify(entry.args)}\n    ${differences.join('\n    ')}`];
    });
    expect(failures.join('\n')).toBe('');
  });

  it('covers a broad set of operators', () => {
    expect(byOp.size).toBeGreaterThanOrEqual(377);
    expect([...byOp.values()].flat().length).toBeGreaterThanOrEqual(3690);
  });
});
