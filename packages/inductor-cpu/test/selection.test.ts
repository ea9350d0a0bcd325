/**
 * @file What finds, counts and tells apart elements in WebAssembly, against the reference kernels: every dtype, NaN, signed zeros,
 * masks with long gaps, ranks from 1 to 4.
 */
import {
  type DType,
  type Tensor,
  bincount,
  fromTypedArray,
  randint,
  unique,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  bincountOf,
  maskedSelectOf,
  nonzeroOf,
  uniqueConsecutiveOf,
  uniqueOf,
} from '../src/selection/produce.js';
import { ALL, numbersOf, shown } from './numbers-of.js';

function same(got: Tensor | null, wanted: Tensor): void {
  expect(got).not.toBeNull();
  expect([got!.dtype, got!.sizes, got!.strides]).toEqual([
    wanted.dtype,
    wanted.sizes,
    wanted.strides,
  ]);
  expect(shown(got!)).toEqual(shown(wanted));
}

/** A mask that holds at every `step`-th place or so. */
function mask(sizes: readonly number[], step: number): Tensor {
  return randint(0, step, [...sizes]).eq(0);
}

describe.each(ALL)('%s', (dtype) => {
  it('nonzero finds what is not 0', () => {
    for (const sizes of [[64], [301], [2, 1, 67], [9, 7, 5, 3], [1000, 1]]) {
      const x = numbersOf(dtype, sizes);
      for (const step of [1, 2, 50]) {
        const y = x.mul(mask(sizes, step).to(dtype));
        same(nonzeroOf({ self: y }), y.nonzero());
      }
      same(nonzeroOf({ self: x.mul(0).to(dtype) }), x.mul(0).to(dtype).nonzero());
    }
  });

  it('maskedSelect takes what is under the mask', () => {
    for (const step of [1, 2, 50]) {
      const x = numbersOf(dtype, [13, 17]);
      const taken = mask([13, 17], step);
      same(maskedSelectOf({ self: x, mask: taken }), x.maskedSelect(taken));
    }
    const none = mask([13, 17], 2).logicalAnd(false);
    const x = numbersOf(dtype, [13, 17]);
    same(maskedSelectOf({ self: x, mask: none }), x.maskedSelect(none));
  });

  it('unique and uniqueConsecutive tell elements apart', () => {
    for (const sizes of [[64], [5, 400], [9000]])
      for (const many of [true, false]) {
        const whole = numbersOf(dtype, sizes);
        const x = many ? whole : whole.clamp(-1, 1).to(dtype);
        for (const returnInverse of [true, false])
          for (const returnCounts of [true, false]) {
            const args = { self: x, return_inverse: returnInverse, return_counts: returnCounts };
            const options = { returnInverse, returnCounts };
            const asked = (results: Tensor[] | null): Tensor[] =>
              results!.filter((_, i) => [true, returnInverse, returnCounts][i]);
            for (const [got, wanted] of [
              [uniqueOf(args), x.unique(options)],
              [uniqueConsecutiveOf({ ...args, dim: null }), x.uniqueConsecutive(options)],
            ] as const) {
              const all = [wanted].flat();
              asked(got).forEach((each, i) => same(each, all[i]!));
            }
          }
      }
  });
});

it.each<DType>(['int64', 'int32', 'int16', 'int8', 'uint8'])('bincount of %s', (dtype) => {
  const x = randint(0, 100, [1001]).to(dtype);
  const given = { self: x, weights: null, minlength: 0 };
  same(bincountOf(given), bincount(x));
  same(bincountOf({ ...given, minlength: 300 }), bincount(x, { minlength: 300 }));
  for (const type of ['float32', 'float64'] as const) {
    const weights = numbersOf('float32', [1001], 3, 0).to(type);
    same(bincountOf({ ...given, weights }), bincount(x, { weights }));
  }
});

it('leaves to the reference kernels what is refused, small or not row-major', () => {
  const x = randint(0, 5, [100]);
  const args = { weights: null, minlength: 0 };
  expect(bincountOf({ ...args, self: x.sub(3) })).toBeNull();
  expect(bincountOf({ ...args, self: x.to('float32') })).toBeNull();
  expect(bincountOf({ ...args, self: x, minlength: -1 })).toBeNull();
  expect(bincountOf({ ...args, self: x, weights: x.to('float32').narrow(0, 1, 99) })).toBeNull();
  expect(bincountOf({ ...args, self: x.narrow(0, 0, 3) })).toBeNull();
  expect(nonzeroOf({ self: x.reshape([10, 10]).t() })).toBeNull();
  expect(maskedSelectOf({ self: x, mask: x })).toBeNull();
  expect(maskedSelectOf({ self: x, mask: x.narrow(0, 0, 1).eq(0) })).toBeNull();
  const asked = { return_inverse: true, return_counts: true };
  expect(uniqueOf({ ...asked, self: x.reshape([10, 10]).t() })).toBeNull();
  expect(uniqueConsecutiveOf({ ...asked, self: x, dim: 0 })).toBeNull();
});

it('a part of a tensor is found where it lies', () => {
  const x = fromTypedArray(
    Float32Array.from({ length: 200 }, (_, i) => i % 7),
    [200],
  ).narrow(0, 3, 150);
  same(nonzeroOf({ self: x }), x.nonzero());
  same(maskedSelectOf({ self: x, mask: x.gt(3) }), x.maskedSelect(x.gt(3)));
  same(uniqueOf({ self: x, return_inverse: false })![0]!, unique(x));
});
