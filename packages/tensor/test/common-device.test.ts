/**
 * @file Operands on two devices: what follows the others, and what is an error.
 */
import { isTesseraError } from '@tessera/shared';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Tensor, add, callOp, cat, getOp, ones, tensor, where, zeros } from '../src/index.js';
import { copy_, fakeFromMeta, toDevice } from '../src/internal.js';
import { onShelf, registerShelf } from './support/shelf-device.js';

const there = (...values: number[]): Tensor => toDevice(tensor(values), 'shelf');

function codeOf(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    if (isTesseraError(error)) return error.code;
    throw error;
  }
  return 'nothing';
}

beforeAll(registerShelf);

describe('a cpu tensor without dimensions', () => {
  it('may be an operand beside tensors of another device, on either side', () => {
    expect(onShelf(there(1, 2, 3).mul(tensor(2)))).toEqual([2, 4, 6]);
    expect(onShelf(add(tensor(10), there(1, 2, 3)))).toEqual([11, 12, 13]);
    const isLarge = there(1, 2, 3).gt(tensor(1.5));
    expect(onShelf(where(isLarge, tensor(1), tensor(0)))).toEqual([0, 1, 1]);
  });

  it('does not change the dtype of the result, also in double precision', () => {
    const product = there(1, 2, 3).mul(tensor(0.5, { dtype: 'float64' }));
    expect(product.dtype).toBe('float32');
    expect(onShelf(product)).toEqual([0.5, 1, 1.5]);
  });

  it('may be added in place to another device, not the other way round', () => {
    const x = there(1, 2, 3);
    x.add_(tensor(1));
    expect(onShelf(x)).toEqual([2, 3, 4]);
    expect(codeOf(() => tensor(1).add_(toDevice(tensor(1), 'shelf')))).toBe('device-mismatch');
  });

  it('lets the gradient through to the other operand', () => {
    const x = there(1, 2, 3).requiresGrad_();
    x.mul(tensor(4)).backward(there(1, 1, 1));
    expect(onShelf(x.grad!)).toEqual([4, 4, 4]);
  });

  it('says that its own gradient would have to be read back', () => {
    const scale = tensor(4).requiresGrad_();
    const y = there(1, 2, 3).mul(scale);
    expect(onShelf(y)).toEqual([4, 8, 12]);
    expect(codeOf(() => y.backward(there(1, 1, 1)))).toBe('data-async-only');
  });
});

describe('copy_ between devices', () => {
  it('writes to another device, with broadcasting and conversion', () => {
    const x = toDevice(zeros([2, 2], { dtype: 'int32' }), 'shelf');
    copy_(x, tensor([1.5, 2.5]));
    expect(onShelf(x)).toEqual([1, 2, 1, 2]);
  });

  it('cannot read from a device whose values come later', () => {
    const x = ones([3]);
    expect(codeOf(() => copy_(x, there(1, 2, 3)))).toBe('data-async-only');
    expect(x.toArray()).toEqual([1, 1, 1]);
    const op = getOp('aten::_to_copy');
    expect(codeOf(() => callOp(op, [there(1), null, null, 'cpu', null, false, null]))).toBe(
      'data-async-only',
    );
  });
});

describe('indices on cpu', () => {
  it('go with tensors of another device, not the other way round', () => {
    const x = fakeFromMeta({ sizes: [3], strides: [1], dtype: 'float32', device: 'shelf' });
    const rows = fakeFromMeta({ sizes: [2], strides: [1], dtype: 'int64', device: 'cpu' });
    const index = getOp('aten::index.Tensor');
    const picked = callOp(index, [x, [rows]]) as Tensor;
    expect([picked.device, picked.sizes]).toEqual(['shelf', [2]]);
    const put = getOp('aten::index_put_');
    expect(callOp(put, [x, [rows], tensor(1), false])).toBe(x);
    expect(codeOf(() => callOp(put, [x, [rows], ones([2]), false]))).toBe('device-mismatch');
    expect(codeOf(() => callOp(index, [rows, [x]]))).toBe('device-mismatch');
  });
});

it('tensors with dimensions on two devices are an error, in lists too', () => {
  expect(codeOf(() => there(1, 2, 3).add(ones([3])))).toBe('device-mismatch');
  expect(codeOf(() => cat([ones([3]), there(1, 2, 3)]))).toBe('device-mismatch');
  expect(codeOf(() => cat([there(1, 2, 3), tensor([1])]))).toBe('device-mismatch');
});
