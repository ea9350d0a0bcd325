import { makeFx } from '@tessera/graph';
import { type Tensor, callOp, getOp, manualSeed, randint, randn } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { type MatmulKernel, compileGraph, compileToExecutable } from '../src/index.js';
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

/** Rows of the products' results. */
function productRows(options: Options, inputs: [Tensor, Tensor]): number[] {
  const made = compileGraph(makeFx(gradient(options))(...inputs), { backend: target() });
  return made.kernels
    .filter((kernel): kernel is MatmulKernel => kernel.kind === 'matmul')
    .map(({ m }) => m.reduce((rows, { size }) => rows * size, 1));
}

describe('the gradient of an embedding table', () => {
  it('is a product of positions where most rows are named by none', () => {
    expect(productRows([3000, -1, false], given(64))).toEqual([64]);
  });

  it('is a product of rows where many are named, or where a product is nothing', () => {
    expect(productRows([3000, -1, false], given(2000))).toEqual([3000]);
    expect(productRows([300, -1, false], given(64))).toEqual([300]);
  });

  it.each([
    ['plainly', [3000, -1, false]],
    ['without a row for padding', [3000, 3, false]],
    ['divided by how often a row is named', [3000, 3, true]],
  ] as const)('is the same %s', (_, options) => {
    const inputs = given(64);
    const graph = makeFx(gradient(options))(...inputs);
    const [made] = compileToExecutable(graph, interpreterBackend())(inputs) as Tensor[];
    const wanted = readNumbers(gradient(options)(...inputs));
    const actual = readNumbers(made!);
    const worst = actual.reduce<number>(
      (most, x, i) => Math.max(most, Math.abs(Number(x) - Number(wanted[i]))),
      0,
    );
    expect(actual).toHaveLength(3000 * COLUMNS);
    expect(worst).toBeLessThan(1e-5);
  });
});
