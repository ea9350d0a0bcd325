/**
 * @file Every operator that exists against calls that PyTorch itself made: values, shapes, strides, dtypes, what the
 * meta rule says about them, gradients, and arguments that an in-place op left behind.
 */
import { config } from '@tessera/compile';
import { findOp } from '@tessera/tensor/internal';
import '@tessera/tensor/linalg';
import {
  KNOWN_DEVIATIONS,
  type OracleCase,
  type OracleMode,
  appliesTo,
  qualifiedName,
  runOracleCase,
} from '@tessera/testkit';
import { describe, expect, it } from 'vitest';
import { RECORDED, readOracleFile } from '../src/read-file.js';

const MODES: readonly OracleMode[] = ['eager', 'fake', 'grad'];

const file = readOracleFile(RECORDED);
const byOp = new Map<string, OracleCase[]>();
for (const entry of file.cases) {
  if (findOp(qualifiedName(entry)) !== undefined)
    byOp.set(entry.op, [...(byOp.get(entry.op) ?? []), entry]);
}

/** What differs in any mode, a line each. */
async function differences(name: string, entry: OracleCase): Promise<string[]> {
  const op = findOp(qualifiedName(entry))!;
  const lines: string[] = [];
  for (const mode of MODES) {
    if (!appliesTo(mode, op, entry)) continue;
    try {
      lines.push(...(await runOracleCase(file, op, entry, mode, KNOWN_DEVIATIONS[name])));
    } catch (error) {
      lines.push(`${mode}: ${(error as Error).stack}`);
    }
  }
  return lines;
}

describe('operators agree with PyTorch', () => {
  it.each([...byOp])('%s', (name, cases) =>
    config.patch({ 'eager.kernels': 'reference' }, async () => {
      const failures: string[] = [];
      for (const entry of cases) {
        const lines = await differences(name, entry);
        if (lines.length > 0)
          failures.push(`${name} ${JSON.stringify(entry.args)}\n    ${lines.join('\n    ')}`);
      }
      expect(failures.join('\n')).toBe('');
    }),
  );

  it('covers every recorded operator', () => {
    expect(byOp.size).toBe(754);
    expect([...byOp.values()].flat().length).toBe(6987);
  });
});
