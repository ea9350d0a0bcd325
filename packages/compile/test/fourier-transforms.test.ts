/**
 * @file Fourier transforms as matrix products and by code of their own, eager and compiled, on both devices, against their
 * host kernels in float64, which apps/oracle compares with PyTorch.
 */
import { counters } from '@tessera/shared';
import { makeFx } from '@tessera/graph';
import { type Tensor, cat, cpuHeap, fromTypedArray, grad, tidy, zeros } from '@tessera/tensor';
import * as fft from '@tessera/tensor/fft';
import { emptyFromMeta, getOp, readNumbers } from '@tessera/tensor/internal';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, initWebGpu, useFourier } from '../src/index.js';
import { fullTests } from '../../../tooling/full-tests.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

function waves(dtype: 'float32' | 'float64', ...sizes: number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  const values = Float64Array.from({ length: numel }, (_, i) => Math.sin(1 + i * 12.9898));
  return fromTypedArray(values, sizes).to(dtype);
}

/** The result of the host kernel for these values in float64. */
function expected(name: 'c2c' | 'r2c' | 'c2r', x: Tensor, ...rest: unknown[]): Float64Array {
  const op = getOp(`tessera::fft_${name}`);
  const { meta, kernel } = op.record;
  const bound = op.bind([x.double(), ...rest]);
  const out = emptyFromMeta(meta!(bound) as never);
  kernel!(bound, [out]);
  return readNumbers(out);
}

/** The largest error, relative to the largest result. */
function errorOf(actual: ArrayLike<number>, wanted: ArrayLike<number>): number {
  expect(actual.length).toBe(wanted.length);
  let [worst, largest] = [0, Number.MIN_VALUE];
  for (let i = 0; i < wanted.length; i++) {
    const distance = Math.abs(actual[i]! - wanted[i]!);
    worst = distance <= worst ? worst : distance;
    largest = Math.max(largest, Math.abs(wanted[i]!));
  }
  return worst / largest;
}

type Case = readonly [what: string, fn: (x: Tensor) => Tensor, x: Tensor, wanted: Float64Array];

/** All transforms of two rows of a length. */
function transforms(n: number, dtype: 'float32' | 'float64'): readonly Case[] {
  const x = waves(dtype, 2, n);
  const z = waves(dtype, 2, n, 2);
  const half = waves(dtype, 2, (n >> 1) + 1, 2);
  return [
    ['rfft', (t) => fft.rfft(t), x, expected('r2c', x, [1], 0)],
    ['fft', (t) => fft.fft(t), z, expected('c2c', z, [1], 0, true)],
    ['ifft', (t) => fft.ifft(t), z, expected('c2c', z, [1], 2, false)],
    ['irfft', (t) => fft.irfft(t, { n }), half, expected('c2r', half, [1], 2, n)],
  ];
}

const BOUND = { float32: 2e-6, float64: 1e-13 } as const;

const NORMS = ['backward', 'ortho', 'forward'] as const;
/** By their numbers, of a transform forwards. */
const SCALES = { backward: 0, ortho: 1, forward: 2 } as const;

/** What is compared for several dimensions, norms and lengths. */
const shaped: readonly Case[] = NORMS.flatMap((norm): Case[] => {
  const x = waves('float32', 6, 70, 5);
  const z = waves('float32', 6, 70, 5, 2);
  const scale = SCALES[norm];
  return [
    [
      `rfft along 1, ${norm}`,
      (t) => fft.rfft(t, { dim: 1, norm }),
      x,
      expected('r2c', x, [1], scale),
    ],
    [`rfftn, ${norm}`, (t) => fft.rfftn(t, { norm }), x, expected('r2c', x, [0, 1, 2], scale)],
    [
      `fftn of two, ${norm}`,
      (t) => fft.fftn(t, { dim: [2, 1], norm }),
      z,
      expected('c2c', z, [2, 1], scale, true),
    ],
    [
      `longer, ${norm}`,
      (t) => fft.rfft(t, { n: 90, dim: 1, norm }),
      x,
      expected('r2c', longer(x), [1], scale),
    ],
    [
      `shorter, ${norm}`,
      (t) => fft.rfft(t, { n: 66, dim: 1, norm }),
      x,
      expected('r2c', x.narrow(1, 0, 66), [1], scale),
    ],
    [
      `irfftn, ${norm}`,
      (t) => fft.irfftn(t, { s: [70, 9], dim: [1, 2], norm }),
      z,
      expected('c2r', z, [1, 2], 2 - scale, 9),
    ],
  ];
});

function longer(x: Tensor): Tensor {
  return cat([x, zeros([6, 20, 5])], 1);
}

/** Tests of both ways on the CPU. */
function onTheCpu(): void {
  it.each(['float32', 'float64'] as const)('lengths of every kind: %s', (dtype) => {
    const lengths = [...Array(70).keys()].map((i) => i + 1);
    for (const n of [...lengths, 97, 127, 131, 254, 262, 768, 1000, 1009, 1024, 3072, 65536])
      for (const [what, fn, x, wanted] of transforms(n, dtype))
        expect(errorOf(readNumbers(fn(x)), wanted), `${what} of ${n}`).toBeLessThan(BOUND[dtype]);
  });

  it('a large prime number of elements', () => {
    const x = waves('float32', fullTests ? 1_000_003 : 100_003);
    const error = errorOf(readNumbers(fft.rfft(x)), expected('r2c', x, [0], 0));
    expect(error).toBeLessThan(BOUND.float32);
  }, 300_000);

  it.each(shaped)('%s', (_what, fn, x, wanted) => {
    expect(errorOf(readNumbers(fn(x)), wanted)).toBeLessThan(BOUND.float32);
    const compiled = compile(fn, { fullgraph: true })(x);
    expect(errorOf(readNumbers(compiled), wanted)).toBeLessThan(BOUND.float32);
  });

  it.each([6, 100, 131])('gradients, and those of gradients: %d', (n) => {
    const norm = 'ortho';
    const fn = (x: Tensor): Tensor => fft.irfft(fft.rfft(x, { norm }).pow(3), { n, norm }).square();
    const input = (): Tensor => waves('float64', 3, n).requiresGrad_();
    const gradient = (of: (x: Tensor) => Tensor): Float64Array => {
      const x = input();
      of(x).sum().backward();
      return readNumbers(x.grad!);
    };
    const first = gradient(fn);
    expect(errorOf(gradient(compile(fn, { fullgraph: true })), first)).toBeLessThan(1e-12);
    const steepness = (x: Tensor): Tensor =>
      grad(fn(x).sum(), [x], { createGraph: true })[0]!.square().sum();
    const second = gradient(steepness);
    // What both change by along their gradients.
    const checkSlope = (of: (x: Tensor) => Tensor, slopes: Float64Array): void => {
      const length = Math.hypot(...slopes);
      const direction = fromTypedArray(slopes, [3, n]).div(length);
      const at = (by: number): number =>
        of(input().detach().add(direction.mul(by)).requiresGrad_())
          .sum()
          .item();
      expect((at(1e-4) - at(-1e-4)) / 2e-4 / length).toBeCloseTo(1, 5);
    };
    checkSlope(fn, first);
    checkSlope(steepness, second);
  });

  it('any number of rows runs on the same code', () => {
    const fn = (x: Tensor): Tensor => fft.irfft(fft.rfft(x).mul(2), { n: 100 }).sin();
    const compiled = compile(fn, { fullgraph: true, dynamic: true });
    const made = (run: () => void): number => {
      const own = (): number => {
        const { graphs = 0, shared = 0 } = counters.get('inductor');
        return graphs - shared;
      };
      const before = own();
      run();
      return own() - before;
    };
    const codes = [2, 3, 1, 5, 7, 11, 40].map((rows) => {
      const x = waves('float32', rows, 100);
      const wanted = readNumbers(fn(x));
      return made(() =>
        expect(errorOf(readNumbers(compiled(x)), wanted)).toBeLessThan(BOUND.float32),
      );
    });
    expect(codes[0]).toBe(1);
    expect(codes.slice(3)).toEqual([0, 0, 0, 0]);
  });

  it('lengths change between calls', () => {
    const compiled = compile((x: Tensor): Tensor => fft.rfft(x));
    for (const n of [90, 96, 131, 96, 64, 7])
      for (const rows of [3, 4]) {
        const x = waves('float32', rows, n);
        const wanted = expected('r2c', x, [1], 0);
        expect(errorOf(readNumbers(compiled(x)), wanted)).toBeLessThan(BOUND.float32);
        expect(errorOf(readNumbers(fft.rfft(x)), wanted)).toBeLessThan(BOUND.float32);
      }
  });

  it('tables outlive the scope that they were made in', () => {
    const x = waves('float32', 3, 83);
    const wanted = expected('r2c', x, [1], 0);
    for (let i = 0; i < 2; i++)
      tidy(() => expect(errorOf(readNumbers(fft.rfft(x)), wanted)).toBeLessThan(BOUND.float32));
  });

  it('nothing, which has no spectra', () => {
    const x = waves('float32', 0, 70);
    expect(fft.rfft(x).shape).toEqual([0, 36, 2]);
    expect(compile((t: Tensor) => fft.rfft(t))(x).shape).toEqual([0, 36, 2]);
  });
}

describe('on the CPU, as products', () => {
  onTheCpu();
});

describe.skipIf(!wantsGpu)('on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  const values = async (x: Tensor): Promise<number[]> =>
    (await x.detach().flatten().toArray()) as number[];

  it.each([1, 2, 37, 66, 131, 768, 1009, 65536])('length %d', async (n) => {
    for (const [what, fn, x, wanted] of transforms(n, 'float32'))
      expect(errorOf(await values(fn(x.to('wgpu'))), wanted), what).toBeLessThan(BOUND.float32);
  });

  it.each(shaped.slice(0, 6))('%s, compiled', async (_what, fn, x, wanted) => {
    const compiled = compile(fn, { fullgraph: true })(x.to('wgpu'));
    expect(errorOf(await values(compiled), wanted)).toBeLessThan(BOUND.float32);
  });

  it('stft and istft, with gradients, eager and compiled', async () => {
    const window = fft.hannWindow(32);
    const x = waves('float32', 2, 300);
    const observe = async (
      device: 'cpu' | 'wgpu',
      wrap: (fn: (x: Tensor) => Tensor) => (x: Tensor) => Tensor,
    ): Promise<number[]> => {
      const options = { window: window.to(device) };
      const fn = wrap((t) => fft.istft(fft.stft(t, 32, options).pow(3), 32, options));
      const leaf = x.detach().to(device).requiresGrad_();
      const y = fn(leaf);
      y.sum().backward();
      return [...(await values(y)), ...(await values(leaf.grad!))];
    };
    const wanted = await observe('cpu', (fn) => fn);
    expect(errorOf(await observe('wgpu', (fn) => fn), wanted)).toBeLessThan(1e-5);
    const compiled = await observe('wgpu', (fn) => compile(fn, { fullgraph: true }));
    expect(errorOf(compiled, wanted)).toBeLessThan(1e-5);
  });
});

describe('on the CPU, by code of their own', () => {
  beforeAll(useFourier);

  onTheCpu();

  const made = (): number => counters.get('inductor').graphs ?? 0;

  it('compiles nothing for lengths that have code, whatever the layout', () => {
    const x = waves('float32', 7, 96, 5);
    const before = made();
    const wanted = expected('r2c', x.transpose(1, 2).contiguous(), [2], 0);
    expect(errorOf(readNumbers(fft.rfft(x.transpose(1, 2))), wanted)).toBeLessThan(BOUND.float32);
    const z = waves('float64', 2, 9, 3, 2);
    expect(
      errorOf(readNumbers(fft.fft(z, { dim: 1 })), expected('c2c', z, [1], 0, true)),
    ).toBeLessThan(BOUND.float64);
    expect(made()).toBe(before);
  });

  it('stays in graphs, but for lengths without code', () => {
    const graph = (n: number): string =>
      makeFx((x: Tensor) => fft.rfft(x))(waves('float32', 2, n)).print();
    expect(graph(200)).toContain('tessera.fft_r2c');
    expect(graph(206)).not.toContain('tessera.fft_r2c');
  });

  it('keeps the tables of some lengths only', () => {
    const smooth = (n: number): boolean =>
      [2, 3, 5, 7].some((p) => n === 1 || (n % p === 0 && smooth(n / p)));
    const lengths = [...Array(300).keys()].map((i) => i + 4).filter(smooth);
    expect(lengths.length).toBeGreaterThan(70);
    const blocks = lengths.map((n) => {
      tidy(() => void fft.fft(waves('float32', 4 * n, 2)));
      return cpuHeap().stats().liveBlocks;
    });
    // What tests before this one left may be collected meanwhile.
    expect(Math.max(...blocks.slice(40))).toBeLessThanOrEqual(blocks[40]!);
  });
});
