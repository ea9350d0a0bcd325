/**
 * @file A recorded call of each operator with each of its numbers varied, in one compiled function: whatever a number
 * becomes on the way (a constant, a symbol, a scalar of the run), every call gives or refuses what eager code does.
 */
import { compile, config, reset } from '@tessera/compile';
import { SymScalar, isTesseraError } from '@tessera/shared';
import { type OpOverload, callOp, isTensor, noGrad } from '@tessera/tensor';
import { findOp, readNumbers } from '@tessera/tensor/internal';
import '@tessera/tensor/linalg';
import {
  KNOWN_DEVIATIONS,
  type OracleCase,
  oracleArguments,
  oracleTensor,
  qualifiedName,
} from '@tessera/testkit';
import { describe, expect, it } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { RECORDED, readOracleFile } from '../src/read-file.js';

const file = readOracleFile(RECORDED);

/** Operators that compute anything of numbers that do not fit their tensors, which PyTorch refuses or reads beyond. */
const UNCHECKED =
  /embedding_bag|embedding_dense_backward|glu_backward|max_pool\dd_with_indices_backward/;
/** Where fused code differs by more than rounding: limits of logit that cross. */
const CROSSING = /logit/;

/** The first call of each operator without 16-bit floats, which fused code rounds less often. */
const byOp = new Map<string, OracleCase>();
for (const entry of file.cases) {
  const isOdd = UNCHECKED.test(entry.op) || CROSSING.test(entry.op);
  const known = KNOWN_DEVIATIONS[entry.op];
  if (isOdd || known?.unspecified !== undefined) continue;
  if (known?.random === true || known?.randomIf !== undefined) continue;
  if (findOp(qualifiedName(entry))?.hasTag('random') !== false) continue;
  if (!/"b?float16"/.test(JSON.stringify(entry.args)) && !byOp.has(entry.op))
    byOp.set(entry.op, entry);
}

/** A value and others near it; fractions where the schema has floats. */
function valuesOf(given: number, isFloat: boolean): number[] {
  return isFloat
    ? [given, given + 1, given * 1.5 + 0.25, 2, 1, 0, -given, given]
    : [given, given + 1, given - 1, 2, 1, 0, given];
}

/** Numbers that a call gave, or the code of its error. */
function told(call: () => unknown): string | number[][] {
  try {
    return [noGrad(call)]
      .flat(2)
      .filter(isTensor)
      .map((t) => [...t.sizes, ...readNumbers(t)].map(Number));
  } catch (error) {
    if (isTesseraError(error)) return error.code;
    throw error;
  }
}

function isClose(a: number, b: number): boolean {
  return Object.is(a, b) || a === b || Math.abs(a - b) <= 1e-4 * (1 + Math.abs(b));
}

function differs(got: ReturnType<typeof told>, want: ReturnType<typeof told>): boolean {
  if (typeof got === 'string' || typeof want === 'string') return got !== want;
  return want.some((values, i) => values.some((value, k) => !isClose(got[i]![k]!, value)));
}

function differencesOf(op: OpOverload, entry: OracleCase): string[] {
  const fresh = (): unknown[] => oracleArguments(op, entry, (each) => oracleTensor(file, each));
  return fresh().flatMap((given, i) => {
    const { name, type } = op.schema.args[i]!;
    const value = given instanceof SymScalar ? given.hint : given;
    if (typeof value !== 'number' || type.list) return [];
    const compiled = compile((args: unknown[]) => callOp(op, args));
    return valuesOf(value, type.base !== 'int').flatMap((by) => {
      const [want, got] = [(args: unknown[]) => callOp(op, args), compiled].map((fn) =>
        told(() => fn(fresh().with(i, by))),
      );
      return differs(got!, want!)
        ? [`${name} = ${by}: ${JSON.stringify(got)}, eager ${JSON.stringify(want)}`]
        : [];
    });
  });
}

describe(`numbers of operators vary (${sampleName})`, () => {
  it.each(sampled([...byOp], 4))('%s', (_name, entry) =>
    config.patch({ 'eager.kernels': 'reference' }, () => {
      expect(differencesOf(findOp(qualifiedName(entry))!, entry)).toEqual([]);
      reset();
    }),
  );
});
