import { makeFx } from '@tessera/graph';
import { type Tensor, cat, randn, split } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { catSplit } from '../src/index.js';
import { Hand, after } from './graph-tools.js';

describe('catSplit', () => {
  it('undoes a cut behind a join (traced)', () => {
    const args = [randn([2, 3]), randn([2, 4])] as const;
    const module = makeFx((a: Tensor, b: Tensor) => {
      const [x, y] = split(cat([a, b], 1), [3, 4], 1) as [Tensor, Tensor];
      return [x.neg(), y.sin()];
    })(...args);
    expect(after(module, [catSplit], args)).toMatchInlineSnapshot(`
      "export function forward(a: Tensor /* f32[2, 3] */, b: Tensor /* f32[2, 4] */) {
        const neg = aten.neg.default(a); // f32[2, 3]
        const sin = aten.sin.default(b); // f32[2, 4]
        return [neg, sin];
      }
      "
    `);
  });

  it('undoes a join behind a cut, and flattens joins (by hand)', () => {
    const hand = new Hand();
    const [a, b] = [hand.input('a', [2, 3]), hand.input('b', [2, 4])];
    const inner = hand.call('cat', [hand.call('neg', a), b], 1);
    const module = hand.output(hand.call('cat', [inner, a], -1));
    expect(after(module, [catSplit], [randn([2, 3]), randn([2, 4])])).toMatchInlineSnapshot(`
      "export function forward(a: Tensor /* f32[2, 3] */, b: Tensor /* f32[2, 4] */) {
        const neg = aten.neg.default(a); // f32[2, 3]
        const cat_1 = aten.cat.default([neg, b, a], -1); // f32[2, 10]
        return cat_1;
      }
      "
    `);
    const whole = makeFx((x: Tensor) => cat(split(x.neg(), [1, 2], 0), 0).sin())(randn([3]));
    expect(after(whole, [catSplit], [randn([3])])).not.toContain('cat');
  });

  it('does not let a join read what was written after an inner one', () => {
    const module = makeFx((a: Tensor, b: Tensor) => {
      const inner = cat([a, b], 0);
      a.mul_(2);
      return cat([inner, b], 0);
    })(randn([2]), randn([2]));
    expect(catSplit.run(module)).toBe(false);
  });

  it('lets views of what stays be recorded as they are', () => {
    const args = [randn([2, 3]), randn([2, 3])] as const;
    const module = makeFx((a: Tensor, b: Tensor) =>
      split(cat([a.neg(), b], 1), [3, 3], 1)[0]!
        .t()
        .sin(),
    )(...args);
    expect(after(module, [catSplit], args)).toContain(
      't = aten.t.default(neg); // f32[3, 2] strides [1, 3]',
    );
  });

  it('keeps cuts at other places, along other dims, and what the caller could tell apart', () => {
    const keeps = (f: (a: Tensor, b: Tensor) => unknown): void => {
      const args = [randn([2, 2]), randn([2, 2])] as const;
      expect(catSplit.run(makeFx(f)(...args))).toBe(false);
    };
    keeps((a, b) => split(cat([a, b], 1), [1, 3], 1).map((part) => part.neg()));
    keeps((a, b) => split(cat([a, b], 1), [1, 1], 0).map((part) => part.neg()));
    keeps((a) => cat([a], 0));
    // A part that is returned shares memory with the whole.
    keeps((a, b) => {
      const whole = cat([a.neg(), b], 0);
      return [whole, split(whole, [2, 2], 0)[0]];
    });
    // What is transposed lies otherwise than the part of the join, of which a view is taken.
    keeps((a, b) =>
      split(cat([a.t(), b], 0), [2, 2], 0)[0]!
        .view([4])
        .neg(),
    );
  });
});
