/**
 * @file A few recorded calls of every operator, each compiled by itself for the CPU, gradients included; one of them
 * unless the run is full.
 */
import { config, reset } from '@tessera/compile';
import { findOp } from '@tessera/tensor/internal';
import '@tessera/tensor/linalg';
import { KNOWN_DEVIATIONS, type OracleCase, qualifiedName, runOracleCase } from '@tessera/testkit';
import { describe, expect, it } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { RECORDED, readOracleFile } from '../src/read-file.js';

/** Calls per operator; `pnpm oracle --mode compiled-cpu` runs all. */
const PER_OPERATOR = 2;

const file = readOracleFile(RECORDED);

/** Fused code rounds 16-bit floats once where eager rounds after every operator, so they are left to `pnpm oracle`. */
function isNarrow(entry: OracleCase): boolean {
  return /"(?:b?float16)"/.test(JSON.stringify(entry.args));
}

const byOp = new Map<string, OracleCase[]>();
for (const entry of file.cases) {
  const list = byOp.get(entry.op) ?? [];
  if (!isNarrow(entry) && list.length < PER_OPERATOR) byOp.set(entry.op, [...list, entry]);
}

/** Calls of an operator that has one are not left out. */
const chosen = (cases: readonly OracleCase[]): readonly OracleCase[] =>
  cases.length < PER_OPERATOR ? cases : sampled(cases, PER_OPERATOR);

describe(`operators compiled alone agree with PyTorch (${sampleName})`, () => {
  it.each([...byOp])('%s', (name, cases) =>
    config.patch({ 'eager.kernels': 'reference' }, async () => {
      const failures: string[] = [];
      for (const entry of chosen(cases)) {
        const op = findOp(qualifiedName(entry))!;
        const lines = await runOracleCase(file, op, entry, 'compiled-cpu', KNOWN_DEVIATIONS[name]);
        if (lines.length > 0)
          failures.push(`${name} ${JSON.stringify(entry.args)}\n    ${lines.join('\n    ')}`);
      }
      reset();
      expect(failures.join('\n')).toBe('');
    }),
  );
});
