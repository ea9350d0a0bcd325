/**
 * @file What TypeScript refuses and what it knows of results. The `@ts-expect-error` lines are checked by the type
 * check of the package: one that stops being an error fails it.
 */
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  fromTypedArray,
  isin,
  ones,
  randint,
  sum,
  tensor,
  topk,
  zeros,
} from '../src/index.js';

/** Never runs: the lines below are for the compiler. */
export function refused(x: Tensor): void {
  // @ts-expect-error no such dtype
  zeros([2], { dtype: 'float33' });
  // @ts-expect-error an option that does not exist
  ones([2], { requires_grad: true });
  // @ts-expect-error no string among the values
  tensor(['1']);
  // @ts-expect-error sizes are numbers
  zeros(['2']);
  // @ts-expect-error keepdim goes into the options
  sum(x, 0, true);
  // @ts-expect-error an option that does not exist
  sum(x, 0, { keepDim: true });
  // @ts-expect-error k is needed
  topk(x);
  // @ts-expect-error a pair, not a tensor
  topk(x, 1).add(1);
  // @ts-expect-error a pair, not a tensor
  x.max(0).add(1);
  // @ts-expect-error a list, not a tensor
  x.split(2).add(1);
  // @ts-expect-error a hook gives a tensor or nothing
  x.registerHook(() => 3);
  // @ts-expect-error rounding modes are 'trunc' and 'floor'
  x.div(2, { roundingMode: 'up' });
  // @ts-expect-error one of both is a tensor
  isin(2, 3);
  // @ts-expect-error a size is needed
  randint(2);
  // @ts-expect-error sizes are a list
  randint(0, 2, 3);
}

describe('types', () => {
  it('know tuples and lists', () => {
    const x = tensor([
      [3, 1],
      [2, 4],
    ]);
    const [values, indices]: [Tensor, Tensor] = topk(x, 1);
    const [largest, at]: readonly [Tensor, Tensor] = x.max(1);
    const parts: readonly Tensor[] = x.split(1);
    const whole: Tensor = x.max();
    const item: number = whole.item();
    expect([values, indices, largest, at].map((t) => t.sizes)).toEqual([[2, 1], [2, 1], [2], [2]]);
    expect([parts.length, item]).toEqual([2, 4]);
  });
});

describe('typed arrays go in and come out', () => {
  it.each([
    ['float32', new Float32Array([1, 2])],
    ['float64', new Float64Array([1, 2])],
    ['int64', new BigInt64Array([1n, -(2n ** 62n)])],
    ['int32', new Int32Array([1, -2])],
    ['int16', new Int16Array([1, -2])],
    ['int8', new Int8Array([1, -2])],
    ['uint8', new Uint8Array([1, 255])],
  ] as const)('%s', (dtype, data) => {
    const x = fromTypedArray(data, [2]);
    expect(x.dtype).toBe(dtype);
    expect(x.toTypedArray()).toEqual(data);
  });

  it.each(['float16', 'bfloat16'] as const)('%s as numbers', (dtype) => {
    expect(tensor([1, 2.5], { dtype }).toTypedArray()).toEqual(new Float32Array([1, 2.5]));
  });
});

it('gives 64-bit integers as they are, also those that are no doubles', () => {
  const x = fromTypedArray(BigInt64Array.of(2n ** 53n + 1n, -(2n ** 62n) - 1n, 3n, 4n), [2, 2]);
  expect(x.t().toTypedArray()).toEqual(BigInt64Array.of(2n ** 53n + 1n, 3n, -(2n ** 62n) - 1n, 4n));
});
