/**
 * @file Special functions at the ends of their domains and of high degrees, compiled on both devices: values and
 * gradients as without a compiler in float64.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Tensor, cat, grad, sum, tensor, zeros } from '@tessera/tensor';
import * as special from '@tessera/tensor/special';
import { functional as F } from '@tessera/nn';
import { compile, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

type Fn = (x: Tensor) => Tensor;
const { POSITIVE_INFINITY: inf, NaN: nan } = Number;

const CASES: readonly [name: string, fn: Fn, x: readonly number[]][] = [
  ['entr', special.entr, [-inf, -1, 0, 0.5, 1, inf, nan]],
  ['ndtri', special.ndtri, [-inf, -1, 0, 0.1, 0.5, 1, 2, inf, nan]],
  ['erfcx', special.erfcx, [-inf, -30, -1, 0, 1, 50, inf]],
  ['logNdtr', special.logNdtr, [-30, -5, -1, 0, 1, 6, 40, inf, nan]],
  ['xlog1py of a factor 0', (y) => special.xlog1py(0, y), [-2, -1, 0, inf, nan]],
  ['xlog1py', (x) => special.xlog1py(x, x.mul(0.5)), [-1, 0, 1, 30]],
  ['zeta of an infinite exponent', (q) => special.zeta(inf, q), [1, 2, 0.5]],
  ['multigammaln', (x) => special.multigammaln(x, 2), [0.75, 2, 40, inf]],
  ["Chebyshev's first kind", (x) => special.chebyshevPolynomialT(x, 100), [-1, -0.3, 0.7, 1, 1.01]],
  ["Chebyshev's fourth kind", (x) => special.chebyshevPolynomialW(x, 77), [-1, -0.3, 0.7, 1]],
  ['a huge degree', (x) => special.chebyshevPolynomialV(x, 1e12), [1, 2, -3]],
  ['beyond the limit', (x) => special.hermitePolynomialH(x, 600), [0.5, 1]],
];

function results(fn: Fn, x: Tensor): Tensor[] {
  const leaf = x.detach().requiresGrad_();
  const y = fn(leaf);
  return [y.detach(), grad(y.sum(), leaf)[0]!];
}

async function expectSame(fn: Fn, at: readonly number[], got: readonly Tensor[]): Promise<void> {
  const wanted = results(fn, tensor(at, { dtype: 'float64' })).map((y) => y.toArray() as number[]);
  for (const [i, each] of got.entries())
    ((await each.toArray()) as number[]).forEach((value, j) => {
      const right = wanted[i]![j]!;
      if (Math.abs(value - right) <= 3e-5 * Math.max(1, Math.abs(right))) return;
      expect(value + 0, `${['value', 'gradient'][i]} at ${at[j]}`).toBe(right + 0);
    });
}

describe('compiled', () => {
  it.each(CASES)('%s on the CPU', async (_name, fn, at) => {
    const compiled = compile((x: Tensor) => results(fn, x), { fullgraph: true });
    await expectSame(fn, at, compiled(tensor(at)));
  });

  it.each([
    [
      'cat with nothing',
      (x: Tensor) =>
        cat([zeros([0]).requiresGrad_(), x.reshape([2, 2])])
          .square()
          .sum(),
    ],
    [
      'pooling with an empty stride',
      (x: Tensor) => F.avgPool2d(x.reshape([1, 1, 2, 2]), 2, { stride: [] }).sum(),
    ],
  ] as const)('%s', async (_name, fn) => {
    const compiled = compile((x: Tensor) => results(fn, x), { fullgraph: true });
    const [y, dx] = compiled(tensor([1, 2, 3, 4]));
    const [z, dz] = results(fn, tensor([1, 2, 3, 4]));
    expect([y!.item(), dx!.toArray()]).toEqual([z!.item(), dz!.toArray()]);
  });

  it('a sum to no dimensions is of int64', () => {
    const compiled = compile((x: Tensor) => x.sumToSize([]).add(sum(x)), { fullgraph: true });
    const y = compiled(tensor(3, { dtype: 'int8' }));
    expect([y.dtype, y.item()]).toEqual(['int64', 6]);
  });
});

describe.runIf(wantsGpu)('on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(CASES)('%s', async (_name, fn, at) => {
    const x = tensor(at).to('wgpu');
    await expectSame(
      fn,
      at,
      compile((input: Tensor) => results(fn, input), { fullgraph: true })(x),
    );
    await expectSame(fn, at, results(fn, x));
  });
});
