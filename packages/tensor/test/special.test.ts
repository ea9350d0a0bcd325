/**
 * @file `@tessera/tensor/special` against what PyTorch computed (data/reference-special.py), values and derivatives.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Tensor, grad, lgamma, tensor } from '../src/index.js';
import * as special from '../src/special.js';

type Saved = readonly (number | string)[];
interface Case {
  readonly name: string;
  readonly args: readonly (Saved | number)[];
  readonly value: Saved;
  readonly wrt: number | null;
  readonly grad: Saved | null;
}

const cases = JSON.parse(
  readFileSync(new URL('./data/reference-special.json', import.meta.url), 'utf8'),
) as Case[];

const number = (value: number | string): number => Number(String(value).replace('inf', 'Infinity'));
const camel = (name: string): string => name.replace(/_(.)/g, (_, c: string) => c.toUpperCase());
const functions: Readonly<Record<string, unknown>> = { ...special };

function expectClose(actual: Tensor, expected: Saved, tolerance: number, what: string): void {
  const values = actual.toArray() as number[];
  expect(values.length, what).toBe(expected.length);
  expected.map(number).forEach((wanted, i) => {
    const limit = tolerance * Math.max(Math.abs(wanted), Number.MIN_VALUE);
    if (!(Math.abs(values[i]! - wanted) <= limit) && !Object.is(values[i]! + 0, wanted + 0))
      expect.fail(`${what}[${i}]: ${values[i]}, PyTorch has ${wanted}`);
  });
}

function run({ name, args, wrt }: Case, dtype: 'float32' | 'float64'): { y: Tensor; dx?: Tensor } {
  const given = args.map((arg, i) =>
    typeof arg === 'number' ? arg : tensor(arg.map(number), { dtype, requiresGrad: i === wrt }),
  );
  const fn = functions[camel(name)] as (...args: unknown[]) => Tensor;
  const y = fn(...given);
  if (wrt === null) return { y };
  const [dx] = grad([y.sum()], [given[wrt] as Tensor]);
  return { y: y.detach(), dx: dx! };
}

describe('as PyTorch has it in float64', () => {
  it.each(cases.map((each, i) => [i, each.name, each] as const))('%i %s', (_i, name, each) => {
    const { y, dx } = run(each, 'float64');
    // PyTorch's series for near arguments has an error of 5e-10.
    expectClose(y, each.value, name.startsWith('gammainc') ? 1e-9 : 2e-12, name);
    if (dx !== undefined) expectClose(dx, each.grad!, 2e-10, `gradient of ${name}`);
  });
});

// Computed with forty digits: a, x, the lower and the upper function.
// prettier-ignore
const INCOMPLETE = [[0.001, 0.001, 0.9936876467088603, 0.00631235329113971], [50, 49, 0.46210439360094024, 0.5378956063990598], [50, 20, 1.245892607971938e-08, 0.9999999875410739], [200, 230, 0.9796688566711638, 0.020331143328836235], [1000.0, 950, 0.05505468623073803, 0.9449453137692619], [10000.0, 10010.0, 0.54113746289251, 0.45886253710749003], [1000000.0, 1000000.0, 0.5001329807608725, 0.4998670192391274], [1000000.0, 1003000.0, 0.9986382593537824, 0.0013617406462175915], [3, 1e-08, 1.666666654166667e-25, 1.0], [0.5, 30, 0.9999999999999906, 9.485737571073848e-15], [20, 90, 1.0, 1.1492512409480212e-19], [67108865, 67100000, 0.1395906581734822, 0.8604093418265177], [1e8, 100010000, 0.8413447464717988, 0.15865525352820117], [1e10, 9999900000, 0.1586552539274242, 0.8413447460725758], [1e17, 1e17, 0.5000000004205221, 0.49999999957947794], [1e17, 1.00000001e17, 0.9992172988454976, 0.0007827011545023749], [1e200, 1e9, 0, 1], [1e9, 1e200, 1, 0]] as const;

it('the incomplete gamma functions are accurate to 1e-12', () => {
  const [a, x] = [0, 1].map((i) =>
    tensor(
      INCOMPLETE.map((row) => row[i]!),
      { dtype: 'float64' },
    ),
  );
  const at = (i: number): number[] => INCOMPLETE.map((row) => row[i]!);
  expectClose(special.gammainc(a!, x!), at(2), 1e-13, 'gammainc');
  expectClose(special.gammaincc(a!, x!), at(3), 1e-12, 'gammaincc');
});

it('in float32 the values are those of float64 to its precision', () => {
  for (const each of cases.filter(({ name, wrt }) => wrt !== null || /chebyshev/.test(name))) {
    const { y } = run(each, 'float32');
    const wide = (run(each, 'float64').y.toArray() as number[]).map((v) => Math.fround(v));
    const values = y.toArray() as number[];
    expect(y.dtype).toBe('float32');
    wide.forEach((wanted, i) => {
      const close = Math.abs(values[i]! - wanted) <= 1e-4 * Math.abs(wanted) + 2e-6;
      if (!close && Number.isFinite(wanted))
        expect.fail(
          `${each.name}(${JSON.stringify(each.args)})[${i}]: ${values[i]}, not ${wanted}`,
        );
    });
  }
});

describe('what PyTorch refuses', () => {
  const x = tensor([0.5, 2]);
  it('is refused in its words', () => {
    expect(() => special.multigammaln(x, 0)).toThrow('p has to be greater than or equal to 1');
    const whole = tensor([1, 2], { dtype: 'int64' });
    expect(() => special.gammainc(whole, whole)).toThrow('"igamma" not implemented for');
    const a = tensor([1, 2], { requiresGrad: true });
    expect(() => special.gammainc(a, x).sum().backward()).toThrow(
      "the derivative for 'igamma: input' is not implemented.",
    );
    expect(() => special.legendrePolynomialP(3 as never, x)).toThrow('x is a tensor');
    expect(() => special.zeta(2, 3)).toThrow('one of the two must be a tensor');
  });
});

it('integers become floats', () => {
  const whole = tensor([1, 2, 3], { dtype: 'int64' });
  expect(special.ndtr(whole).dtype).toBe('float32');
  expect(special.hermitePolynomialH(whole, 2).toArray()).toEqual([2, 14, 34]);
  expect(special.multigammaln(whole.add(1), 1).toArray()).toEqual(lgamma(whole.add(1)).toArray());
});

it('degrees of polynomials may be bools', () => {
  const [x, n] = [tensor([0.5, 2, 3]), tensor([true, true, false])];
  expect(special.hermitePolynomialH(x, n).toArray()).toEqual([1, 4, 1]);
  expect(special.chebyshevPolynomialT(n, n).toArray()).toEqual([1, 1, 1]);
});

it('zeta sums from far below 0', () => {
  const x = tensor([2, 2, 3, 3, 4], { dtype: 'float64' });
  const q = tensor([-70000.5, -9.5, -9.5, -20.25, -7.75], { dtype: 'float64' });
  expectClose(
    special.zeta(x, q),
    [
      9.869590115579152, 9.76968744503023, 0.004987572123857579, -62.01139276237191,
      259.75698676526787,
    ],
    1e-12,
    'zeta',
  );
});

it('degrees of polynomials that are not finite give 0', () => {
  const degrees = [2, Infinity, NaN, 1e30, -Infinity];
  const x = tensor([0.5]).expand([5]);
  expect(special.hermitePolynomialH(x, tensor(degrees)).toArray()).toEqual([-1, 0, 0, 0, 0]);
  for (const degree of degrees.slice(1))
    expect(special.legendrePolynomialP(x, degree).toArray()).toEqual([0, 0, 0, 0, 0]);
});

it('derivatives of polynomials, which PyTorch has none of, are those of the recurrence', () => {
  const x = tensor([-0.3, 0.6], { dtype: 'float64', requiresGrad: true });
  const [dx] = grad([special.legendrePolynomialP(x, 3).sum()], [x]);
  // P₃′ = (15x² - 3) / 2
  expectClose(dx!, [-0.825, 1.2], 1e-14, 'P₃′');
});
