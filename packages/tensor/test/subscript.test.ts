/**
 * @file Index expressions, as Python writes them.
 */
import { describe, expect, it } from 'vitest';
import { type IndexItem, arange, grad, isTensor, ones, tensor } from '../src/index.js';

const x = arange(24).reshape([2, 3, 4]);

describe('index', () => {
  const cases: [string, IndexItem[], readonly number[], number[]][] = [
    ['x[0]', [0], [3, 4], [0, 1, 2]],
    ['x[-1, 0]', [-1, 0], [4], [12, 13, 14, 15]],
    ['x[:, -1]', [':', -1], [2, 4], [8, 9, 10]],
    ['x[..., 0]', ['...', 0], [2, 3], [0, 4, 8, 12, 16, 20]],
    ['x[:, 1:, ::2]', [':', '1:', '::2'], [2, 2, 2], [4, 6, 8, 10, 16]],
    ['x[:, :-1]', [':', ':-1'], [2, 2, 4], [0, 1, 2, 3, 4]],
    ['x[None]', [null], [1, 2, 3, 4], [0, 1]],
    ['x[..., None, 1:3]', ['...', null, '1:3'], [2, 3, 1, 2], [1, 2, 5, 6]],
    ['x[[1, 0]]', [[1, 0]], [2, 3, 4], [12, 13]],
    ['x[:, [0, 2], 1]', [':', [0, 2], 1], [2, 2], [1, 9, 13, 21]],
    ['x[[0, 1], :, [1, 2]]', [[0, 1], ':', [1, 2]], [2, 3], [1, 5, 9, 14, 18, 22]],
    ['x[0, [True, False, True]]', [0, [true, false, true]], [2, 4], [0, 1, 2, 3, 8]],
    ['x[tensor(1)]', [tensor(1n)], [3, 4], [12, 13]],
    ['x[True]', [true], [1, 2, 3, 4], [0, 1]],
  ];
  it.each(cases)('%s', (_, items, shape, start) => {
    const result = x.index(...items);
    expect(result.shape).toEqual(shape);
    expect((result.reshape([-1]).toArray() as number[]).slice(0, start.length)).toEqual(start);
  });

  it('keeps where a mask of several dimensions holds', () => {
    expect(x.index(x.gt(20)).toArray()).toEqual([21, 22, 23]);
    expect(x.index(0, x.index(0).lt(2)).toArray()).toEqual([0, 1]);
  });

  it('places what follows a mask of several dimensions behind all of them', () => {
    const y = arange(24).reshape([2, 2, 3, 2]);
    const mask = tensor([
      [true, false],
      [false, true],
    ]);
    const rows = tensor([2n, 0n]);
    const columns = tensor([1n, 0n]);
    expect(y.index(mask, rows).toArray()).toEqual([
      [4, 5],
      [18, 19],
    ]);
    expect(y.index(mask, rows, columns).toArray()).toEqual([5, 18]);
    for (const between of [':', '...'])
      expect(y.index(mask, between, columns).toArray()).toEqual([
        [1, 3, 5],
        [18, 20, 22],
      ]);
    const written = y.clone().indexPut_([mask, '...', 0], -1);
    expect(written.index(0, 0).toArray()).toEqual([
      [-1, 1],
      [-1, 3],
      [-1, 5],
    ]);
  });

  it('gives views for slices and copies for indices', () => {
    const y = x.clone();
    y.index(0, ':', '1:').fill_(-1);
    expect(y.index(0, 0).toArray()).toEqual([0, -1, -1, -1]);
    y.index([1]).fill_(-2);
    expect(y.index(1, 0, 0).item()).toBe(12);
    expect(y.index('...').storage).toBe(y.storage);
  });

  it('still takes the list of tensors of aten::index', () => {
    const rows = tensor([1n, 0n]);
    expect(x.index([rows, null, rows]).shape).toEqual([2, 3]);
  });

  it('is differentiable', () => {
    const w = ones([3, 2]).requiresGrad_();
    const [g] = grad([w.index([0, 0], 1).sum().add(w.index(':', 0).sum())], [w]);
    expect(isTensor(g) && g.toArray()).toEqual([
      [1, 2],
      [1, 0],
      [1, 0],
    ]);
  });

  it('says what is wrong', () => {
    expect(() => x.index(0, 0, 0, 0)).toThrow('too many indices for tensor of dimension 3');
    expect(() => x.index(5)).toThrow('out of range');
    expect(() => x.index('a')).toThrow("'a' is not a slice");
    expect(() => x.index('::-1')).toThrow('greater than zero');
    expect(() => x.index('...', '...')).toThrow('only once');
    expect(() => x.index(0.5)).toThrow('not a whole number');
  });
});

describe('indexPut_', () => {
  it('assigns to slices, indices and masks', () => {
    const y = tensor([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
    y.indexPut_([':', 0], 0);
    y.indexPut_([[0, 2], 1], tensor([-1, -2]));
    y.indexPut_([y.eq(4)], 9);
    expect(y.toArray()).toEqual([
      [0, -1],
      [0, 9],
      [0, -2],
    ]);
    y.indexPut_([0], 1, { accumulate: true });
    y.indexPut_([[1, 1]], ones([2, 2]), { accumulate: true });
    expect(y.toArray()).toEqual([
      [1, 0],
      [2, 11],
      [0, -2],
    ]);
  });

  it('has a form that leaves self alone', () => {
    const y = tensor([1, 2]);
    expect(y.indexPut([0], 5).toArray()).toEqual([5, 2]);
    expect(y.toArray()).toEqual([1, 2]);
  });
});
