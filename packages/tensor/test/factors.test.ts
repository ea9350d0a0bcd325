/**
 * @file Factors beside integers: cut to whole numbers where PyTorch cuts them.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, tensor } from '../src/index.js';

const int = (...data: number[]): Tensor => tensor(data, { dtype: 'int32' });

describe('a factor beside integers', () => {
  it('of addcmul is whole', () => {
    expect(int(2, 4).addcmul(int(1, 2), int(3, 3), { value: 3.14 }).toArray()).toEqual([11, 22]);
    const bytes = (n: number): Tensor => tensor([n], { dtype: 'uint8' });
    expect(bytes(248).addcmul(bytes(5), bytes(5), { value: 3.14 }).toArray()).toEqual([67]);
  });

  it('wraps as the integers do', () => {
    const large = int(-(2 ** 31));
    expect(int(5).addcmul(large, large, { value: 3 }).toArray()).toEqual([5]);
  });

  it('of indexAdd is whole', () => {
    const at = tensor([0], { dtype: 'int64' });
    expect(int(-8).indexAdd(0, at, int(6), { alpha: -1.5 }).toArray()).toEqual([-14]);
  });
});
