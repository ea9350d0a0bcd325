/**
 * @file Linear algebra, Fourier transforms and counting in compiled graphs: kernels of the CPU called from generated
 * code, with the same results, gradients and errors as eager; for linear algebra on WebGPU an error that says so.
 * Fourier transforms are generated (fourier-transforms.test.ts).
 */
import {
  type Tensor,
  bernoulli,
  eye,
  full,
  isTensor,
  manualSeed,
  matmul,
  ones,
  rand,
  zeros,
} from '@tessera/tensor';
import * as fft from '@tessera/tensor/fft';
import * as linalg from '@tessera/tensor/linalg';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

type Fn = (x: Tensor) => Tensor | Tensor[];

const spd = (x: Tensor): Tensor => matmul(x, x.mT).add(eye(x.size(-1)));

const functions: [name: string, fn: Fn][] = [
  ['inv', (x) => linalg.inv(x).mul(2)],
  ['solve', (x) => linalg.solve(x, x.sum(-1, { keepdim: true }))],
  ['cholesky', (x) => linalg.cholesky(spd(x)).tanh()],
  ['choleskySolve', (x) => linalg.choleskySolve(x, linalg.cholesky(spd(x)))],
  ['det and slogdet', (x) => [linalg.det(x), linalg.slogdet(x)[1]]],
  ['eigvalsh', (x) => linalg.eigvalsh(x.add(x.mT)).exp()],
  ['eigh', (x) => linalg.eigh(x.add(x.mT))[1].square()],
  ['svdvals', (x) => linalg.svdvals(x)],
  ['lu', (x) => linalg.lu(x)],
  ['luSolve', (x) => linalg.luSolve(...linalg.luFactor(x), x.relu())],
  ['lstsq', (x) => linalg.lstsq(x.narrow(-1, 0, 2), x)[0]],
  ['pinv', (x) => linalg.pinv(x.narrow(-1, 0, 2))],
  ['matrixPower', (x) => linalg.matrixPower(x.mul(0.3), 5)],
  ['cond', (x) => linalg.cond(x)],
  ['multiDot', (x) => linalg.multiDot([x.select(0, 0), x.select(0, 1), x.select(0, 0)])],
  ['vander', (x) => linalg.vander(x.sin())],
  ['vecdot', (x) => linalg.vecdot(x, x.cos())],
  ['fft', (x) => fft.fft(fft.complex(x, x.sin())).square()],
  ['rfft and irfft', (x) => fft.irfft(fft.rfft(x).mul(2), { n: 3 }).exp()],
  ['rfft2', (x) => fft.rfft2(x.sin())],
  [
    'stft and istft',
    (x) => {
      const options = { window: fft.hannWindow(4), hopLength: 1 };
      return fft.istft(fft.stft(x.flatten(1), 4, options).mul(2), 4, options).exp();
    },
  ],
  ['fftshift', (x) => fft.fftshift(x.mul(2)).add(fft.fftfreq(3))],
  ['logcumsumexp', (x) => x.mul(2).logcumsumexp(-1).sin()],
  ['clip', (x) => x.clip(-0.5, 0.5).mul(x)],
  ['fillDiagonal_', (x) => x.mul(2).select(0, 0).clone().fillDiagonal_(3).sin()],
  ['conversions', (x) => x.double().mul(1.5).float()],
];

function input(): Tensor {
  manualSeed(3);
  return rand([2, 3, 3]).add(eye(3).mul(1.5));
}

function numbers(value: unknown): number[] {
  const list = isTensor(value) ? [value] : (value as Tensor[]);
  return list.flatMap((each) => Array.from(each.toTypedArray(), Number));
}

function expectClose(actual: number[], expected: number[]): void {
  expect(actual.length).toBe(expected.length);
  expected.forEach((value, i) =>
    expect(Math.abs(actual[i]! - value)).toBeLessThanOrEqual(1e-4 + 1e-4 * Math.abs(value)),
  );
}

/** Results, and the gradient of their sum. */
function observe(fn: Fn): [number[], number[]] {
  const x = input().requiresGrad_();
  const result = fn(x);
  const list = isTensor(result) ? [result] : result;
  list
    .filter((each) => each.requiresGrad)
    .map((each) => each.sum())
    .reduce((a, b) => a.add(b))
    .backward();
  return [numbers(list), numbers(x.grad!)];
}

describe('compiled for the CPU in one graph', () => {
  it.each(functions)('%s', (_name, fn) => {
    const [values, gradient] = observe(fn);
    const [compiledValues, compiledGradient] = observe(compile(fn, { fullgraph: true }));
    expectClose(compiledValues, values);
    expectClose(compiledGradient, gradient);
  });

  it('a step of a Gaussian likelihood, with its backward inside', () => {
    const step = (factor: Tensor): Tensor => {
      const covariance = spd(factor);
      const l = linalg.cholesky(covariance);
      const white = linalg.solveTriangular(l, ones([2, 3, 1]), { upper: false });
      white.square().sum().add(linalg.slogdet(covariance)[1].sum()).backward();
      return factor.sub(factor.grad!.mul(0.1)).detach();
    };
    const leaf = (): Tensor => input().requiresGrad_();
    const compiled = compile(step, { fullgraph: true });
    expectClose(numbers(compiled(leaf())), numbers(step(leaf())));
  });

  it('histograms, counts and truth values', () => {
    const counts = (x: Tensor): Tensor[] => [x.histc({ bins: 4 }), ...x.histogram(3)];
    expectClose(numbers(compile(counts, { fullgraph: true })(input())), numbers(counts(input())));
    const broken = (x: Tensor): Tensor[] => {
      const whole = x.mul(4).long().ravel();
      const frequent = whole.bincount({ minlength: 20 });
      return [x.allclose(x.mul(1)) && !x.equal(x.add(1)) ? frequent.add(1) : frequent];
    };
    expectClose(numbers(compile(broken)(input())), numbers(broken(input())));
  });

  it('throws what eager throws for singular matrices', () => {
    const fn = compile((x: Tensor) => linalg.inv(x).sum());
    expect(() => fn(zeros([2, 2])).item()).toThrow('input matrix is singular');
    expect(fn(eye(2)).item()).toBe(2);
  });

  it('throws what eager throws where windows add up to nothing', () => {
    const fn = compile((z: Tensor) => fft.istft(z, 4, { window: z.select(0, 0).flatten() }).sum());
    expect(() => fn(zeros([3, 2, 2])).item()).toThrow('window overlap add min: 0');
    expect(fn(ones([3, 2, 2])).item()).toBeCloseTo(-0.25, 6);
  });

  it('keeps draws beside it in order', () => {
    const fn = (x: Tensor): Tensor[] => [bernoulli(full([4], 0.5)), linalg.inv(x), rand([4])];
    const run = (f: typeof fn): number[] => {
      manualSeed(9);
      return numbers(f(eye(2)));
    };
    expectClose(run(compile(fn)), run(fn));
  });
});

describe.skipIf(!wantsGpu)('on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it('exponential and log-normal numbers are generated there', async () => {
    const fn = (x: Tensor): Tensor => x.clone().exponential_(2).add(x.clone().logNormal_(0, 0.5));
    manualSeed(4);
    const expected = numbers(fn(zeros([64])));
    for (const run of [fn, compile(fn)]) {
      manualSeed(4);
      expectClose((await run(zeros([64]).to('wgpu')).toArray()) as number[], expected);
    }
  });
});
