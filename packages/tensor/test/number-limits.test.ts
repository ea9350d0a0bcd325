/** @file `finfo` and `iinfo` with PyTorch 2.13's numbers. */
import { describe, expect, expectTypeOf, it } from 'vitest';
import { setDefaultDType, tensor } from '../src/index.js';
import { finfo, iinfo } from '../src/more.js';

describe('finfo', () => {
  it.each([
    ['float32', 32, 1.1920928955078125e-7, 3.4028234663852886e38, 1.1754943508222875e-38, 1e-6],
    ['float64', 64, 2.220446049250313e-16, 1.7976931348623157e308, 2.2250738585072014e-308, 1e-15],
    ['float16', 16, 0.0009765625, 65504, 6.103515625e-5, 0.001],
    ['bfloat16', 16, 0.0078125, 3.3895313892515355e38, 1.1754943508222875e-38, 0.01],
  ] as const)('of %s', (dtype, bits, eps, max, smallestNormal, resolution) => {
    const expected = { dtype, bits, eps, max, min: -max, smallestNormal, tiny: smallestNormal };
    expect(finfo(dtype)).toEqual({ ...expected, resolution });
    expect(tensor([max, -max, eps], { dtype }).toArray()).toEqual([max, -max, eps]);
  });

  it('is of the default dtype unless one is given', () => {
    expect(finfo().dtype).toBe('float32');
    setDefaultDType('float64');
    expect(finfo().dtype).toBe('float64');
    setDefaultDType('float32');
  });

  it.each(['int32', 'bool', 'double', null])('refuses %s: dtype-unsupported', (dtype) => {
    expect(() => finfo(dtype as never)).toThrow('finfo');
  });
});

describe('iinfo', () => {
  it.each([
    ['uint8', 8, 0, 255],
    ['int8', 8, -128, 127],
    ['int16', 16, -32768, 32767],
    ['int32', 32, -2147483648, 2147483647],
    ['int64', 64, -9223372036854775808n, 9223372036854775807n],
  ] as const)('of %s', (dtype, bits, min, max) => {
    expect(iinfo(dtype)).toEqual({ dtype, bits, min, max });
    const [least, most] = tensor([min, max], { dtype }).toTypedArray();
    expect([least, most]).toEqual([min, max]);
  });

  it('has BigInts of int64 alone', () => {
    expectTypeOf(iinfo('int64').max).toEqualTypeOf<bigint>();
    expectTypeOf(iinfo('int8').max).toEqualTypeOf<number>();
  });

  it.each(['float32', 'bool', 'long', undefined])('refuses %s: dtype-unsupported', (dtype) => {
    expect(() => iinfo(dtype as never)).toThrow('iinfo');
  });
});
