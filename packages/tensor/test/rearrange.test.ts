/**
 * @file `rearrange` against PyTorch 2.13's `torch.func.rearrange`: sizes, strides and refusals were recorded from it.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, arange, ones, tensor } from '../src/index.js';
import { grad, rearrange, vmap } from '../src/func/index.js';

const x = arange(24).reshape([2, 3, 4]);

describe('rearrange', () => {
  it.each<[string, Record<string, number>, number[], number[]]>([
    ['a b c -> c b a', {}, [4, 3, 2], [1, 4, 12]],
    ['a b c -> (a b) c', {}, [6, 4], [4, 1]],
    ['a b c -> a (c b)', {}, [2, 12], [12, 1]],
    ['... c -> c ...', {}, [4, 2, 3], [1, 12, 4]],
    ['a ... -> (...) a', {}, [12, 2], [1, 12]],
    ['a b (c d) -> a b c d', { d: 2 }, [2, 3, 2, 2], [12, 4, 2, 1]],
    ['a b (c d 1) -> a b d c', { d: 2 }, [2, 3, 2, 2], [12, 4, 1, 2]],
    ['a b c -> a 1 b c', {}, [2, 1, 3, 4], [12, 12, 4, 1]],
    ['a b c -> a () b c', {}, [2, 1, 3, 4], [12, 12, 4, 1]],
    ['a b c->(a b c)', {}, [24], [1]],
    ['a b c ... -> a (...) c b', {}, [2, 1, 4, 3], [12, 4, 1, 4]],
  ])('%s', (pattern, lengths, sizes, strides) => {
    const out = rearrange(x, pattern, lengths);
    expect(out.sizes).toEqual(sizes);
    expect(out.strides).toEqual(strides);
  });

  it('puts elements where the names say', () => {
    expect(rearrange(x, 'a b (c d) -> (d a) (b c)', { d: 2 }).toArray()).toEqual([
      [0, 2, 4, 6, 8, 10],
      [12, 14, 16, 18, 20, 22],
      [1, 3, 5, 7, 9, 11],
      [13, 15, 17, 19, 21, 23],
    ]);
    expect(rearrange([x, x.neg()], 'n a b c -> (a b c) n').index(5).toArray()).toEqual([5, -5]);
    expect(rearrange(tensor(7), '->').item()).toBe(7);
    expect(rearrange(tensor(7), '-> 1 1').sizes).toEqual([1, 1]);
    expect(rearrange(ones([1, 3]), '1 a -> a').sizes).toEqual([3]);
    expect(rearrange(ones([0, 3]), '(a b) c -> a b c', { a: 2 }).sizes).toEqual([2, 0, 3]);
  });

  it('is batched and differentiated', () => {
    const pattern = 'b (h w) -> w h b';
    const fn = (t: Tensor): Tensor => rearrange(t, pattern, { h: 2 });
    expect(vmap(fn)(x).toArray()).toEqual(x.unbind().map((row) => fn(row).toArray()));
    const weight = arange(12, { dtype: 'float32' }).reshape([2, 2, 3]);
    expect(grad((t: Tensor) => fn(t).mul(weight).sum())(x.index(0).float()).toArray()).toEqual(
      weight.permute([2, 1, 0]).reshape([3, 4]).toArray(),
    );
  });

  it.each<[string, Record<string, number>, string, RegExp]>([
    ['a b -> b a', {}, 'shape-mismatch', /in pattern \(2\) must be equal to .* the tensor \(3\)/],
    ['a b c d ... -> d c b a ...', {}, 'shape-mismatch', /\(4\) must be less than or equal to/],
    ['a b (c d) -> a b c d', {}, 'shape-mismatch', /cannot infer the sizes of two .* c and d/],
    ['a b (c d) -> a b c d', { d: 3 }, 'shape-mismatch', /of size 4 is not \(c 3\)/],
    ['a b (c d) -> a b c d', { c: 2, d: 3 }, 'shape-mismatch', /of size 4 is not \(2 3\)/],
    ['a b c -> c b a', { a: 3 }, 'shape-mismatch', /of size 2 is not \(3\)/],
    ['1 b c -> b c', {}, 'shape-mismatch', /of size 2 is not \(1\)/],
    ['a b c -> a b', {}, 'invalid-argument', /only on one side .* c/],
    ['a b c -> a b c d', {}, 'invalid-argument', /only on one side .* d/],
    ['a a c -> a c', {}, 'invalid-argument', /duplicate dimension 'a'/],
    ['a b c', {}, 'invalid-argument', /single '->' separator/],
    ['a b c -> a ... b c', {}, 'invalid-argument', /Ellipsis found in right side/],
    ['(a ...) c -> a ... c', {}, 'invalid-argument', /Ellipsis is parenthesis in the left side/],
    ['a b ((c d)) -> a b c d', {}, 'invalid-argument', /one-level/],
    ['a b (c d -> a b c d', {}, 'invalid-argument', /Imbalanced parentheses/],
    ['a b c) -> a b c', {}, 'invalid-argument', /not balanced/],
    ['a b c -> a b 2 c', {}, 'invalid-argument', /unnamed axes of size 1/],
    ['a b-c -> a', {}, 'invalid-argument', /Unknown character '-'/],
    ['a. b c -> a', {}, 'invalid-argument', /dots only inside ellipsis/],
    ['... ... -> ...', {}, 'invalid-argument', /only one ellipsis/],
    ['_a b c -> b c _a', {}, 'invalid-argument', /Invalid axis identifier: _a/],
    ['a b c -> c b a', { e: 3 }, 'invalid-argument', /not found in rearrange expression: e/],
    ['a b c -> c b a', { a: 2.5 }, 'invalid-argument', /must be integers, got: 2.5/],
  ])('refuses %s with %j', (pattern, lengths, code, message) => {
    expect(() => rearrange(x, pattern, lengths)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });
});
