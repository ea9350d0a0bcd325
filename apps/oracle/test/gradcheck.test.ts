/**
 * @file Derivatives of every differentiable operator, and derivatives of those, against finite differences in float64:
 * of the smallest recorded calls that differ in more than tensors.
 */
import { config } from '@tessera/compile';
import { type OpOverload } from '@tessera/tensor';
import { allOps, findOp } from '@tessera/tensor/internal';
import '@tessera/tensor/linalg';
import {
  type OpGradients,
  type OracleCase,
  type OracleValue,
  gradcheckCase,
  gradcheckOp,
  qualifiedName,
} from '@tessera/testkit';
import { describe, expect, it } from 'vitest';
import { fullTests } from '../../../tooling/full-tests.js';
import { RECORDED, readOracleFile } from '../src/read-file.js';
import { GRADCHECK_CALLS } from './gradcheck-calls.js';
import { GRADCHECK_EXCEPTIONS } from './gradcheck-exceptions.js';

const CASES_PER_OP = fullTests ? 4 : 2;
const ELEMENTS = 6;

const file = readOracleFile(RECORDED);
const byOp = new Map<string, OracleCase[]>();
for (const entry of file.cases) {
  if (entry.grad_in === undefined || findOp(qualifiedName(entry)) === undefined) continue;
  byOp.set(entry.op, [...(byOp.get(entry.op) ?? []), entry]);
}

function elements(value: OracleValue | undefined): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value))
    return (value as OracleValue[]).reduce<number>((sum, item) => sum + elements(item), 0);
  return 'shape' in value ? value.shape.reduce((a, b) => a * b, 1) : 0;
}

function size(entry: OracleCase): number {
  return Object.values(entry.args).reduce<number>((sum, value) => sum + elements(value), 0);
}

function hasElements(entry: OracleCase): boolean {
  return entry.grad_in!.every(({ arg, index }) => {
    const value = entry.args[arg];
    return elements(index === null ? value : (value as OracleValue[])[index]) > 0;
  });
}

/** Everything about a call but its tensors. */
function settings(entry: OracleCase): string {
  return JSON.stringify(Object.entries(entry.args).filter(([, value]) => elements(value) === 0));
}

interface Found {
  readonly checked: number;
  readonly failures: string[];
}

function sumUp(results: readonly (OpGradients & { readonly call: string })[]): Found {
  return {
    checked: results.reduce((sum, { checked }) => sum + checked, 0),
    failures: results
      .filter(({ differences }) => differences.length > 0)
      .map(({ call, differences }) => `${call}\n    ${differences.slice(0, 4).join('\n    ')}`),
  };
}

/** Checks the smallest recorded calls of an operator, one for each combination of settings. */
function check(op: OpOverload, cases: readonly OracleCase[], order: 1 | 2): Found {
  const exceptions = (GRADCHECK_EXCEPTIONS[op.displayName] ?? []).filter(
    ({ secondOrderOnly }) => order === 2 || secondOrderOnly !== true,
  );
  const results = new Map<string, OpGradients & { readonly call: string }>();
  for (const entry of [...cases].sort((a, b) => size(a) - size(b))) {
    if (results.size === CASES_PER_OP) break;
    const key = settings(entry);
    const left = exceptions.some(({ when }) => when === undefined || when(entry.args));
    if (results.has(key) || left || !hasElements(entry)) continue;
    const found = gradcheckCase(file, op, entry, { order, elements: ELEMENTS });
    // A call with nothing but kinks makes room for a larger one.
    if (found.checked > 0 || found.differences.length > 0)
      results.set(key, { ...found, call: JSON.stringify(entry.args) });
  }
  return sumUp([...results.values()]);
}

function excepted(name: string, order: 1 | 2): boolean {
  return (GRADCHECK_EXCEPTIONS[name] ?? []).some(
    ({ when, secondOrderOnly }) => when === undefined && (order === 2 || secondOrderOnly !== true),
  );
}

/** Runs a check with the reference kernels, which compute in float64 throughout. */
function inReference<R>(fn: () => R): R {
  return config.patch({ 'eager.kernels': 'reference' }, fn);
}

describe.each([
  { order: 1, what: 'gradients' },
  { order: 2, what: 'gradients of gradients' },
] as const)('$what agree with finite differences', ({ order }) => {
  it.each([...byOp].filter(([name]) => !excepted(name, order)))('%s', (_name, cases) =>
    inReference(() => {
      const op = findOp(qualifiedName(cases[0]!))!;
      const { checked, failures } = check(op, cases, order);
      expect(failures.join('\n')).toBe('');
      expect(checked).toBeGreaterThan(0);
    }),
  );

  it.each([...GRADCHECK_CALLS])('%s', (name, calls) =>
    inReference(() => {
      const op = allOps().find(({ displayName }) => displayName === name)!;
      const { checked, failures } = sumUp(
        calls.map(({ args, inputs }) => ({
          ...gradcheckOp(op, args, inputs, { order, elements: ELEMENTS }),
          call: name,
        })),
      );
      expect(failures.join('\n')).toBe('');
      expect(checked).toBeGreaterThan(0);
    }),
  );
});

it('checks every operator that has a derivative', () => {
  const unchecked = allOps()
    .filter((op) => op.record.vjp !== undefined && op.schema.namespace === 'aten')
    // Comparisons have one for what their in-place forms overwrite.
    .filter((op) => !op.hasTag('non-differentiable'))
    .map(({ displayName }) => displayName)
    .filter((name) => !byOp.has(name) && !GRADCHECK_CALLS.has(name) && !excepted(name, 1));
  expect(unchecked).toEqual([]);
  expect(byOp.size).toBeGreaterThanOrEqual(500);
});
