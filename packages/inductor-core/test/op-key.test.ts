/**
 * @file Which calls of an operator share a kernel: those that differ in numbers passed at run time.
 */
import { type DType, type Tensor, getOp, ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { opKey } from '../src/eager/op-key.js';

const add = getOp('aten::add.Tensor');
const keyOf = (dtype: DType, number: number): string => {
  const x: Tensor = ones([2], { dtype });
  return opKey(add, [x, number, 1], [x], true);
};

describe('calls with another number share a kernel', () => {
  it.each<DType>(['float32', 'int64'])('whole ones of %s, of up to 32 bits and beyond', (dtype) => {
    expect(keyOf(dtype, 7)).toBe(keyOf(dtype, -(2 ** 31) + 1));
    expect(keyOf(dtype, 3e9)).toBe(keyOf(dtype, 1.8e12));
  });

  it('and so do long ones and fractions beside floats, not beside integers', () => {
    expect(keyOf('float32', 3e9)).toBe(keyOf('float32', 0.5));
    expect(keyOf('int64', 3e9)).not.toBe(keyOf('int64', 0.5));
    expect(keyOf('int64', 3e9)).toBe(keyOf('int64', 7));
  });
});
