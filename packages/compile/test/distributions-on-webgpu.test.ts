/**
 * @file Numbers drawn by rejection and the incomplete gamma functions on WebGPU, eager and compiled: those of the CPU's
 * reference kernels for the same seed, with the same derivatives, errors and turns of the generator.
 */
import {
  type Tensor,
  arange,
  binomial,
  download,
  full,
  getRngState,
  grad,
  manualSeed,
  ones,
  poisson,
  rand,
  standardGamma,
  tensor,
} from '@tessera/tensor';
import { gammainc, gammaincc } from '@tessera/tensor/special';
import { TesseraError, config } from '@tessera/shared';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, initWebGpu, observeCompilations } from '../src/node.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

type Fn = (...xs: Tensor[]) => Tensor[];

/** Numbers of many magnitudes, `count` from 10^low to 10^high. */
const magnitudes = (count: number, low: number, high: number): Tensor =>
  tensor(Array.from({ length: count }, (_, i) => 10 ** (low + ((high - low) * i) / count)));

const SPECIAL = tensor([NaN, -1, 0, Infinity, 1]);

/** Whether an element is the same number but for rounding; `share` of them need not be. */
async function expectNear(
  made: readonly Tensor[],
  expected: readonly Tensor[],
  { rtol = 2e-5, share = 0 } = {},
): Promise<void> {
  expect(made.length).toBe(expected.length);
  for (const [i, each] of made.entries()) {
    const [actual, exact] = [await download(each), expected[i]!];
    expect([actual.dtype, actual.sizes]).toEqual([exact.dtype, exact.sizes]);
    const values = [actual, exact, actual.isclose(exact, { rtol, atol: 1e-30, equalNan: true })];
    const [numbers, wanted, near] = values.map((x) => x.flatten().toArray()) as number[][];
    const far = numbers!.flatMap((x, at) => (near![at] ? [] : [[at, x, wanted![at]]]));
    if (far.length > share * exact.numel) expect(far).toEqual([]);
  }
}

/** Calls of a function on the CPU, on WebGPU and compiled for it, on one seed. */
async function expectSame(fn: Fn, inputs: readonly Tensor[], options = {}): Promise<void> {
  manualSeed(11);
  const expected = fn(...inputs);
  const { offset } = getRngState();
  const there = inputs.map((x) => x.to('wgpu'));
  for (const run of [fn, compile(fn, { fullgraph: true })]) {
    manualSeed(11);
    const made = run(...there);
    expect(getRngState().offset).toBe(offset);
    await expectNear(made, expected, options);
  }
}

const EACH = 2000;
const FLOAT = { dtype: 'float32' } as const;
const SAMPLES: [string, Fn, Tensor[]][] = [
  ...[0.001, 0.3, 1, 2.5, 40, 1e4].map((alpha): [string, Fn, Tensor[]] => [
    `gamma ${alpha}`,
    (x) => [standardGamma(x)],
    [full([EACH], alpha, FLOAT)],
  ]),
  ...[0.1, 9.5, 10, 300, 1e5].map((rate): [string, Fn, Tensor[]] => [
    `Poisson ${rate}`,
    (x) => [poisson(x)],
    [full([EACH], rate, FLOAT)],
  ]),
  ...(
    [
      [7, 0.3],
      [100, 0.04],
      [1000, 0.8],
      [1e6, 0.37],
      [1e7, 1e-4],
    ] as const
  ).map(([n, p]): [string, Fn, Tensor[]] => [
    `binomial ${n}, ${p}`,
    (count, prob) => [binomial(count, prob)],
    [full([EACH], n, FLOAT), full([EACH], p)],
  ]),
];

const SHAPES: [string, Fn, Tensor[]][] = [
  ['nothing', (x) => [standardGamma(x), poisson(x), binomial(x, x)], [ones([0, 3])]],
  ['one number', (x) => [standardGamma(x), poisson(x), binomial(x, x)], [tensor(0.5)]],
  ['rows that are turned', (x) => [standardGamma(x.t()), poisson(x.t())], [rand([5, 7]).add(0.5)]],
  [
    'parameters that broadcast',
    (n, p) => [binomial(n, p), gammainc(n, p), gammaincc(p, n)],
    [arange(0, 6, 1, FLOAT).unsqueeze(1).mul(9), rand([1, 5])],
  ],
  ['what has no numbers', (x) => [standardGamma(x), binomial(x, x.mul(0).add(0.5))], [SPECIAL]],
  ['probabilities that are none', (p) => [binomial(full([5], 9.5).to(p.device), p)], [SPECIAL]],
  ['halves', (x) => [standardGamma(x), poisson(x)], [full([300], 3.5, { dtype: 'float16' })]],
];

describe.skipIf(!wantsGpu)('on WebGPU, as on the CPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(SAMPLES)('%s', (_, fn, inputs) => expectSame(fn, inputs, { share: 0.001 }));
  it.each(SHAPES)('%s', (_, fn, inputs) => expectSame(fn, inputs, { rtol: 1e-3 }));

  it('take their turns among other random operators', () =>
    expectSame(
      (x) => [
        rand([5], { device: x.device }).add(x),
        standardGamma(x.abs().add(0.5)),
        rand([5], { device: x.device }).mul(x),
        poisson(x.mul(20)),
        x.clone().geometric_(0.3),
        binomial(x.mul(10).floor(), rand([5], { device: x.device })),
        x.clone().exponential_(2),
      ],
      [full([5], 1.5)],
    ));

  it.each([
    ['gammainc', gammainc],
    ['gammaincc', gammaincc],
  ] as const)('%s, where it is small, near its edge and large', async (_, fn) => {
    const a = magnitudes(3000, -4, 9);
    for (const shift of [-4, -1, 0, 0.1, 2])
      await expectSame((a, x) => [fn(a, x)], [a, a.add(a.sqrt().mul(shift)).abs().add(1e-6)]);
    await expectSame((a, x) => [fn(a, x)], [a, magnitudes(3000, 5, -5)]);
  });

  it('NaN and infinities of the incomplete gamma functions', () => {
    const a = SPECIAL.unsqueeze(1).expand([5, 5]);
    return expectSame((a, x) => [gammainc(a, x), gammaincc(a, x)], [a, SPECIAL.expand([5, 5])]);
  });

  it('have the derivatives of the CPU', async () => {
    await expectSame(
      (alpha, x) => {
        const leaves = [alpha.clone().requiresGrad_(), x.clone().requiresGrad_()] as const;
        const [shape, at] = leaves;
        const loss = standardGamma(shape).log().sum().add(gammainc(alpha, at).sum());
        return grad(loss.add(poisson(shape).mul(shape).sum()), [...leaves]) as Tensor[];
      },
      [magnitudes(500, -2, 4), magnitudes(500, 1, -3)],
    );
  });

  it.each([0.3, 1, 2.5, 40, 1e4])('gamma numbers of %s are distributed so', async (alpha) => {
    const count = 20_000;
    manualSeed(1);
    const shape = full([count], alpha, { ...FLOAT, device: 'wgpu' });
    const places = (await download(gammainc(shape, standardGamma(shape)))).sort()[0].toArray();
    const expected = (i: number): number => (i + 0.5) / count;
    const farthest = Math.max(...(places as number[]).map((at, i) => Math.abs(at - expected(i))));
    // Kolmogorov and Smirnov: one seed in a hundred is farther.
    expect(farthest).toBeLessThan(1.63 / Math.sqrt(count));
  });

  it.each([
    ['Poisson', (x: Tensor) => poisson(x.mul(0).add(30)), 30, 30],
    ['few Poisson', (x: Tensor) => poisson(x.mul(0).add(0.7)), 0.7, 0.7],
    ['binomial', (x: Tensor) => binomial(x.mul(0).add(90), x.mul(0).add(0.6)), 54, 21.6],
  ] as const)('%s numbers have their mean and variance', async (_, fn, mean, variance) => {
    const count = 40_000;
    manualSeed(4);
    const drawn = fn(ones([count], { device: 'wgpu' }));
    const [average, spread] = [await drawn.mean().item(), await drawn.var().item()];
    expect(Math.abs(average - mean)).toBeLessThan(4 * Math.sqrt(variance / count));
    // The variance of the variance, of distributions near a normal one.
    expect(Math.abs(spread / variance - 1)).toBeLessThan(5 * Math.sqrt(2 / count) + 0.02);
  });

  it('are drawn again for a backward pass that recomputes them', async () => {
    const fn = (x: Tensor): Tensor =>
      standardGamma(x.mul(2))
        .sin()
        .mul(poisson(x.mul(3)).cos())
        .sin();
    const slopes = (run: typeof fn, device: 'cpu' | 'wgpu'): Tensor => {
      manualSeed(3);
      const x = full([64], 1.5, FLOAT).to(device).requiresGrad_();
      run(x).add(run(x)).sum().backward();
      return x.grad!;
    };
    const graphs: string[] = [];
    const stop = observeCompilations((module) => graphs.push(module.print()));
    const made = config.patch({ 'aot.recomputeRandom': true }, () => slopes(compile(fn), 'wgpu'));
    stop();
    expect(graphs.join()).toContain('replay_aten_poisson');
    await expectNear([made], [slopes(fn, 'cpu')], { rtol: 1e-4 });
  });

  it('a checked rate that is none is an error of the next awaited read', async () => {
    for (const rate of [-1, NaN]) {
      const drawn = poisson(tensor([3, rate], { device: 'wgpu' }));
      const error = await download(drawn).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(TesseraError);
      expect(String(error)).toContain('invalid Poisson rate, expected rate to be non-negative');
    }
  });
});
