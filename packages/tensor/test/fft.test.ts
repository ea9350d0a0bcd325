/**
 * @file Fourier transforms: lengths of every kind against the sum that defines them, second derivatives, frequencies,
 * mistakes. Arguments and first derivatives are compared with PyTorch's in apps/oracle.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, arange, fromTypedArray, ones, stack, zeros } from '../src/index.js';
import * as fft from '../src/fft.js';
import { readNumbers } from '../src/internal.js';
import { gradientError, secondGradientError } from './support/gradient-check.js';
import { type Mistake, testMistakes } from './support/mistakes.js';

function waves(...sizes: number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float64Array.from({ length: numel }, (_, i) => Math.sin(1 + i * 12.9898)),
    sizes,
  );
}

/** The sum that defines the transform, of pairs [N, 2]. */
function defined(z: Tensor): Float64Array {
  const n = z.size(0);
  const values = readNumbers(z);
  const out = new Float64Array(2 * n);
  for (let k = 0; k < n; k++)
    for (let j = 0; j < n; j++) {
      const angle = (-2 * Math.PI * ((j * k) % n)) / n;
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      out[2 * k]! += values[2 * j]! * c - values[2 * j + 1]! * s;
      out[2 * k + 1]! += values[2 * j]! * s + values[2 * j + 1]! * c;
    }
  return out;
}

function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Array.from(a).reduce((worst, value, i) => Math.max(worst, Math.abs(value - b[i]!)), 0);
}

describe('fft', () => {
  it.each([1, 2, 5, 16, 31, 37, 60, 74, 97, 128, 210, 251, 486, 1009])('of length %d', (n) => {
    const z = waves(n, 2);
    expect(distance(readNumbers(fft.fft(z)), defined(z))).toBeLessThan(1e-13 * n);
    expect(distance(readNumbers(fft.ifft(fft.fft(z))), readNumbers(z))).toBeLessThan(1e-14 * 10);
  });

  it.each([4, 5, 37])(
    'of real numbers is that of complex ones, and there is a way back: %d',
    (n) => {
      const x = waves(n);
      const whole = fft.fft(fft.complex(x));
      const half = fft.rfft(x);
      expect(half.shape).toEqual([Math.floor(n / 2) + 1, 2]);
      expect(distance(readNumbers(half), readNumbers(whole))).toBeLessThan(1e-12);
      expect(distance(readNumbers(fft.irfft(half, { n })), readNumbers(x))).toBeLessThan(1e-14);
      const spectrum = fft.ihfft(x);
      expect(distance(readNumbers(fft.hfft(spectrum, { n })), readNumbers(x))).toBeLessThan(1e-14);
    },
  );

  // More rows than are transformed at once, with a rest, beside each other and one after the other.
  it.each([
    [3, 700],
    [300, 15],
    [40, 37],
    [2, 5003],
  ])('of many rows, along any dimension: %d × %d', (rows, n) => {
    const x = waves(rows, n, 3);
    for (const dim of [0, 1, 2]) {
      const alone = (of: (row: Tensor) => Tensor, y: Tensor, d: number): Tensor => {
        const moved = y.movedim(d, -1);
        const each = moved.flatten(0, -2).unbind(0);
        const made = stack(each.map(of));
        return made.unflatten(0, moved.shape.slice(0, 2));
      };
      const spectrum = fft.rfft(x, { dim });
      const expected = alone((row) => fft.rfft(row), x, dim);
      expect(distance(readNumbers(spectrum.movedim(dim, -2)), readNumbers(expected))).toBe(0);
      const back = fft.irfft(spectrum, { dim, n: x.size(dim) });
      expect(distance(readNumbers(back), readNumbers(x))).toBeLessThan(1e-13);
      const z = fft.complex(x, x.square());
      const whole = fft.fft(z, { dim }).select(-1, 0);
      const parts = alone(
        (row) => fft.fft(row.unflatten(0, [-1, 2])).select(-1, 0),
        z.movedim(dim, -2).flatten(-2),
        2,
      );
      expect(distance(readNumbers(whole.movedim(dim, -1)), readNumbers(parts))).toBe(0);
    }
  });

  it('keeps NaN in its row, and infinity where it is a sum', () => {
    const x = waves(4, 9);
    x.narrow(0, 1, 1).fill_(NaN);
    const kept = fft.rfft(x).sum([1, 2]).toArray() as number[];
    expect(kept.map((value) => Number.isNaN(value))).toEqual([false, true, false, false]);
    const infinite = fft.rfft(fromTypedArray(Float64Array.of(1, Infinity, 2, 3), [4]));
    expect(infinite.select(0, 0).toArray()).toEqual([Infinity, 0]);
    expect(infinite.select(0, 2).toArray()).toEqual([-Infinity, 0]);
  });

  it('keeps the energy with norm: ortho', () => {
    const z = waves(3, 8, 2);
    const energy = (y: Tensor): number => y.square().sum().item();
    expect(energy(fft.fftn(z, { norm: 'ortho' }))).toBeCloseTo(energy(z), 12);
  });

  it('computes float32 in double precision, and integers as floats', () => {
    const y = fft.rfft(arange(0, 6, 1, { dtype: 'int64' }));
    expect(y.dtype).toBe('float32');
    expect(y.select(0, 0).toArray()).toEqual([15, 0]);
  });
});

const cases: [name: string, fn: (x: Tensor) => Tensor, input: Tensor][] = [
  ['fft', (x) => fft.fft(x, { norm: 'ortho' }), waves(2, 3, 2)],
  ['rfft, odd', (x) => fft.rfft(x), waves(5)],
  ['rfft, even', (x) => fft.rfft(x, { n: 6 }), waves(2, 4)],
  ['irfft, odd', (x) => fft.irfft(x, { n: 5 }), waves(3, 2)],
  ['irfft, even', (x) => fft.irfft(x), waves(3, 2)],
  ['irfft2', (x) => fft.irfft2(x), waves(3, 3, 2)],
  ['rfftn', (x) => fft.rfftn(x, { dim: [2, 0] }), waves(3, 2, 2)],
  ['hfft', (x) => fft.hfft(x), waves(3, 2)],
  ['ihfft', (x) => fft.ihfft(x), waves(4)],
];

describe('derivatives', () => {
  // Powers make the transform matter in the second derivative.
  it.each(cases)('%s', (_name, fn, input) => {
    const cubed = (x: Tensor): Tensor => fn(x).pow(3);
    expect(gradientError((x) => cubed(x!), [input])).toBeLessThan(1e-6);
    expect(secondGradientError((x) => cubed(x!), [input])).toBeLessThan(1e-5);
  });
});

describe('frequencies', () => {
  it('are those of the results, in order', () => {
    expect(fft.fftfreq(5, { d: 0.5, dtype: 'float64' }).toArray()).toEqual([
      0, 0.4, 0.8, -0.8, -0.4,
    ]);
    expect(fft.fftfreq(4).toArray()).toEqual([0, 0.25, -0.5, -0.25]);
    expect(fft.rfftfreq(5, { d: 2, dtype: 'float64' }).toArray()).toEqual([0, 0.1, 0.2]);
    expect(fft.rfftfreq(4).toArray()).toEqual([0, 0.25, 0.5]);
  });

  it('are shifted with 0 in the middle, and back', () => {
    const x = arange(5);
    expect(fft.fftshift(x).toArray()).toEqual([3, 4, 0, 1, 2]);
    expect(fft.ifftshift(fft.fftshift(x)).toArray()).toEqual(x.toArray());
    const y = arange(6).view([2, 3]);
    expect(fft.fftshift(y).toArray()).toEqual([
      [5, 3, 4],
      [2, 0, 1],
    ]);
    const pairs = arange(6).view([3, 2]);
    expect(fft.fftshift(pairs, { pairs: true }).toArray()).toEqual([
      [4, 5],
      [0, 1],
      [2, 3],
    ]);
  });
});

const mistakes: readonly Mistake[] = [
  [
    'real numbers in place of complex ones',
    () => fft.fft(ones([2, 8])),
    'shape-mismatch',
    'complex numbers are pairs in a last dimension of 2, but the input is [2, 8]',
  ],
  [
    'no points',
    () => fft.fft(ones([3, 2]), { n: 0 }),
    'invalid-argument',
    'Invalid number of data points (0) specified',
  ],
  [
    'the inverse of one point, whose length is not told',
    () => fft.irfft(ones([1, 2])),
    'invalid-argument',
    'Invalid number of data points (0) specified',
  ],
  [
    'an unknown norm',
    () => fft.rfft(ones([3]), { norm: 'x' as never }),
    'invalid-argument',
    'Invalid normalization mode: "x"',
  ],
  ['a dimension too far', () => fft.fft(ones([3, 2]), { dim: 1 }), 'invalid-dim', 'fft'],
  [
    'a dimension twice',
    () => fft.rfftn(ones([3, 3]), { dim: [0, -2] }),
    'invalid-dim',
    'FFT dims must be unique',
  ],
  [
    'lengths for other dimensions',
    () => fft.rfftn(ones([3, 3]), { s: [2], dim: [0, 1] }),
    'invalid-argument',
    'When given, dim and shape arguments must have the same length',
  ],
  [
    '16-bit floats',
    () => fft.rfft(zeros([4], { dtype: 'float16' })),
    'dtype-unsupported',
    'Unsupported dtype float16',
  ],
];

testMistakes(mistakes);

describe('transforms of real spectra in several dimensions', () => {
  const z = arange(24, { dtype: 'float64' }).sin().reshape([3, 4, 2]);
  const r = arange(12, { dtype: 'float64' }).cos().reshape([3, 4]);

  it('are those of PyTorch 2.13', () => {
    // prettier-ignore
    const both = [[-0.1284867086683421, -0.7182030998567139, 0.4259495272148014, 0.009675918262033179, 3.9139236159451123, 0.7058703268530079], [-0.12488941893950911, 2.2748458072588553, 3.3544500054273767, -3.420279538191229, 0.8639181101376021, 2.0845886165771343], [0.3300992221175938, 0.03046793238505785, 0.6398669429635091, -5.747749418275685, -11.789570779988477, 7.295522938777873]];
    expect(distance(readNumbers(fft.hfft2(z)), both.flat())).toBeLessThan(1e-13);
    // prettier-ignore
    const cut = [[-0.27411886028836724, 0.32913665407332876, -0.12203435753521627, -0.13159372739618383, 1.7629230317466773], [0.46701138637936657, 0.2575619781119813, 0.15421057815552594, -2.3532498624197338, -0.08984682082737852]];
    const made = fft.hfftn(z, { s: [2, 5], norm: 'ortho' });
    expect(distance(readNumbers(made), cut.flat())).toBeLessThan(1e-13);
    const first = [
      1.537025958176205, -0.21250881307357095, 0.010594233824850807, 5.428141327399309,
    ];
    const turned = fft.hfftn(z, { dim: [1, 0] });
    expect(distance(readNumbers(turned.select(0, 0)), first)).toBeLessThan(1e-13);
    // prettier-ignore
    const back = [[[-0.03441850403898794, 0], [0.041325368691750276, 0.012041564476314917], [0.018719881764745545, 0]], [[0.03397962360956297, 0.2334925178173734], [0.12421776403013964, 0.018744870142878806], [0.11983297839077263, -0.047138540348892366]], [[0.03397962360956297, -0.2334925178173734], [0.18849357641489567, 0.3517872659979525], [0.11983297839077263, 0.047138540348892366]]];
    expect(distance(readNumbers(fft.ihfft2(r)), back.flat(2))).toBeLessThan(1e-14);
    // prettier-ignore
    const scaled = [[[1.7143443205709779, 0], [-0.3376375915809068, 0.24243605326543827]], [[0.5339666180710171, 0], [2.2134821222599093, 1.4141824562535112]]];
    const other = fft.ihfftn(r, { s: [2, 3], norm: 'forward' });
    expect(distance(readNumbers(other), scaled.flat(2))).toBeLessThan(1e-14);
  });

  it('invert each other, and have gradients', () => {
    expect(distance(readNumbers(fft.hfft2(fft.ihfft2(r))), readNumbers(r))).toBeLessThan(1e-14);
    expect(distance(readNumbers(fft.hfftn(fft.ihfftn(r))), readNumbers(r))).toBeLessThan(1e-14);
    expect(gradientError((x) => fft.hfftn(x), [z])).toBeLessThan(1e-6);
    expect(gradientError((x) => fft.ihfft2(x), [r])).toBeLessThan(1e-6);
  });

  it('refuse dims twice', () => {
    expect(() => fft.hfftn(z, { dim: [0, 0] })).toThrow('FFT dims must be unique');
  });
});
