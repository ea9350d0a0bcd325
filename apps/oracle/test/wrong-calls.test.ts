/**
 * @file Recorded calls with one argument replaced by something wrong: whatever comes of it, nothing but a
 * `TesseraError` may be thrown, and nothing may hang.
 */
import { config } from '@tessera/compile';
import { isTesseraError } from '@tessera/shared';
import { type OpOverload, callOp, isTensor, noGrad, ones, tensor } from '@tessera/tensor';
import { findOp } from '@tessera/tensor/internal';
import '@tessera/tensor/linalg';
import { type OracleCase, oracleArguments, oracleTensor, qualifiedName } from '@tessera/testkit';
import { describe, expect, it } from 'vitest';
import { RECORDED, readOracleFile } from '../src/read-file.js';

/** One operator in so many is tried; all of them take minutes. */
const STEP = 6;

const file = readOracleFile(RECORDED);
const firstCases = new Map<string, OracleCase>();
for (const entry of file.cases)
  if (!firstCases.has(entry.op) && findOp(qualifiedName(entry)) !== undefined)
    firstCases.set(entry.op, entry);
const tried = [...firstCases].filter((_, i) => i % STEP === 0);

/** Wrong values for one argument. */
function wrongValues(op: OpOverload, position: number, given: unknown): unknown[] {
  const { base, list } = op.schema.args[position]!.type;
  if (isTensor(given)) {
    const { dtype, sizes } = given;
    return [
      ones([7, 5], { dtype }),
      ones([], { dtype }),
      ones([0], { dtype }),
      ones([1, 2, 1, 2, 3], { dtype }),
      ones(sizes, { dtype: 'int64' }),
      ones(sizes, { dtype: 'bool' }),
      tensor([99], { dtype: 'int64' }),
      'x',
    ];
  }
  if (base === 'Tensor') return list ? [[], 3, [1], [ones([2]), ones([7, 5])]] : [];
  if (base === 'int') return list ? [[99], [-5], ['a'], [NaN], [1.5]] : [99, -99, 1.5, NaN, 'x'];
  if (base === 'Scalar' || base === 'float') return ['x', NaN, [1]];
  if (base === 'ScalarType') return ['float33'];
  if (base === 'str') return ['neither', 3];
  return base === 'bool' ? [3] : [];
}

function thrownBy(fn: () => unknown): unknown {
  try {
    fn();
    return null;
  } catch (error) {
    return error;
  }
}

describe('wrong calls throw nothing but a TesseraError', () => {
  it.each(tried)('%s', (_name, entry) =>
    config.patch({ 'eager.kernels': 'reference' }, () => {
      const op = findOp(qualifiedName(entry))!;
      const fresh = (): unknown[] =>
        oracleArguments(op, entry, (reference) => oracleTensor(file, reference));
      const raw: string[] = [];
      fresh().forEach((given, i) => {
        for (const value of wrongValues(op, i, given)) {
          const error = thrownBy(() => noGrad(() => callOp(op, fresh().with(i, value))));
          if (error === null || isTesseraError(error)) continue;
          raw.push(`${op.schema.args[i]!.name} = ${String(value)}: ${(error as Error).stack}`);
        }
      });
      expect(raw.join('\n')).toBe('');
    }),
  );
});
