/**
 * @file autocast: which ops compute in which type.
 */
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  add,
  autocast,
  bmm,
  callOp,
  cat,
  getAutocastDType,
  getOp,
  isAutocastEnabled,
  linear,
  manualSeed,
  matmul,
  ones,
  randn,
  softmax,
  sum,
  tensor,
} from '../src/index.js';
import { mseLoss } from '../src/internal.js';

describe('autocast', () => {
  it('computes products in 16 bits and leaves elementwise ops in the types of their inputs', () => {
    const x = ones([2, 3]);
    const y = ones([3, 2]);
    autocast({ device: 'cpu' }, () => {
      const product = matmul(x, y);
      expect(product.dtype).toBe('bfloat16');
      expect(linear(x, ones([4, 3]), ones([4])).dtype).toBe('bfloat16');
      expect(bmm(ones([1, 2, 2]), ones([1, 2, 2])).dtype).toBe('bfloat16');
      expect(add(x, 1).dtype).toBe('float32');
      expect(add(product, 1).dtype).toBe('bfloat16');
      expect(add(product, ones([2, 2])).dtype).toBe('float32');
    });
    expect(matmul(x, y).dtype).toBe('float32');
  });

  it('computes losses in float32 and joins in the widest type', () => {
    const narrow = ones([2, 2], { dtype: 'bfloat16' });
    autocast({}, () => {
      expect(mseLoss(narrow, narrow).dtype).toBe('float32');
      expect(cat([narrow, ones([2, 2])]).dtype).toBe('float32');
      expect(cat([narrow, narrow]).dtype).toBe('bfloat16');
    });
  });

  it('leaves float64 and integers alone', () => {
    autocast({}, () => {
      expect(
        matmul(ones([2, 2], { dtype: 'float64' }), ones([2, 2], { dtype: 'float64' })).dtype,
      ).toBe('float64');
      expect(sum(tensor([1, 2], { dtype: 'int64' })).dtype).toBe('int64');
    });
  });

  it('takes another type, nests, and can be switched off inside', () => {
    const x = ones([2, 2]);
    autocast({ dtype: 'float16' }, () => {
      expect(isAutocastEnabled()).toBe(true);
      expect(getAutocastDType()).toBe('float16');
      expect(matmul(x, x).dtype).toBe('float16');
      autocast({ enabled: false }, () => {
        expect(isAutocastEnabled()).toBe(false);
        expect(matmul(x, x).dtype).toBe('float32');
      });
      expect(matmul(x, x).dtype).toBe('float16');
      expect(softmax(x, -1).dtype).toBe('float32');
    });
    expect(isAutocastEnabled()).toBe(false);
  });

  it('gives parameters float32 gradients, computed in the types of the forward ops', () => {
    manualSeed(0);
    const weight = randn([4, 3]).requiresGrad_();
    const x = randn([2, 3]);
    const out = autocast({}, () => {
      const h = linear(x, weight);
      return add(h, linear(x, weight));
    });
    expect(out.dtype).toBe('bfloat16');
    sum(out).backward();
    const grad = weight.grad as Tensor;
    expect(grad.dtype).toBe('float32');
    const expected = sum(x, 0).mul(2).toArray() as number[];
    (grad.toArray() as number[][]).forEach((row) =>
      row.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 1)),
    );
  });

  it('refuses other types and asynchronous functions', () => {
    expect(() => autocast({ dtype: 'float32' as 'float16' }, () => 0)).toThrow(
      'autocast cannot compute in float32',
    );
    expect(() => autocast({}, async () => 0)).toThrow('asynchronous');
  });

  it('leaves no rejection unhandled when it refuses an asynchronous function', async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', listen);
    const failing = async (): Promise<never> => {
      throw new Error('later');
    };
    expect(() => autocast({}, failing)).toThrow('asynchronous');
    await new Promise((resolve) => setTimeout(resolve, 10));
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
  });

  it('checks the arguments of composite operators as they are checked outside', () => {
    const wrong: [string, unknown[]][] = [
      ['aten::celu', [ones([2]), 'wide']],
      ['aten::reshape', [ones([2]), 'flat']],
      ['aten::narrow', [ones([4]), 0.5, 0, 1]],
    ];
    for (const [name, args] of wrong) {
      const call = (): unknown => callOp(getOp(name), args);
      for (const run of [call, () => autocast({}, call)])
        expect(run).toThrow(expect.objectContaining({ code: 'schema-arguments' }));
    }
  });
});
