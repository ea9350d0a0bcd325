/**
 * @file Short-time Fourier transforms: what frames hold, the way back, derivatives, windows, mistakes. Arguments and
 * first derivatives are compared with PyTorch's in apps/oracle.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, fromTypedArray, ones, zeros } from '../src/index.js';
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

function distance(a: Tensor, b: Tensor): number {
  expect(a.shape).toEqual(b.shape);
  return a.sub(b).abs().max().item();
}

const hann = (length: number): Tensor => fft.hannWindow(length, { dtype: 'float64' });

describe('stft', () => {
  it('has the transforms of windowed frames in its columns', () => {
    const x = waves(30);
    const spectra = fft.stft(x, 8, { hopLength: 3, window: hann(8), center: false });
    expect(spectra.shape).toEqual([5, 8, 2]);
    for (const t of [0, 3, 7]) {
      const frame = fft.rfft(x.narrow(0, 3 * t, 8).mul(hann(8)));
      expect(distance(spectra.select(1, t), frame)).toBeLessThan(1e-15);
    }
  });

  it('mirrors the ends to centre frames', () => {
    const spectra = fft.stft(waves(2, 20), 8);
    expect(spectra.shape).toEqual([2, 5, 11, 2]);
    const mirrored = waves(2, 20).narrow(1, 1, 4).flip([1]);
    const first = [mirrored, waves(2, 20).narrow(1, 0, 4)].map((x) => fft.rfft(x, { n: 8 }));
    // A shift by half a frame changes the sign of odd frequencies.
    const signs = fromTypedArray(Float64Array.of(1, -1, 1, -1, 1), [5, 1]);
    const expected = first[0]!.add(first[1]!.mul(signs));
    expect(distance(spectra.select(2, 0), expected)).toBeLessThan(1e-14);
  });

  it('has conjugates in the other half, and of complex signals both halves', () => {
    const x = waves(24);
    const half = fft.stft(x, 8, { window: hann(8) });
    const whole = fft.stft(x, 8, { window: hann(8), onesided: false });
    expect(distance(whole.narrow(0, 0, 5), half)).toBeLessThan(1e-15);
    const imaginary = whole.select(-1, 1);
    expect(distance(imaginary.select(0, 6), imaginary.select(0, 2).neg())).toBeLessThan(1e-15);
    const asComplex = fft.stft(fft.complex(x), 8, { window: hann(8), pairs: true });
    expect(distance(asComplex, whole)).toBeLessThan(1e-15);
  });

  it.each([
    ['centred', { window: hann(16), hopLength: 4 }],
    ['normalized', { window: hann(16), normalized: true }],
    ['of all frequencies', { window: hann(16), onesided: false }],
    ['with a short window', { window: hann(9), winLength: 9, hopLength: 2 }],
    ['without a window', {}],
  ])('is undone by istft: %s', (_name, options) => {
    const x = waves(3, 64);
    const back = fft.istft(fft.stft(x, 16, options), 16, { ...options, length: 64 });
    expect(distance(back, x)).toBeLessThan(1e-14);
  });

  it('of complex signals is undone by istft', () => {
    const z = waves(2, 40, 2);
    const options = { window: hann(8), pairs: true };
    expect(distance(fft.istft(fft.stft(z, 8, options), 8, options), z)).toBeLessThan(1e-14);
  });
});

describe('derivatives', () => {
  it.each<[string, (x: Tensor, window: Tensor) => Tensor, Tensor]>([
    ['stft', (x, window) => fft.stft(x, 6, { window, hopLength: 2 }), waves(2, 9)],
    ['stft of pairs', (x, window) => fft.stft(x, 6, { window, pairs: true }), waves(8, 2)],
    ['istft', (x, window) => fft.istft(x, 6, { window, hopLength: 2 }), waves(4, 4, 2)],
    ['istft, longer', (x, window) => fft.istft(x, 6, { window, length: 9 }), waves(1, 4, 4, 2)],
    ['istft to pairs', (x, window) => fft.istft(x, 6, { window, pairs: true }), waves(6, 3, 2)],
  ])('%s', (_name, fn, input) => {
    const cubed = (x: Tensor, window: Tensor): Tensor => fn(x, window).pow(3);
    const window = waves(6).abs().add(0.5);
    expect(gradientError((x, w) => cubed(x!, w!), [input, window])).toBeLessThan(1e-6);
    expect(secondGradientError((x, w) => cubed(x!, w!), [input, window])).toBeLessThan(1e-5);
  });
});

// Printed by PyTorch 1.13.
const windows: [name: string, window: Tensor, expected: number[]][] = [
  [
    'hannWindow',
    hann(5),
    [0, 0.3454915028125263, 0.9045084971874737, 0.9045084971874737, 0.3454915028125264],
  ],
  ['hannWindow, symmetric', fft.hannWindow(5, { periodic: false }), [0, 0.5, 1, 0.5, 0]],
  ['hannWindow of one', fft.hannWindow(1), [1]],
  ['hannWindow of none', fft.hannWindow(0), []],
  ['hammingWindow', fft.hammingWindow(4), [0.08, 0.54, 1, 0.54]],
  [
    'hammingWindow, by factors',
    fft.hammingWindow(4, { alpha: 0.6, beta: 0.3 }),
    [0.3, 0.6, 0.9, 0.6],
  ],
  [
    'blackmanWindow',
    fft.blackmanWindow(5, { dtype: 'float64' }),
    [0, 0.20077014326253045, 0.8492298567374694, 0.8492298567374696, 0.20077014326253056],
  ],
  ['bartlettWindow', fft.bartlettWindow(5), [0, 0.4, 0.8, 0.8, 0.4]],
  ['bartlettWindow, symmetric', fft.bartlettWindow(4, { periodic: false }), [0, 2 / 3, 2 / 3, 0]],
  [
    'kaiserWindow',
    fft.kaiserWindow(5, { dtype: 'float64' }),
    [
      5.2773441320097665e-5, 0.10171968770956323, 0.7929398341014605, 0.7929398341014605,
      0.10171968770956323,
    ],
  ],
  [
    'kaiserWindow, by beta',
    fft.kaiserWindow(4, { periodic: false, beta: 5 }),
    [0.036710892271286676, 0.7753221044454067, 0.7753221044454067, 0.036710892271286676],
  ],
];

describe('windows', () => {
  it.each(windows)('%s', (_name, window, expected) => {
    const tolerance = window.dtype === 'float64' ? 1e-15 : 2e-7;
    const values = Array.from(readNumbers(window));
    expect(values.length).toBe(expected.length);
    values.forEach((value, i) => expect(Math.abs(value - expected[i]!)).toBeLessThan(tolerance));
  });

  it('can be learned', () => {
    const window = fft.hammingWindow(8, { requiresGrad: true });
    fft
      .stft(ones([16]), 8, { window })
      .square()
      .sum()
      .backward();
    expect(window.isLeaf).toBe(true);
    expect(window.grad!.abs().sum().item()).toBeGreaterThan(0);
  });
});

const mistakes: readonly Mistake[] = [
  [
    'integers',
    () => fft.stft(zeros([8], { dtype: 'int16' }), 4),
    'dtype-unsupported',
    'but got int16',
  ],
  [
    'a frame longer than the signal',
    () => fft.stft(ones([8]), 16, { center: false }),
    'invalid-argument',
    'stft: expected 0 < nFft <= 8, but got nFft 16',
  ],
  [
    'a signal of three dimensions',
    () => fft.stft(ones([1, 1, 8]), 4),
    'invalid-argument',
    'expected a 1D or 2D tensor, but got [1, 1, 8]',
  ],
  [
    'frames on one place',
    () => fft.stft(ones([8]), 4, { hopLength: 0 }),
    'invalid-argument',
    'stft: expected hopLength > 0, but got 0',
  ],
  [
    'a window longer than a frame',
    () => fft.stft(ones([8]), 4, { winLength: 5 }),
    'invalid-argument',
    'expected 0 < winLength <= nFft, but got winLength 5 and nFft 4',
  ],
  [
    'a window of another length',
    () => fft.stft(ones([8]), 4, { window: ones([3]) }),
    'shape-mismatch',
    'size equal to winLength 4, but got window with size [3]',
  ],
  [
    'half of what has no halves',
    () => fft.stft(ones([8, 2]), 4, { pairs: true, onesided: true }),
    'invalid-argument',
    'cannot have onesided output if the input is complex',
  ],
  [
    'spectra of another length',
    () => fft.istft(ones([5, 3, 2]), 6),
    'invalid-argument',
    'nFft / 2 + 1 = 4 when onesided is true, but got 5',
  ],
  [
    'frames with gaps',
    () => fft.istft(ones([5, 3, 2]), 8, { hopLength: 9 }),
    'invalid-argument',
    'expected 0 < hopLength <= winLength 8, but got 9',
  ],
  [
    'elements that no window covers',
    () => fft.istft(ones([5, 3, 2]), 8, { window: hann(8), center: false }),
    'invalid-argument',
    'istft: window overlap add min: 0',
  ],
  [
    'a single centred frame',
    () => fft.istft(ones([5, 1, 2]), 8),
    'invalid-argument',
    'istft: nothing is left of 8 elements',
  ],
  [
    'a misspelt option',
    () => fft.stft(ones([8]), 4, { hop_length: 2 } as never),
    'invalid-argument',
    'hop_length',
  ],
  [
    'a window of integers',
    () => fft.hannWindow(4, { dtype: 'int64' }),
    'dtype-unsupported',
    'hannWindow expects floating point dtypes, got: int64',
  ],
  [
    'a window of negative length',
    () => fft.hannWindow(-1),
    'invalid-argument',
    'expected a length of 0 or more, but got -1',
  ],
];

testMistakes(mistakes);
