/**
 * @file Functions of elements on the CPU: compiled results equal eager ones over their whole range, with
 * special values.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, grad, isin, polygamma, tensor, zeros } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { i0e, i1, i1e } from '@tessera/tensor/special';
import { compile, config } from '../src/index.js';

const SPECIALS = [0, -0, 1, -1, 2, -2, 0.5, -0.5, Infinity, -Infinity, NaN, 1e-30, -1e-30, 88, 700];

/** Specials, then a dense sample of (low, high). */
function sample(low: number, high: number): number[] {
  const dense = Array.from({ length: 500 }, (_, i) => low + ((high - low) * (i + 0.37)) / 500);
  return [...SPECIALS, ...dense];
}

type Unary = (x: Tensor) => Tensor;

const method =
  (name: 'lgamma' | 'digamma'): Unary =>
  (x) =>
    x[name]();

const UNARY: readonly [name: string, low: number, high: number, fn?: Unary][] = [
  ['lgamma', -12, 40],
  ['digamma', -12, 40],
  ['trigamma', -6, 40, (x) => polygamma(1, x)],
  ['polygamma of order 3', 0.1, 10, (x) => polygamma(3, x)],
  ['erfinv', -1, 1],
  ['i0', -90, 90],
  ['special i0e', -60, 60, i0e],
  ['special i1', -90, 90, i1],
  ['special i1e', -60, 60, i1e],
  ['acosh', 1, 30],
  ['asinh', -1e3, 1e3],
  ['atanh', -1, 1],
  ['sinc', -5, 5],
  ['logit', 0, 1],
  ['angle', -2, 2],
  ['signbit', -2, 2],
  ['nanToNum', -2, 2],
  ['frac', -5, 5],
  ['logSigmoid', -40, 40],
  ['softshrink', -2, 2],
  ['hardshrink', -2, 2],
  ['isposinf', -2, 2],
  ['isneginf', -2, 2],
  ['mantissa of frexp', -100, 100, (x) => x.frexp()[0]],
  ['exponent of frexp', -100, 100, (x) => x.frexp()[1]],
  ['decimals of round', -5, 5, (x) => x.round({ decimals: 2 })],
  ['power of a half', -5, 5, (x) => x.pow(0.5)],
  ['power of minus a half', -5, 5, (x) => x.pow(-0.5)],
];

/** Activations of pieces, whose gradient has a case for NaN in each. */
const PIECEWISE = [
  'relu',
  'relu6',
  'hardtanh',
  'hardsigmoid',
  'hardswish',
  'softshrink',
  'hardshrink',
  'leakyRelu',
  'elu',
  'softplus',
] as const;

const BINARY: readonly [name: string, fn: (a: Tensor, b: Tensor) => Tensor][] = [
  ['atan2', (a, b) => a.atan2(b)],
  ['hypot', (a, b) => a.hypot(b)],
  ['copysign', (a, b) => a.copysign(b)],
  ['nextafter', (a, b) => a.nextafter(b)],
  ['fmax', (a, b) => a.fmax(b)],
  ['fmin', (a, b) => a.fmin(b)],
  ['heaviside', (a, b) => a.heaviside(b)],
  ['logaddexp', (a, b) => a.logaddexp(b)],
  ['logaddexp2', (a, b) => a.logaddexp2(b)],
  ['xlogy', (a, b) => a.xlogy(b)],
  ['quotient rounded down', (a, b) => a.div(b, { roundingMode: 'floor' })],
  ['quotient cut', (a, b) => a.div(b, { roundingMode: 'trunc' })],
  ['floorDivide', (a, b) => a.floorDivide(b)],
  ['remainder', (a, b) => a.remainder(b)],
  ['fmod', (a, b) => a.fmod(b)],
];

/** Runs with eager operators computed by the reference kernels, which compiled code shares nothing with. */
function againstReference<T>(run: () => T): T {
  return config.patch({ 'eager.kernels': 'reference' }, run);
}

/** Results that no rounding may touch, down to the sign of zero. */
const EXACT: ReadonlySet<string> = new Set([
  'copysign',
  'nextafter',
  'signbit',
  'isposinf',
  'isneginf',
  'hardshrink',
  'mantissa of frexp',
  'exponent of frexp',
]);

/** Places where the results differ by more than the tolerance allows. */
function differences(
  got: Tensor,
  wanted: Tensor,
  tolerance: number,
  x: ArrayLike<number>,
): string[] {
  const [a, b] = [readNumbers(got), readNumbers(wanted)];
  return Array.from(a).flatMap((value, i) => {
    const allowed = tolerance * Math.max(1, Math.abs(b[i]!));
    const near = tolerance > 0 && (value === b[i] || Math.abs(value - b[i]!) <= allowed);
    return near || Object.is(value, b[i]) ? [] : [`at ${x[i]}: ${value}, eager ${b[i]}`];
  });
}

describe.each([
  ['float32', 3e-6],
  ['float64', 1e-12],
] as const)('compiled functions of %s equal eager ones:', (dtype, tolerance) => {
  it.each(UNARY)('%s', (name, low, high, fn = method(name as 'lgamma')) => {
    const x = tensor(sample(low, high), { dtype });
    const run = compile((input: Tensor) => fn(input), { fullgraph: true });
    againstReference(() =>
      expect(differences(run(x), fn(x), EXACT.has(name) ? 0 : tolerance, readNumbers(x))).toEqual(
        [],
      ),
    );
  });

  it.each(PIECEWISE)('the gradient of %s', (name) => {
    const gradient = (input: Tensor): Tensor => grad(input[name]().sum(), input)[0]!;
    const x = tensor(sample(-7, 7), { dtype }).requiresGrad_();
    const run = compile(gradient, { fullgraph: true });
    againstReference(() =>
      expect(differences(run(x), gradient(x), tolerance, readNumbers(x.detach()))).toEqual([]),
    );
  });

  it.each(BINARY)('%s', (name, fn) => {
    const values = [...SPECIALS, ...sample(-3, 3).slice(0, 40)];
    const a = tensor(
      values.flatMap((value) => values.map(() => value)),
      { dtype },
    );
    const b = tensor(
      values.flatMap(() => values),
      { dtype },
    );
    const run = compile((x: Tensor, y: Tensor) => fn(x, y), { fullgraph: true });
    const pairs = Array.from({ length: a.numel }, (_, i) => i);
    againstReference(() =>
      expect(differences(run(a, b), fn(a, b), EXACT.has(name) ? 0 : tolerance, pairs)).toEqual([]),
    );
  });
});

it.each(['float32', 'float64'] as const)(
  'rounded quotients of %s are those of PyTorch',
  (dtype) => {
    const a = tensor([1, 6, -1, -1, Infinity, -Infinity, 5, 0], { dtype });
    const b = tensor([0.1, 0.1, 0.1, Infinity, 2, 0, 0, -3], { dtype });
    const limits = [NaN, -Infinity, Infinity, -0];
    const rounded = (roundingMode: 'floor' | 'trunc') =>
      compile((x: Tensor, y: Tensor) => x.div(y, { roundingMode }))(a, b).toArray();
    expect(rounded('floor')).toEqual([9, 59, -10, -1, ...limits]);
    expect(rounded('trunc')).toEqual([10, 60, -10, -0, Infinity, ...limits.slice(1)]);
  },
);

describe.each(['int64', 'int32', 'int16', 'int8', 'uint8'] as const)(
  'compiled functions of %s equal eager ones:',
  (dtype) => {
    const values = [0, 1, -1, 2, 6, -6, 9, 12, -35, 100, 127, -128, 8, 31, 40];
    const usable = dtype === 'uint8' ? values.map(Math.abs) : values;
    const a = tensor(
      usable.flatMap((value) => usable.map(() => value)),
      { dtype },
    );
    const b = tensor(
      usable.flatMap(() => usable),
      { dtype },
    );

    it.each([
      ['gcd', (x: Tensor, y: Tensor) => x.gcd(y)],
      ['lcm', (x: Tensor, y: Tensor) => x.lcm(y)],
      ['bitwiseLeftShift', (x: Tensor, y: Tensor) => x.bitwiseLeftShift(y)],
      ['bitwiseRightShift', (x: Tensor, y: Tensor) => x.bitwiseRightShift(y)],
      ['fmax', (x: Tensor, y: Tensor) => x.fmax(y)],
      ['heaviside', (x: Tensor, y: Tensor) => x.heaviside(y)],
    ] as const)('%s', (_name, fn) => {
      const run = compile((x: Tensor, y: Tensor) => fn(x, y), { fullgraph: true });
      const pairs = Array.from(
        { length: a.numel },
        (_, i) => `${usable[Math.floor(i / usable.length)]}, ${usable[i % usable.length]}`,
      );
      againstReference(() => {
        const [got, wanted] = [readNumbers(run(a, b)), readNumbers(fn(a, b))];
        expect(Array.from(got, (value, i) => [pairs[i], value])).toEqual(
          Array.from(wanted, (value, i) => [pairs[i], value]),
        );
      });
    });
  },
);

describe('compiled membership equals eager:', () => {
  const x = tensor([
    [1, 2, NaN],
    [4, 5, 3],
  ]);
  const tests = tensor([
    [1, 3],
    [NaN, 9],
  ]);

  it.each([
    ['of tensors', () => isin(x, tests)],
    ['inverted', () => isin(x, tests, { invert: true })],
    ['in a number', () => isin(x, 4)],
    ['of a number', () => isin(4, x)],
    ['of another dtype, 0-d', () => isin(x, tensor(3, { dtype: 'int64' }))],
    ['in nothing', () => isin(x, zeros([0]))],
    ['of nothing', () => isin(zeros([0]), x)],
  ])('%s', (_name, fn) => {
    const got = compile(fn, { fullgraph: true })();
    againstReference(() => expect(got.toArray()).toEqual(fn().toArray()));
    expect(got.shape).toEqual(fn().shape);
  });
});

it('the logarithm of the gamma function is 0 at 1 and 2 exactly', () => {
  for (const dtype of ['float32', 'float64'] as const) {
    const x = tensor([1, 2], { dtype });
    for (const run of [(y: Tensor) => y.lgamma(), compile((y: Tensor) => y.lgamma())])
      expect(run(x).toArray()).toEqual([0, 0]);
  }
});

describe('parameters that change between calls', () => {
  it('of powers are roots where they are ±½, as for literals', () => {
    const x = tensor([-Infinity, -0, 0, 4, -4, Infinity]);
    const run = compile((e: number) => x.pow(e), { fullgraph: true });
    for (const e of [2, 0.5, 3, -0.5, 1.5])
      for (const power of [run, (exponent: number) => x.pow(exponent)])
        expect(readNumbers(power(e)), String(e)).toEqual(
          config.patch({ 'eager.kernels': 'reference' }, () => readNumbers(x.pow(e))),
        );
    expect([...readNumbers(x.pow(0.5))]).toEqual([NaN, -0, 0, 2, NaN, Infinity]);
  });

  it('of logit, nanToNum and isin stay parameters', () => {
    const x = tensor([-1, 0.1, 0.45, 0.9, NaN, Infinity]);
    const fn = (eps: number, high: number): Tensor[] => [
      x.logit({ eps }),
      x.nanToNum({ posinf: high }),
      isin(x, high),
    ];
    const run = compile(fn, { fullgraph: true });
    for (const [eps, high] of [
      [0.05, 2.5],
      [0.2, 0.45],
      [0.3, 7.25],
      [0.4, 0.5],
    ] as const) {
      const [got, wanted] = [run(eps, high), fn(eps, high)];
      const at = readNumbers(x);
      got.forEach((value, i) =>
        expect(differences(value, wanted[i]!, 3e-6, at), `${eps}, ${high}`).toEqual([]),
      );
    }
  });
});
