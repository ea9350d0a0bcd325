import { makeFx } from '@tessera/graph';
import { type Tensor, callOp, getOp, manualSeed, randint, randn } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compileGraph, compileToExecutable } from '../src/index.js';
import { target } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';

const COLUMNS = 96;

type Options = readonly [rows: number, padding: number, scale: boolean];

function gradient(options: Options) {
  return (g: Tensor, index: Tensor): Tensor =>
    callOp(getOp('aten::embedding_dense_backward'), [g, index, ...options]) as Tensor;
}

/** Gradients of so many positions, which name few rows, some of them often. */
function given(positions: number, among = 40): [Tensor, Tensor] {
  manualSeed(7);
  return [randn([positions, COLUMNS]), randint(0, among, [positions])];
}

function kernelCount(options: Options, inputs: [Tensor, Tensor]): number {
  return compileGraph(makeFx(gradient(options))(...inputs), { backend: target() }).kernels.length;
}

describe('the gradient of an embedding table', () => {
  it('is one sum over positions where that is little', () => {
    expect(kernelCount([50, -1, false], given(64))).toBe(1);
  });

  it('joins sums of positions in rounds where it is much', () => {
    // The positions before, six rounds of sums and five of places, the last positions of rows, and the table.
    expect(kernelCount([3000, -1, false], given(64))).toBeLessThanOrEqual(15);
  });

  it.each([
    ['plainly', [3000, -1, false]],
    ['of few rows', [50, -1, false]],
    ['without a row for padding', [3000, 3, false]],
    ['divided by how often a row is named', [3000, 3, true]],
  ] as const)('is the same %s', (_, options) => {
    const inputs = given(61);
    const graph = makeFx(gradient(options))(...inputs);
    const [made] = compileToExecutable(graph, interpreterBackend())(inputs) as Tensor[];
    const wanted = readNumbers(gradient(options)(...inputs));
    const actual = readNumbers(made!);
    const worst = actual.reduce<number>(
      (most, x, i) => Math.max(most, Math.abs(Number(x) - Number(wanted[i]))),
      0,
    );
    expect(actual).toHaveLength(options[0] * COLUMNS);
    expect(worst).toBeLessThan(1e-5);
  });
});
