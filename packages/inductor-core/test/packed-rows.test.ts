/**
 * Products of few rows with packed weights are sums, like those of one, where the backend says so.
 */
import { makeFx } from '@tessera/graph';
import { type Tensor, manualSeed, randn, tensor } from '@tessera/tensor';
import { readNumbers, weightInt4packMm, weightInt8packMm } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { type Capabilities, compileGraph, compileToExecutable, verifyPlan } from '../src/index.js';
import { target } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';

const COLUMNS = 8;
const FEW: Partial<Capabilities> = { packedRows: { rows: 4, step: 32 } };

/** Packed weights of so many inputs, and what one step of each is worth. */
function weights(depth: number): Tensor[] {
  const words = (count: number): Tensor =>
    tensor(
      Array.from({ length: COLUMNS }, (_, n) =>
        Array.from({ length: count }, (__, k) => Math.imul(n * count + k + 1, 0x9e3779b1)),
      ),
      { dtype: 'int32' },
    );
  return [words(depth / 4), randn([COLUMNS]), words(depth / 8), randn([depth / 32, COLUMNS, 2])];
}

const program = (x: Tensor, bytes: Tensor, scale: Tensor, nibbles: Tensor, scales: Tensor) => [
  weightInt8packMm(x, bytes, scale),
  weightInt4packMm(x, nibbles, 32, scales),
];

function given(rows: number, depth = 64): [Tensor, Tensor, Tensor, Tensor, Tensor] {
  manualSeed(1);
  return [randn([rows, depth]), ...(weights(depth) as [Tensor, Tensor, Tensor, Tensor])];
}

function kinds(rows: number, capabilities: Partial<Capabilities>): string[] {
  const graph = makeFx(program)(...given(rows));
  const plan = compileGraph(graph, { backend: target(capabilities), name: 'packed' });
  verifyPlan(plan);
  return [...new Set(plan.kernels.map(({ kind }) => kind))];
}

describe('products of few rows with packed weights', () => {
  it('are sums up to the rows that the backend names', () => {
    expect(kinds(1, {})).toEqual(['loop']);
    expect(kinds(2, {})).toEqual(['matmul']);
    expect(kinds(4, FEW)).toEqual(['loop']);
    expect(kinds(5, FEW)).toEqual(['matmul']);
  });

  it('are products where rows are not whole steps', () => {
    expect(kinds(4, { packedRows: { rows: 4, step: 128 } })).toEqual(['matmul']);
  });

  it.each([2, 4])('have the same numbers: %i rows', (rows) => {
    const inputs = given(rows);
    const graph = makeFx(program)(...inputs);
    const found = compileToExecutable(graph, interpreterBackend(FEW))(inputs) as Tensor[];
    program(...inputs).forEach((wanted, i) => {
      const got = [...readNumbers(found[i]!)];
      [...readNumbers(wanted)].forEach((value, at) => expect(got[at]).toBeCloseTo(value, 3));
    });
  });
});
