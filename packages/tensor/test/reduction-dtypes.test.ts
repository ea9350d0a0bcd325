/**
 * @file Sums and products in another type than the elements', and integer products beyond a double's digits; the
 * values are PyTorch's.
 */
import { describe, expect, it } from 'vitest';
import { type DType, cumprod, cumsum, lcm, prod, sum, tensor } from '../src/index.js';

describe('a reduction in another type', () => {
  it('converts the elements first', () => {
    const x = tensor([1.5, 1.75, -300.5]);
    const of = (dtype: DType): unknown[] => [
      sum(x, null, { dtype }).item(),
      prod(x, null, { dtype }).item(),
    ];
    expect(of('int8')).toEqual([-42, -44]);
    expect(of('uint8')).toEqual([214, 212]);
    expect(of('int16')).toEqual([-298, -300]);
    expect(of('int64')).toEqual([-298, -300]);
    const y = tensor([1.001, 2.003, -3.0017, 0.7]);
    expect(sum(y, null, { dtype: 'bfloat16' }).item()).toBe(0.69921875);
    expect(prod(y, null, { dtype: 'bfloat16' }).item()).toBe(-4.1875);
    expect(y.mean(null, { dtype: 'bfloat16' }).item()).toBe(0.17578125);
  });

  it('refuses running values in bool', () => {
    const x = tensor([1.5, 0]);
    for (const running of [cumsum, cumprod])
      expect(() => running(x, 0, { dtype: 'bool' })).toThrow(
        expect.objectContaining({ code: 'dtype-unsupported' }),
      );
  });
});

describe('integer products', () => {
  it('keep their low bits', () => {
    const x = tensor([101, 77, -999, 1235, 7777, -31, 997, 1019], { dtype: 'int64' });
    const product = (dtype: DType): unknown => prod(x, null, { dtype }).item();
    expect(product('int8')).toBe(-35);
    expect(product('int16')).toBe(17373);
    expect(product('int32')).toBe(853165021);
    expect(product('int64')).toBe(Number(7370739672694801373n));
  });

  it('have no sign in a common multiple before it wraps', () => {
    const [a, b] = [tensor([-100, 7, 120, -77]), tensor([90, -128, 33, 100])];
    const multiple = (dtype: DType, m: number, n: number): unknown =>
      lcm(a.to(dtype).mul(m), b.to(dtype).mul(n)).toArray();
    expect(multiple('int8', 1, 1)).toEqual([-124, -128, 40, 20]);
    expect(multiple('int16', 100, 77)).toEqual([-16816, -15744, 5920, 7700]);
    expect(multiple('int32', 10000000, 7000000)).toEqual([
      1424509440, 185032704, 2089280512, 889934592,
    ]);
  });
});
