/**
 * @file Incomplete gamma functions and numbers drawn by rejection in f32, run in the interpreter, beside the reference
 * kernels of the CPU.
 */
import { type Tensor, binomial, full, getRngState, manualSeed, poisson } from '@tessera/tensor';
import { standardGamma, tensor } from '@tessera/tensor';
import { dispatchBelowAutograd, getOp } from '@tessera/tensor/internal';
import { gammainc, gammaincc } from '@tessera/tensor/special';
import { describe, expect, it } from 'vitest';
import { GAMMA_FUNCTIONS } from '../src/schedule/functions/gamma-functions.js';
import type { FunctionTarget } from '../src/schedule/functions/program.js';
import { runFunction } from '../src/schedule/functions/run-function.js';
import { SAMPLING_FUNCTIONS } from '../src/schedule/functions/sampling.js';
import { SCALAR_FUNCTIONS } from '../src/schedule/functions/scalar-functions.js';

const functions = { ...SCALAR_FUNCTIONS, ...GAMMA_FUNCTIONS, ...SAMPLING_FUNCTIONS };
const TARGETS: readonly FunctionTarget[] = [true, false].map((ieee) => ({ ieee, functions }));

const double = { dtype: 'float64' } as const;
const listOf = (x: Tensor): number[] => x.toArray() as number[];

/** Pairs of a from 10^low to 10^high and x that are near it, in its tails, or anywhere. */
function pairs(count: number, low: number, high: number): [a: number, x: number][] {
  return Array.from({ length: count }, (_, i) => {
    const a = 10 ** (low + (high - low) * ((i * 0.6180339887) % 1));
    const at = ((i * 0.7548776662) % 1) - 0.5;
    const x = [a + at * 10 * Math.sqrt(a), a * (1 + at), 10 ** (at * 10)][i % 3]!;
    return [Math.fround(a), Math.fround(Math.max(x, 1e-6))];
  });
}

describe.each(TARGETS)('where IEEE arithmetic is $ieee', (target) => {
  it.each([
    ['igamma', gammainc],
    ['igammac', gammaincc],
  ] as const)('%s is within 2e-6, and 2e-5 in far tails', (name, fn) => {
    const points = pairs(3000, -4, 9);
    const columns = [0, 1].map((d) =>
      tensor(
        points.map((point) => point[d]!),
        double,
      ),
    );
    const exact = listOf(fn(columns[0]!, columns[1]!));
    points.forEach((point, i) => {
      const value = exact[i]!;
      if (value < 1e-36) return;
      const error = Math.abs(runFunction(name, point, target) / value - 1);
      expect(error, `${name}(${point})`).toBeLessThan(value > 1e-4 ? 2e-6 : 2e-5);
    });
  });

  it('the change of gamma numbers by their shape is within 5e-6', () => {
    const points = pairs(600, -3, 6);
    const columns = [0, 1].map((d) =>
      tensor(
        points.map((point) => point[d]!),
        double,
      ),
    );
    const op = getOp('aten::_standard_gamma_grad');
    const exact = listOf(dispatchBelowAutograd(op, columns) as Tensor);
    points.forEach((point, i) => {
      const slope = runFunction('gamma_slope', point, target);
      // What f32 does not hold.
      if (!(Math.abs(exact[i]!) < 1e38 && Math.abs(exact[i]!) > 1e-36)) return;
      expect(Math.abs(slope / exact[i]! - 1), `${point}`).toBeLessThan(5e-6);
    });
  });
});

describe('the numbers of the reference kernels', () => {
  const target = TARGETS[1]!;
  const COUNT = 150;

  /** What a program draws, and the reference kernel. */
  function drawn(name: string, kernel: (...xs: Tensor[]) => Tensor, args: readonly number[]) {
    const tensors = args.map((arg) => full([COUNT], arg, { dtype: 'float32' }));
    manualSeed(19);
    const { seed, offset } = getRngState();
    const expected = listOf(kernel(...tensors));
    const more = name === 'standard_gamma' ? [2 ** -126] : [];
    const given = args.map(Math.fround);
    const actual = expected.map((_, i) =>
      runFunction(name, [seed, offset, i, ...given, ...more], target),
    );
    return { actual, expected };
  }

  it.each([0.01, 0.4, 1, 7, 300, 1e6])('gamma %s', (alpha) => {
    const { actual, expected } = drawn('standard_gamma', standardGamma, [alpha]);
    actual.forEach((x, i) => expect(Math.abs(x / expected[i]! - 1)).toBeLessThan(1e-5));
  });

  it.each([0, 0.2, 9.9, 10, 77, 1e4, 1e7])('Poisson %s', (rate) => {
    const { actual, expected } = drawn('poisson', poisson, [rate]);
    expect(actual).toEqual(expected);
  });

  it.each([
    [0, 0.5],
    [9, 0],
    [9, 1],
    [30, 0.2],
    [400, 0.51],
    [1e6, 0.3],
    [12345678, 0.9],
    [16e6, 2e-6],
  ])('binomial %s, %s', (n, p) => {
    const { actual, expected } = drawn('binomial', binomial, [n, p]);
    expect(actual).toEqual(expected);
  });
});
