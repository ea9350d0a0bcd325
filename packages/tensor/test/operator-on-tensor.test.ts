/**
 * @file What JavaScript does with a tensor where it wants a number, a text or JSON.
 */
import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import { type Tensor, fromTypedArray, ones, tensor } from '../src/index.js';

function codeOf(fn: () => unknown): unknown {
  try {
    return fn();
  } catch (error) {
    return isTesseraError(error) ? error.code : error;
  }
}

describe('operators of JavaScript', () => {
  const x = ones([]) as unknown as number;
  it.each<[string, () => unknown]>([
    ['x * 2', () => x * 2],
    ['-x', () => -x],
    ['x < 2', () => x < 2],
    ['x + 1', () => x + 1],
  ])('%s is refused', (_name, fn) => {
    expect(codeOf(fn)).toBe('operator-on-tensor');
  });

  it('leave identity alone', () => {
    const y = ones([2]);
    expect((y as unknown) === y).toBe(true);
    expect(new Map([[y, 1]]).get(y)).toBe(1);
  });
});

describe('text and JSON', () => {
  it('a template literal has the text of the tensor', () => {
    expect(`${String(tensor([1, 2]))}`).toBe('tensor([1., 2.])');
  });

  it('JSON has its values', () => {
    const state = {
      loss: tensor(0.5),
      rows: tensor(
        [
          [1, 2],
          [3, 4],
        ],
        { dtype: 'int64' },
      ),
    };
    expect(JSON.stringify(state)).toBe('{"loss":0.5,"rows":[[1,2],[3,4]]}');
  });
});

describe('structuredClone', () => {
  const leaf = ones([2], { requiresGrad: true });
  const kinds: [string, Tensor][] = [
    ['a tensor', ones([2])],
    ['an empty one', ones([0])],
    ['a view', ones([2, 2]).t()],
    ['a parameter', leaf],
    ['a result with history', leaf.mul(2)],
  ];
  it.each(kinds)('refuses %s, and does not make an object without methods of it', (_name, x) => {
    const advice = /x\.clone\(\), send x\.toTypedArray\(\) and x\.shape.*could not be cloned/;
    expect(() => structuredClone(x)).toThrow(advice);
    expect(() => structuredClone({ nested: [x] })).toThrow(advice);
  });

  it('takes data and shape, of which there is a way back', () => {
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    const { data, shape } = structuredClone({ data: x.toTypedArray(), shape: x.shape });
    expect(fromTypedArray(data, shape).toArray()).toEqual(x.toArray());
  });
});
