/**
 * @file Special functions at the ends of their domains and of huge degrees, with what PyTorch 2.13 gives.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, grad, tensor } from '../src/index.js';
import { jvp, vmap } from '../src/func/index.js';
import * as special from '../src/special.js';

const { POSITIVE_INFINITY: inf, NaN: nan } = Number;

function expectClose(actual: Tensor, wanted: readonly number[], tolerance: number): void {
  (actual.toArray() as number[]).forEach((value, i) => {
    const error = Math.abs(value - wanted[i]!) / Math.abs(wanted[i]!);
    if (!(error <= tolerance)) expect(value + 0, `element ${i}`).toEqual(wanted[i]! + 0);
  });
}

// prettier-ignore
const EDGES: readonly [name: string, fn: (x: Tensor) => Tensor, x: number[], y: number[], slope: number[]][] = [
  ['entr', special.entr, [-inf, -1, 0, 0.5, 1, inf, nan], [-inf, -inf, 0, 0.34657359027997264, 0, -inf, nan], [nan, nan, inf, -0.3068528194400547, -1, -inf, nan]],
  ['ndtri', special.ndtri, [-inf, -1, 0, 0.1, 0.5, 0.99, 1, 2, inf, nan], [nan, nan, -inf, -1.2815515655446004, 0, 2.3263478740408408, inf, nan, nan, nan], [nan, nan, inf, 5.698059856117003, 2.5066282746310002, 37.52043615729513, inf, nan, nan, nan]],
  ['erfcx', special.erfcx, [-inf, -30, -1, 0, 1, 50, nan], [inf, inf, 5.008980080762283, 1, 0.427583576155807, 0.011281536265323772, nan], [-inf, -inf, -11.14633932862008, -1.1283791670955126, -0.27321201478389856, -0.0002255405631352847, nan]],
  ['logNdtr', special.logNdtr, [-30, -5, -1, 0, 1, 6, 40, inf, nan], [-454.32124395634327, -15.064998393988727, -1.841021645009264, -Math.LN2, -0.17275377902344985, -9.865876455243713e-10, 0, 0, nan], [30.03325966743577, 5.18650396712585, 1.525135276160982, 0.7978845608028654, 0.2875999709391784, 6.075882855817682e-9, 0, 0, nan]],
  ['xlog1py of a factor 0', (y) => special.xlog1py(0, y), [-2, -1, 0, inf, nan], [0, 0, 0, 0, nan], [0, nan, 0, 0, nan]],
  ['xlog1py of an infinite other', (x) => special.xlog1py(x, inf), [-1, 0, 1, nan], [-inf, 0, inf, nan], [inf, inf, inf, inf]],
  ['xlog1py of another -1', (x) => special.xlog1py(x, -1), [-1, 0, 1, nan], [inf, 0, -inf, nan], [-inf, 0, -inf, -inf]],
];

describe.each([
  ['float64', 1e-12],
  ['float32', 2e-6],
] as const)('values and gradients in %s', (dtype, tolerance) => {
  it.each(EDGES)('of %s', (_name, fn, at, value, slope) => {
    const x = tensor(at, { dtype, requiresGrad: true });
    const y = fn(x);
    expectClose(y.detach(), value, tolerance);
    expectClose(grad([y.sum()], [x])[0]!, slope, tolerance);
  });
});

it('have second derivatives', () => {
  const x = tensor([0.2, 0.7], { dtype: 'float64', requiresGrad: true });
  const second = (fn: (x: Tensor) => Tensor): Tensor =>
    grad([grad([fn(x).sum()], [x], { createGraph: true })[0]!.sum()], [x])[0]!;
  expectClose(second(special.entr), [-5, -1 / 0.7], 1e-14);
  // Of log Φ it is -s (x + s), s being the first.
  const [s] = grad([special.logNdtr(x).sum()], [x]);
  expectClose(
    second(special.logNdtr),
    s!.mul(x.detach().add(s!)).neg().toArray() as number[],
    1e-13,
  );
});

it('are batched and have forward derivatives', () => {
  const x = tensor(
    [
      [0.2, 0.7],
      [0.3, 0.4],
    ],
    { dtype: 'float64' },
  );
  const y = tensor([0.5, 2], { dtype: 'float64' });
  for (const fn of [special.entr, special.ndtri, special.logNdtr]) {
    expect(vmap(fn)(x).toArray()).toEqual(fn(x).toArray());
    const [, slope] = jvp(fn, [x], [x.mul(0).add(2)]);
    const leaf = x.clone().requiresGrad_();
    expect(slope.allclose(grad([fn(leaf).sum()], [leaf])[0]!.mul(2))).toBe(true);
  }
  const rows = vmap((a: Tensor) => special.xlog1py(a, y))(x);
  expect(rows.toArray()).toEqual(special.xlog1py(x, y).toArray());
});

describe('zeta of an exponent without end', () => {
  it.each(['float64', 'float32'] as const)('in %s', (dtype) => {
    const values = [inf, 1e30].map((s) =>
      special.zeta(s, tensor([1, 0.5, 0, -1, -0.5, 2, nan], { dtype })).toArray(),
    );
    // Of 2 it is 0; PyTorch's series has 0 / 0 there.
    for (const each of values) expect(each).toEqual([1, inf, inf, inf, inf, 0, nan]);
  });
});

it('incomplete gamma functions of NaN beside a limit are the limit', () => {
  const a = tensor([nan, inf, nan, 0, 1, nan, -1], { dtype: 'float64' });
  const x = tensor([0, nan, inf, nan, nan, 1, 1], { dtype: 'float64' });
  expect(special.gammainc(a, x).toArray()).toEqual([0, 0, 1, nan, nan, nan, nan]);
  expect(special.gammaincc(a, x).toArray()).toEqual([1, 1, 0, nan, nan, nan, nan]);
});

describe('multigammaln', () => {
  it('is infinite at a pole, as its gradient', () => {
    const x = tensor([0.5, 2], { dtype: 'float64', requiresGrad: true });
    const y = special.multigammaln(x, 2);
    expectClose(y.detach(), [inf, 0.4515827052894549], 1e-14);
    expectClose(grad([y.sum()], [x])[0]!, [-inf, 0.4592743090770432], 1e-14);
  });

  it('refuses in the words of PyTorch', () => {
    expect(() => special.multigammaln(tensor([2]), -1)).toThrow(
      'p has to be greater than or equal to 1',
    );
    expect(() => special.multigammaln(tensor([2]), 1.5)).toThrow(
      "special_multigammaln(): argument 'p' (position 2) must be int, not float",
    );
    expect(() => special.multigammaln(tensor([true]), 1)).toThrow(
      'The input tensor may not be a boolean tensor.',
    );
  });
});

describe('polynomials of high degree', () => {
  const at = (x: number | number[], dtype: 'float32' | 'float64' = 'float64'): Tensor =>
    tensor([x].flat(), { dtype });
  // prettier-ignore
  const HIGH = [['T', 100, 0.3, 0.5843957271937751], ['U', 101, -0.7, 0.732777764980288], ['V', 1000, 0.999, 0.7214570809916584], ['W', 100001, -0.4, -0.24411143075970052], ['T', 1e9, 0.3, 0.9978906732737539]] as const;
  const kinds = {
    T: special.chebyshevPolynomialT,
    U: special.chebyshevPolynomialU,
    V: special.chebyshevPolynomialV,
    W: special.chebyshevPolynomialW,
  };
  const shifted = {
    T: special.shiftedChebyshevPolynomialT,
    U: special.shiftedChebyshevPolynomialU,
    V: special.shiftedChebyshevPolynomialV,
    W: special.shiftedChebyshevPolynomialW,
  };

  it.each(HIGH)("Chebyshev's %s of degree %s", (kind, n, x, value) => {
    for (const degree of [n, tensor(n, { dtype: 'float64' })]) {
      expectClose(kinds[kind](at(x), degree), [value], n * 1e-14);
      expectClose(shifted[kind](at((x + 1) / 2), degree), [value], n * 1e-14);
    }
  });

  it('are lost two steps after they overflow', () => {
    expect(special.chebyshevPolynomialT(at([2, -1.5, 1e20, inf, nan]), 10 ** 9).toArray()).toEqual(
      Array(5).fill(nan),
    );
    expect(special.chebyshevPolynomialT(at([1, -1]), 10 ** 9 + 1).toArray()).toEqual([1, -1]);
    expect(special.chebyshevPolynomialU(at([1, -1]), 10 ** 9).toArray()).toEqual([
      1000000001, 1000000001,
    ]);
  });

  it.each(['T', 'U', 'V', 'W'] as const)(
    'the closed form of %s goes on with the recurrence',
    (kind) => {
      const fn = kinds[kind];
      const x = at([-2, -1, -0.3, 0.4, 1, 1.01]).requiresGrad_();
      const of = (n: number): Tensor => fn(x, n);
      const next = x.mul(2).mul(of(64)).sub(of(63));
      expectClose(of(65).detach(), next.detach().toArray() as number[], 1e-12);
      expectClose(
        grad([of(65).sum()], [x])[0]!,
        grad([next.sum()], [x])[0]!.toArray() as number[],
        1e-11,
      );
      // Degrees of a tensor are each on their side.
      const both = fn(x.detach(), tensor([65, 2, 65, 2, 65, 2])).toArray() as number[];
      const [high, low] = [of(65), of(2)].map((y) => y.detach().toArray() as number[]);
      both.forEach((value, i) => expect(value).toBe((i % 2 === 0 ? high : low)![i]));
    },
  );

  it("Hermite's are NaN beyond PyTorch's limits", () => {
    for (const fn of [special.hermitePolynomialH, special.hermitePolynomialHe]) {
      expect(fn(at(0.5, 'float32'), 129).toArray()).toEqual([nan]);
      expect(fn(at(0.5), 513).toArray()).toEqual([nan]);
      expect(fn(at([0.5, 0.5]), tensor([1e12, 0], { dtype: 'float64' })).toArray()).toEqual([
        nan,
        1,
      ]);
      expect(Number.isNaN(fn(at(0.5), 129).item())).toBe(false);
    }
  });

  it('others are refused instead of running for hours', () => {
    for (const fn of [special.legendrePolynomialP, special.laguerrePolynomialL]) {
      expect(() => fn(at(0.5), 1e9)).toThrow(
        'degrees above 16384 take too many steps, got 1000000000',
      );
      expect(() => fn(at(0.5), tensor([1e9]))).toThrow('degrees above 16384 take too many steps');
    }
  });
});
