/**
 * @file Special functions that are made of other operators, compiled on both devices, with their derivatives; those with
 * reference kernels only, compiled on the CPU.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Tensor, grad, tensor } from '@tessera/tensor';
import * as special from '@tessera/tensor/special';
import { compile, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

type Fn = (x: Tensor) => Tensor;
const FUNCTIONS: readonly [name: string, fn: Fn][] = [
  ['erfcx', special.erfcx],
  ['ndtr', special.ndtr],
  ['logNdtr', special.logNdtr],
  ['ndtri', (x) => special.ndtri(x.sigmoid())],
  ['entr', (x) => special.entr(x.square())],
  ['xlog1py', (x) => special.xlog1py(x, x.exp())],
  ['zeta', (x) => special.zeta(x.square().add(1.5), x.exp())],
  ['multigammaln', (x) => special.multigammaln(x.exp().add(1), 3)],
  ['a Chebyshev polynomial', (x) => special.chebyshevPolynomialT(x.tanh(), 7)],
  ['a shifted one', (x) => special.shiftedChebyshevPolynomialW(x.sigmoid(), 4)],
  ['a Laguerre polynomial', (x) => special.laguerrePolynomialL(x, 5)],
  ['besselJ0', (x) => special.besselJ0(x.mul(3))],
  ['besselJ1', (x) => special.besselJ1(x.mul(3))],
  ['besselY0', (x) => special.besselY0(x.exp())],
  ['besselY1', (x) => special.besselY1(x.exp())],
  ['modifiedBesselI0', special.modifiedBesselI0],
  ['modifiedBesselI1', special.modifiedBesselI1],
  ['modifiedBesselK0', (x) => special.modifiedBesselK0(x.exp())],
  ['scaledModifiedBesselK1', (x) => special.scaledModifiedBesselK1(x.exp())],
  ['airyAi', (x) => special.airyAi(x.mul(2))],
  ['sphericalBesselJ0', special.sphericalBesselJ0],
  ['a Legendre polynomial', (x) => special.legendrePolynomialP(x.tanh(), 6)],
];
const VALUES = [-3.1, -1.2, -0.7, -0.05, 0.3, 0.9, 1.6, 2.8];

function results(fn: Fn, x: Tensor): Tensor[] {
  const leaf = x.detach().requiresGrad_();
  const y = fn(leaf);
  return [y.detach(), grad(y.mul(y).sum(), leaf)[0]!];
}

/** Results against those in float64 without a compiler. */
async function expectSame(fn: Fn, got: readonly Tensor[]): Promise<void> {
  const expected = results(fn, tensor(VALUES, { dtype: 'float64' }));
  for (const [i, each] of got.entries()) {
    const wanted = expected[i]!.toArray() as number[];
    const have = (await each.toArray()) as number[];
    const size = Math.max(1, ...wanted.map(Math.abs));
    have.forEach((value, j) => expect(Math.abs(value - wanted[j]!) / size).toBeLessThan(2e-5));
  }
}

describe('special functions, compiled', () => {
  it.each(FUNCTIONS)('%s on the CPU', async (_name, fn) => {
    const compiled = compile((x: Tensor) => results(fn, x), { fullgraph: true });
    await expectSame(fn, compiled(tensor(VALUES)));
  });

  it('gammainc and gammaincc call their reference kernels', () => {
    const both: Fn = (x) =>
      special
        .gammainc(x.detach().exp(), x.exp().mul(2))
        .add(special.gammaincc(x.detach().exp(), x.exp()));
    const [y, dy] = compile((x: Tensor) => results(both, x), { fullgraph: true })(tensor(VALUES));
    const [z, dz] = results(both, tensor(VALUES));
    expect(y!.allclose(z!)).toBe(true);
    expect(dy!.allclose(dz!)).toBe(true);
  });
});

describe.runIf(wantsGpu)('special functions on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(FUNCTIONS)('%s', async (_name, fn) => {
    const x = tensor(VALUES).to('wgpu');
    await expectSame(fn, compile((input: Tensor) => results(fn, input), { fullgraph: true })(x));
    await expectSame(fn, results(fn, x));
  });

  it('gammainc is an error that says so', () => {
    const x = tensor([1, 2]).to('wgpu');
    expect(() => special.gammainc(x, x)).toThrow(/igamma/);
  });
});
