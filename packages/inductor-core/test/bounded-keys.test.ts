/**
 * @file Which masks bound the keys that attention reads, and by what; whole programs are tested in `@tessera/transformers`.
 */
import { makeFx } from '@tessera/graph';
import { type Tensor, arange, randn, tensor, where, zeros } from '@tessera/tensor';
import { scaledDotProductAttention } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { boundKeys } from '../src/lengths/bounded-keys.js';

const KEYS = 192;

type Mask = (place: Tensor, keys: Tensor) => Tensor;

/** What bounds the keys of attention with a mask that is made of the place of its query. */
function boundsOf(mask: Mask, { keys = KEYS, rows = 1, dropoutP = 0 } = {}) {
  const module = makeFx(
    (place: Tensor, q: Tensor, k: Tensor, v: Tensor) =>
      scaledDotProductAttention(q, k, v, { attnMask: mask(place, arange(keys)), dropoutP }),
    { tracingMode: 'fake' },
  )(
    tensor([5], { dtype: 'int64' }),
    randn([1, 2, rows, 8]),
    randn([1, 2, keys, 8]),
    randn([1, 2, keys, 8]),
  );
  const found = boundKeys(module);
  return (
    found?.counts.map(({ input, plus, block, most }) => ({
      input: found.module.graph.placeholders[input]!.name,
      plus,
      block,
      most,
    })) ?? null
  );
}

const upTo = (plus: number) => [{ input: 'place', plus, block: 64, most: 3 }];

describe('boundKeys', () => {
  it.each<[string, Mask, number]>([
    ['key <= place', (place, keys) => keys.le(place), 0],
    ['place >= key', (place, keys) => place.ge(keys), 0],
    ['key < place', (place, keys) => keys.lt(place), -1],
    ['place > key', (place, keys) => place.gt(keys), -1],
    ['place - key >= 0', (place, keys) => place.sub(keys).ge(0), 0],
    ['place - key >= -2', (place, keys) => place.sub(keys).ge(-2), 2],
    ['key <= place + 3', (place, keys) => keys.le(place.add(3)), 3],
    [
      'of several dimensions, with a window',
      (place, keys) => {
        const distance = place.unsqueeze(-1).sub(keys);
        return distance.ge(0).logicalAnd(distance.lt(16)).unsqueeze(0).unsqueeze(0);
      },
      0,
    ],
    [
      'and whatever else hides keys',
      (place, keys) => keys.remainder(2).eq(0).logicalAnd(keys.le(place)),
      0,
    ],
    ['added to scores', (place, keys) => where(keys.le(place), zeros([]), -Infinity), 0],
  ])('%s', (_, mask, plus) => {
    expect(boundsOf((place, keys) => lift(mask(place, keys)))).toEqual(upTo(plus));
  });

  it('takes the last of several queries', () => {
    const mask: Mask = (place, keys) => keys.le(place.add(arange(7)).unsqueeze(-1));
    expect(boundsOf(mask, { rows: 7 })).toEqual(upTo(6));
  });

  it('takes shorter blocks where longer ones do not divide the keys, and none where there is one block', () => {
    const mask: Mask = (place, keys) => lift(keys.le(place));
    expect(boundsOf(mask, { keys: 48 })).toEqual([{ input: 'place', plus: 0, block: 16, most: 3 }]);
    expect(boundsOf(mask, { keys: 64 })).toBeNull();
    expect(boundsOf(mask, { keys: 100 })).toBeNull();
  });

  it.each<[string, Mask]>([
    ['keys before the place', (place, keys) => keys.ge(place)],
    ['keys in another order', (place, keys) => keys.flip([0]).le(place)],
    ['every other key', (place, keys) => keys.mul(2).le(place)],
    ['one or the other', (place, keys) => keys.le(place).logicalOr(keys.eq(7))],
    ['a finite score', (place, keys) => where(keys.le(place), zeros([]), -1e38)],
    ['other numbers', (place, keys) => keys.le(place.mul(3))],
    ['all keys alike', (place) => place.ge(3)],
    ['one of them counted', (place) => place.expand([KEYS]).ge(arange(1))],
    ['rows of one key', (place, keys) => place.ge(arange(1)).logicalAnd(keys.remainder(2).eq(0))],
    ['what is added being 1 and 0', (place, keys) => keys.le(place).to('float32')],
    ['-∞ as a truth', (place, keys) => where(keys.le(place), zeros([]), -Infinity).to('bool')],
    ['numbers of keys that are rounded', (place, keys) => keys.to('bfloat16').le(place)],
  ])('none: %s', (_, mask) => {
    expect(boundsOf((place, keys) => lift(mask(place, keys)))).toBeNull();
  });
});

it('does not move the numbers that dropout draws for each key', () => {
  expect(boundsOf((place, keys) => lift(keys.le(place)), { dropoutP: 0.5 })).toBeNull();
});

/** A mask of keys for attention. */
function lift(mask: Tensor): Tensor {
  return mask.ndim === 1 ? mask.unsqueeze(0) : mask;
}
