/**
 * @file Numbers as operators take them: the sign of -0, and whole numbers too large to be integers.
 */
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  full,
  fullLike,
  grad,
  maskedFill,
  ones,
  pow,
  tensor,
  where,
  zeros,
} from '@tessera/tensor';
import { fill_ } from '@tessera/tensor/internal';
import { compile, config } from '../src/index.js';

/** What a function gives: eager by either kind of kernels, compiled, and compiled around other values. */
function everyWay(fn: () => Tensor): Record<string, string> {
  const show = (t: Tensor): string =>
    `${t.dtype} ${(t.toArray() as (number | boolean)[]).map((x) => (Object.is(x, -0) ? '-0' : String(x))).join()}`;
  return {
    reference: config.patch({ 'eager.kernels': 'reference' }, () => show(fn())),
    inductor: config.patch({ 'eager.kernels': 'inductor' }, () => show(fn())),
    compiled: show(compile(fn)()),
  };
}

function expectEveryWay(fn: () => Tensor, expected: string): void {
  expect(everyWay(fn)).toEqual({ reference: expected, inductor: expected, compiled: expected });
}

const x = tensor([1, 2]);

describe('-0 keeps its sign', () => {
  const cases: [string, () => Tensor, string][] = [
    ['div', () => x.div(-0), 'float32 -Infinity,-Infinity'],
    ['mul', () => x.mul(-0), 'float32 -0,-0'],
    ['full', () => full([1], -0, { dtype: 'float32' }), 'float32 -0'],
    ['fullLike', () => fullLike(x, -0), 'float32 -0,-0'],
    ['tensor', () => tensor([-0]), 'float32 -0'],
    ['fill_', () => fill_(zeros([1]), -0), 'float32 -0'],
    ['copysign', () => x.copysign(-0), 'float32 -1,-2'],
    ['clamp', () => x.clamp(-5, -0), 'float32 -0,-0'],
    ['where', () => where(x.gt(1), -0, x), 'float32 1,-0'],
    ['add', () => tensor([-0, 0]).add(-0), 'float32 -0,0'],
    ['sub', () => tensor([-0, 0]).sub(0), 'float32 -0,0'],
    ['maskedFill', () => maskedFill(x, x.gt(1), -0), 'float32 1,-0'],
    ['neg', () => x.mul(0).neg(), 'float32 -0,-0'],
    ['maximum of both zeros', () => tensor([-0]).clamp(-0), 'float32 -0'],
    ['folded constants', () => full([1], -0, { dtype: 'float32' }).mul(3).add(-0), 'float32 -0'],
    [
      'folded constants that lose it',
      () => full([1], -0, { dtype: 'float32' }).add(0),
      'float32 0',
    ],
  ];
  it.each(cases)('%s', (_, fn, expected) => expectEveryWay(fn, expected));

  it('is a whole number all the same', () => {
    expectEveryWay(() => full([1], -0), 'int64 0');
    expectEveryWay(() => tensor([3], { dtype: 'int64' }).add(-0), 'int64 3');
  });

  it('also where the number varies between calls', () => {
    const fn = (t: Tensor, by: number): Tensor => t.mul(by);
    const onFloats = compile(fn);
    const values = [1, 2, 3, -0, 4, 0];
    expect(values.map((by) => onFloats(tensor([1]), by).item())).toEqual(values);
    const onIntegers = compile(fn);
    const integers = tensor([1], { dtype: 'int64' });
    expect(values.map((by) => onIntegers(integers, by).dtype)).toEqual(values.map(() => 'int64'));
  });
});

describe('whole numbers beyond the safe integers are floats', () => {
  const integers = tensor([1, -2], { dtype: 'int64' });
  const large = [2 ** 53, 1e19, 2 ** 63, 1e20, 1e30];
  it.each(large.flatMap((k) => [k, -k]))('%s', (k) => {
    const single = Math.fround(k);
    const truth = k > 0;
    expectEveryWay(() => full([1], k), `float32 ${single}`);
    expectEveryWay(() => integers.mul(k), `float32 ${single},${Math.fround(-2 * k)}`);
    expectEveryWay(() => integers.gt(k), `bool ${!truth},${!truth}`);
    expectEveryWay(() => integers.lt(k), `bool ${truth},${truth}`);
    expectEveryWay(() => integers.eq(k), 'bool false,false');
    expectEveryWay(() => integers.clamp(k), truth ? `float32 ${single},${single}` : 'float32 1,-2');
    expectEveryWay(() => where(x.gt(1), k, integers), `float32 1,${single}`);
    expectEveryWay(() => x.to('float64').mul(k), `float64 ${k},${2 * k}`);
    expectEveryWay(() => fullLike(x.to('float64'), k), `float64 ${k},${k}`);
  });

  it('the largest safe integer is one', () => {
    expectEveryWay(() => full([1], Number.MAX_SAFE_INTEGER), `int64 ${Number.MAX_SAFE_INTEGER}`);
    expectEveryWay(
      () => integers.mul(Number.MIN_SAFE_INTEGER).select(0, 0).view([1]),
      `int64 ${Number.MIN_SAFE_INTEGER}`,
    );
  });

  it('also where the number varies between calls', () => {
    const fn = (t: Tensor, by: number): Tensor => t.mul(by);
    const onIntegers = compile(fn);
    const onFloats = compile(fn);
    const values = [1, 2, 3, 1e19, 4];
    expect(values.map((by) => onIntegers(integers, by).dtype)).toEqual(
      values.map((by) => (by === 1e19 ? 'float32' : 'int64')),
    );
    expect(values.map((by) => onFloats(x.to('float64'), by).select(0, 0).item())).toEqual(values);
  });

  const refused: [string, () => Tensor][] = [
    ['full', () => full([1], 1e20, { dtype: 'int64' })],
    ['fullLike', () => fullLike(integers, -1e30)],
    ['fill_', () => fill_(zeros([1], { dtype: 'int32' }), Infinity)],
    ['maskedFill', () => maskedFill(integers, x.gt(1), 2 ** 63)],
  ];
  it.each(refused)('%s of integers refuses what they cannot hold', (_, fn) => {
    const refusal = expect.objectContaining({
      code: 'invalid-argument',
      message: expect.stringContaining('without overflow') as string,
    }) as Error;
    expect(fn).toThrow(refusal);
    expect(() => compile(fn)()).toThrow(refusal);
  });
});

describe('the value of a number does not decide the layout of gradients', () => {
  const numbers = [3, 0, 1, 2, 0.5, -1];
  const powers: [string, (x: Tensor, by: number) => Tensor][] = [
    ['an exponent', (t, by) => t.pow(by)],
    ['a base', (t, by) => pow(by, t)],
  ];
  const losses: [string, (out: Tensor) => Tensor][] = [
    ['one number', (out) => out.sum()],
    ['other strides', (out) => out.mul(ones([3, 2]).mul(2)).sum()],
  ];
  describe.each(powers)('%s', (_name, power) => {
    it.each(losses)('behind a gradient of %s', (_strides, lossOf) => {
      const slopesOf = (fn: typeof power): Tensor[] =>
        numbers.map((by) => {
          const leaf = ones([2, 3]).requiresGrad_();
          return grad(lossOf(fn(leaf.t(), by)), leaf)[0]!;
        });
      const want = slopesOf(power);
      for (const backend of [null, 'eager', 'aot_eager', 'inductor']) {
        const got = slopesOf(backend === null ? power : compile(power, { backend }));
        expect(got.map((slope) => slope.toArray())).toEqual(want.map((slope) => slope.toArray()));
        const strides =
          backend === null || backend === 'eager' ? want[0]!.strides : got[0]!.strides;
        expect(got.map((slope) => slope.strides)).toEqual(numbers.map(() => strides));
      }
    });
  });
});
