import { describe, expect, it } from 'vitest';
import {
  type DType,
  add,
  div,
  eq,
  isFloatingPoint,
  ones,
  promoteTypes,
  resultType,
  setDefaultDType,
  tensor,
  where,
  zeros,
} from '../src/index.js';

const of = (dtype: DType) => zeros([2], { dtype });
const scalar = (dtype: DType) => zeros([], { dtype });

it('a tensor holds floats if its dtype does', () => {
  expect([isFloatingPoint(of('bfloat16')), isFloatingPoint(of('int8'))]).toEqual([true, false]);
});

describe('type promotion', () => {
  // As torch.promote_types says.
  it.each<[DType, DType, DType]>([
    ['bool', 'uint8', 'uint8'],
    ['uint8', 'int8', 'int16'],
    ['uint8', 'int32', 'int32'],
    ['int8', 'int64', 'int64'],
    ['int64', 'float16', 'float16'],
    ['float16', 'bfloat16', 'float32'],
    ['bfloat16', 'float32', 'float32'],
    ['float32', 'float64', 'float64'],
  ])('%s with %s gives %s, in either order', (a, b, result) => {
    expect(promoteTypes(a, b)).toBe(result);
    expect(promoteTypes(b, a)).toBe(result);
    expect(add(of(a), of(b)).dtype).toBe(result);
  });

  it('lets a 0-d tensor or a number change the category only', () => {
    expect(add(of('float32'), scalar('float64')).dtype).toBe('float32');
    expect(add(of('int32'), scalar('int64')).dtype).toBe('int32');
    expect(add(of('int32'), scalar('float64')).dtype).toBe('float64');
    expect(add(of('float16'), 2.5).dtype).toBe('float16');
    expect(add(of('int64'), 2.5).dtype).toBe('float32');
    expect(add(of('uint8'), 3).dtype).toBe('uint8');
    expect(add(of('bool'), 1).dtype).toBe('int64');
    expect(add(of('bool'), true).dtype).toBe('bool');
  });

  it('uses the default dtype where a float type is called for', () => {
    expect(div(of('int64'), of('int64')).dtype).toBe('float32');
    expect(of('int32').exp().dtype).toBe('float32');
    setDefaultDType('float64');
    try {
      expect(div(of('int64'), 3).dtype).toBe('float64');
      expect(resultType([of('int32'), 0.5])).toBe('float64');
    } finally {
      setDefaultDType('float32');
    }
  });

  it('gives bool for comparisons, whatever is compared', () => {
    expect(eq(of('int32'), of('float64')).dtype).toBe('bool');
    expect(of('float16').lt(0.1).dtype).toBe('bool');
  });

  it('compares with a number as the tensor holds it', () => {
    expect(tensor([0.1]).eq(0.1).toArray()).toEqual([true]);
    expect(tensor([0.1], { dtype: 'float16' }).eq(0.1).toArray()).toEqual([true]);
  });

  it('promotes both branches of where', () => {
    expect(where(of('bool'), of('int32'), of('float16')).dtype).toBe('float16');
    expect(where(of('bool'), 1.5, of('float64')).dtype).toBe('float64');
  });

  it('refuses an in-place result that does not fit', () => {
    expect(() => of('int32').add_(0.5)).toThrow(
      /result type float32 can't be cast to the desired output type int32/,
    );
    expect(() => of('bool').add_(1)).toThrow(/dtype-mismatch/);
    expect(of('float16').add_(ones([2], { dtype: 'float64' })).dtype).toBe('float16');
  });

  it('wraps integers as their width does', () => {
    expect(tensor([200], { dtype: 'uint8' }).add(100).toArray()).toEqual([44]);
    expect(
      tensor([2 ** 30], { dtype: 'int32' })
        .mul(6)
        .toArray(),
    ).toEqual([-(2 ** 31)]);
    expect(
      tensor([123456789], { dtype: 'int32' })
        .mul(tensor([987654321], { dtype: 'int32' }))
        .toArray(),
    ).toEqual([-67153019]);
    expect(tensor([7], { dtype: 'int64' }).pow(3).toArray()).toEqual([343]);
  });

  it('compares in the common dtype, to which a tensor without dimensions may lose digits', () => {
    const [exact, rounded] = [tensor(1.25390625), tensor([1.25, 2], { dtype: 'bfloat16' })];
    expect(eq(exact, rounded).toArray()).toEqual([true, false]);
    expect(rounded.lt(exact).toArray()).toEqual([false, false]);
    const [wide, narrow] = [tensor(300, { dtype: 'int64' }), tensor([44, 2], { dtype: 'uint8' })];
    expect(eq(wide, narrow).toArray()).toEqual([true, false]);
    const whole = tensor([2 ** 24 + 1], { dtype: 'int64' });
    expect(eq(whole, tensor([2 ** 24])).toArray()).toEqual([true]);
  });
});
