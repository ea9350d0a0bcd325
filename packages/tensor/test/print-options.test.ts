/** @file `setPrintoptions`: tensors printed as PyTorch 2.13 prints them with the same options. */
import { afterEach, describe, expect, it } from 'vitest';
import { arange, tensor, zeros } from '../src/index.js';
import { type PrintOptions, getPrintoptions, setPrintoptions } from '../src/more.js';

afterEach(() => setPrintoptions({ profile: 'default' }));

const floats = { dtype: 'float32' } as const;
const TENSORS = {
  f: tensor([1.23456, 2.5, -3]),
  w: arange(3, floats),
  big: arange(20, floats).view([4, 5]).div(7),
  sci: tensor([1e-6, 1, 3]),
  sciw: tensor([1, 1e9]),
  int: arange(12),
  zero: zeros([2]),
  nan: tensor([NaN, 1.5, Infinity]),
  sc: tensor(2.71875),
};

const PRINTED: readonly [keyof typeof TENSORS, PrintOptions, string][] = [
  ['f', { precision: 2 }, 'tensor([ 1.23,  2.50, -3.00])'],
  [
    'big',
    { precision: 2 },
    `tensor([[0.00, 0.14, 0.29, 0.43, 0.57],
        [0.71, 0.86, 1.00, 1.14, 1.29],
        [1.43, 1.57, 1.71, 1.86, 2.00],
        [2.14, 2.29, 2.43, 2.57, 2.71]])`,
  ],
  ['sci', { precision: 2 }, 'tensor([1.00e-06, 1.00e+00, 3.00e+00])'],
  ['nan', { precision: 2 }, 'tensor([ nan, 1.50,  inf])'],
  ['sc', { precision: 2 }, 'tensor(2.72)'],
  ['f', { profile: 'short' }, 'tensor([ 1.23,  2.50, -3.00])'],
  [
    'big',
    { profile: 'short' },
    `tensor([[0.00, 0.14, 0.29, 0.43, 0.57],
        [0.71, 0.86, 1.00, 1.14, 1.29],
        [1.43, 1.57, 1.71, 1.86, 2.00],
        [2.14, 2.29, 2.43, 2.57, 2.71]])`,
  ],
  ['f', { threshold: 5 }, 'tensor([ 1.2346,  2.5000, -3.0000])'],
  [
    'big',
    { threshold: 5 },
    `tensor([[0.0000, 0.1429, 0.2857, 0.4286, 0.5714],
        [0.7143, 0.8571, 1.0000, 1.1429, 1.2857],
        [1.4286, 1.5714, 1.7143, 1.8571, 2.0000],
        [2.1429, 2.2857, 2.4286, 2.5714, 2.7143]])`,
  ],
  ['int', { threshold: 5 }, 'tensor([ 0,  1,  2,  ...,  9, 10, 11])'],
  ['f', { threshold: 5, edgeitems: 1 }, 'tensor([ 1.2346,  2.5000, -3.0000])'],
  [
    'big',
    { threshold: 5, edgeitems: 1 },
    `tensor([[0.0000,  ..., 0.5714],
        ...,
        [2.1429,  ..., 2.7143]])`,
  ],
  ['int', { threshold: 5, edgeitems: 1 }, 'tensor([ 0,  ..., 11])'],
  [
    'f',
    { linewidth: 20 },
    `tensor([ 1.2346,
         2.5000,
        -3.0000])`,
  ],
  [
    'big',
    { linewidth: 20 },
    `tensor([[0.0000,
         0.1429,
         0.2857,
         0.4286,
         0.5714],
        [0.7143,
         0.8571,
         1.0000,
         1.1429,
         1.2857],
        [1.4286,
         1.5714,
         1.7143,
         1.8571,
         2.0000],
        [2.1429,
         2.2857,
         2.4286,
         2.5714,
         2.7143]])`,
  ],
  [
    'int',
    { linewidth: 20 },
    `tensor([ 0,  1,  2,
         3,  4,  5,
         6,  7,  8,
         9, 10, 11])`,
  ],
  ['f', { sciMode: true }, 'tensor([ 1.2346e+00,  2.5000e+00, -3.0000e+00])'],
  ['w', { sciMode: true }, 'tensor([0.0000e+00, 1.0000e+00, 2.0000e+00])'],
  [
    'big',
    { sciMode: true },
    `tensor([[0.0000e+00, 1.4286e-01, 2.8571e-01, 4.2857e-01, 5.7143e-01],
        [7.1429e-01, 8.5714e-01, 1.0000e+00, 1.1429e+00, 1.2857e+00],
        [1.4286e+00, 1.5714e+00, 1.7143e+00, 1.8571e+00, 2.0000e+00],
        [2.1429e+00, 2.2857e+00, 2.4286e+00, 2.5714e+00, 2.7143e+00]])`,
  ],
  ['sci', { sciMode: true }, 'tensor([1.0000e-06, 1.0000e+00, 3.0000e+00])'],
  ['sciw', { sciMode: true }, 'tensor([1.0000e+00, 1.0000e+09])'],
  ['zero', { sciMode: true }, 'tensor([0., 0.])'],
  ['f', { sciMode: false }, 'tensor([ 1.2346,  2.5000, -3.0000])'],
  ['w', { sciMode: false }, 'tensor([0., 1., 2.])'],
  [
    'big',
    { sciMode: false },
    `tensor([[0.0000, 0.1429, 0.2857, 0.4286, 0.5714],
        [0.7143, 0.8571, 1.0000, 1.1429, 1.2857],
        [1.4286, 1.5714, 1.7143, 1.8571, 2.0000],
        [2.1429, 2.2857, 2.4286, 2.5714, 2.7143]])`,
  ],
  ['sci', { sciMode: false }, 'tensor([0.0000, 1.0000, 3.0000])'],
  ['sciw', { sciMode: false }, 'tensor([         1., 1000000000.])'],
  ['zero', { sciMode: false }, 'tensor([0., 0.])'],
  ['f', { precision: 0 }, 'tensor([ 1,  2, -3])'],
  [
    'big',
    { precision: 0 },
    `tensor([[0, 0, 0, 0, 1],
        [1, 1, 1, 1, 1],
        [1, 2, 2, 2, 2],
        [2, 2, 2, 3, 3]])`,
  ],
  ['sci', { precision: 0 }, 'tensor([1e-06, 1e+00, 3e+00])'],
  ['nan', { precision: 0 }, 'tensor([nan, 2, inf])'],
  ['sc', { precision: 0 }, 'tensor(3)'],
  ['f', { profile: 'full', precision: 6 }, 'tensor([ 1.234560,  2.500000, -3.000000])'],
  [
    'big',
    { profile: 'full', precision: 6 },
    `tensor([[0.000000, 0.142857, 0.285714, 0.428571, 0.571429],
        [0.714286, 0.857143, 1.000000, 1.142857, 1.285714],
        [1.428571, 1.571429, 1.714286, 1.857143, 2.000000],
        [2.142857, 2.285714, 2.428571, 2.571429, 2.714286]])`,
  ],
  ['sci', { profile: 'full', precision: 6 }, 'tensor([1.000000e-06, 1.000000e+00, 3.000000e+00])'],
  ['nan', { profile: 'full', precision: 6 }, 'tensor([     nan, 1.500000,      inf])'],
  ['sc', { profile: 'full', precision: 6 }, 'tensor(2.718750)'],
  ['f', { sciMode: true, precision: 2 }, 'tensor([ 1.23e+00,  2.50e+00, -3.00e+00])'],
  ['w', { sciMode: true, precision: 2 }, 'tensor([0.00e+00, 1.00e+00, 2.00e+00])'],
  [
    'big',
    { sciMode: true, precision: 2 },
    `tensor([[0.00e+00, 1.43e-01, 2.86e-01, 4.29e-01, 5.71e-01],
        [7.14e-01, 8.57e-01, 1.00e+00, 1.14e+00, 1.29e+00],
        [1.43e+00, 1.57e+00, 1.71e+00, 1.86e+00, 2.00e+00],
        [2.14e+00, 2.29e+00, 2.43e+00, 2.57e+00, 2.71e+00]])`,
  ],
  ['sci', { sciMode: true, precision: 2 }, 'tensor([1.00e-06, 1.00e+00, 3.00e+00])'],
  ['sciw', { sciMode: true, precision: 2 }, 'tensor([1.00e+00, 1.00e+09])'],
  ['zero', { sciMode: true, precision: 2 }, 'tensor([0., 0.])'],
  ['nan', { sciMode: true, precision: 2 }, 'tensor([     nan, 1.50e+00,      inf])'],
  ['sc', { sciMode: true, precision: 2 }, 'tensor(2.72e+00)'],
];

describe('setPrintoptions', () => {
  it.each(PRINTED)('prints %s with %o', (name, options, expected) => {
    setPrintoptions(options);
    expect(String(TENSORS[name])).toBe(expected);
  });

  it('keeps what it is not given, but scientific notation', () => {
    setPrintoptions({ precision: 2, linewidth: 40, sciMode: true });
    setPrintoptions({ edgeitems: 1 });
    expect(getPrintoptions()).toEqual({
      precision: 2,
      threshold: 1000,
      edgeitems: 1,
      linewidth: 40,
      sciMode: null,
    });
    const before = getPrintoptions();
    setPrintoptions({ profile: 'full' });
    expect(getPrintoptions()).toMatchObject({ threshold: Infinity, linewidth: 80 });
    setPrintoptions(before);
    expect(getPrintoptions()).toEqual(before);
  });

  it.each([
    [{ precision: -1 }, 'precision must be a whole number'],
    [{ edgeitems: 1.5 }, 'edgeitems must be a whole number'],
    [{ linewidth: '80' as never }, 'linewidth must be a whole number'],
    [{ profile: 'long' as never }, 'profile must be'],
    [{ sciMode: 'yes' as never }, 'sciMode must be'],
    [{ sci_mode: true } as never, "no option 'sci_mode'"],
  ] as const)('refuses %o: invalid-argument', (options, message) => {
    const before = getPrintoptions();
    expect(() => setPrintoptions(options)).toThrow(message);
    expect(getPrintoptions()).toEqual(before);
  });
});
