/**
 * @file Operators that the large recording leaves out against calls that PyTorch made (`record/*.py`): values,
 * layouts, meta rules, gradients, and the same compiled for the CPU.
 */
import { config } from '@tessera/compile';
import { getOp } from '@tessera/tensor';
import '@tessera/tensor/fft';
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
import { readOracleFile } from '../src/read-file.js';

const MODES: readonly OracleMode[] = ['eager', 'fake', 'grad', 'compiled-cpu'];

/** The recordings, and how many calls of how many operators each holds. */
const FILES: readonly [name: string, operators: number, calls: number][] = [
  ['elements', 9, 92],
  ['linalg', 35, 601],
  ['fft', 14, 236],
  ['stft', 2, 58],
];

describe.each(FILES)('calls recorded in %s', (name, operators, calls) => {
  const file = readOracleFile(new URL(`../data/${name}.br`, import.meta.url));
  const byOp = new Map<string, OracleCase[]>();
  for (const entry of file.cases) byOp.set(entry.op, [...(byOp.get(entry.op) ?? []), entry]);

  it.each([...byOp])('%s', (opName, cases) =>
    config.patch({ 'eager.kernels': 'reference' }, async () => {
      const failures: string[] = [];
      for (const entry of cases) {
        const op = getOp(qualifiedName(entry));
        for (const mode of MODES) {
          if (!appliesTo(mode, op, entry)) continue;
          const call = `${opName} ${JSON.stringify(entry.args)} ${mode}`;
          try {
            const lines = await runOracleCase(file, op, entry, mode, KNOWN_DEVIATIONS[opName]);
            if (lines.length > 0) failures.push(`${call}\n    ${lines.join('\n    ')}`);
          } catch (error) {
            failures.push(`${call}\n    ${(error as Error).stack}`);
          }
        }
      }
      expect(failures.join('\n')).toBe('');
    }),
  );

  it('is whole', () => {
    expect([byOp.size, file.cases.length]).toEqual([operators, calls]);
  });
});
