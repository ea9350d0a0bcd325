import { makeFx } from '@tessera/graph';
import { type Tensor, cat, fakeFromMeta, randn, softmax, split } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  addmmFusion,
  attentionFusion,
  catSplit,
  matmulEpilogue,
  noopRemoval,
  viewFolding,
} from '../src/index.js';
import { Hand, after } from './graph-tools.js';

describe('addmmFusion', () => {
  it('takes a bias into a product (by hand)', () => {
    const hand = new Hand();
    const [a, b, bias] = [
      hand.input('a', [2, 3]),
      hand.input('b', [3, 4]),
      hand.input('bias', [4]),
    ];
    const module = hand.output(hand.call('add.Tensor', bias, hand.call('mm', a, b), 1));
    expect(after(module, [addmmFusion], [randn([2, 3]), randn([3, 4]), randn([4])]))
      .toMatchInlineSnapshot(`
      "export function forward(a: Tensor /* f32[2, 3] */, b: Tensor /* f32[3, 4] */, bias: Tensor /* f32[4] */) {
        const addmm = aten.addmm.default(bias, a, b, 1, 1); // f32[2, 4]
        return addmm;
      }
      "
    `);
  });

  it('also behind a view (traced)', () => {
    const module = makeFx((x: Tensor, w: Tensor, bias: Tensor) => x.matmul(w).add(bias))(
      randn([2, 5, 3]),
      randn([3, 4]),
      randn([4]),
    );
    expect(after(module, [addmmFusion], [randn([2, 5, 3]), randn([3, 4]), randn([4])]))
      .toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 5, 3] */, w: Tensor /* f32[3, 4] */, bias: Tensor /* f32[4] */) {
        const view = aten.view.default(x, [10, 3]); // f32[10, 3]
        const addmm = aten.addmm.default(bias, view, w, 1, 1); // f32[10, 4]
        const view_2 = aten.view.default(addmm, [2, 5, 4]); // f32[2, 5, 4]
        return view_2;
      }
      "
    `);
  });

  it('leaves biases that make the result larger, and other dtypes', () => {
    const trace = (sizes: number[], dtype: 'float32' | 'float64'): string => {
      const args = [randn([1, 3]), randn([3, 4]), randn(sizes, { dtype })] as const;
      return after(
        makeFx((a: Tensor, b: Tensor, c: Tensor) => a.mm(b).add(c))(...args),
        [addmmFusion],
        args,
      );
    };
    expect(trace([2, 4], 'float32')).not.toContain('addmm');
    expect(trace([4], 'float64')).not.toContain('addmm');
    expect(trace([1, 4], 'float32')).toContain('addmm');
  });
});

describe('matmulEpilogue', () => {
  it('takes a factor and a sum into products (by hand)', () => {
    const hand = new Hand();
    const [a, b, c] = [hand.input('a', [2, 3]), hand.input('b', [3, 4]), hand.input('c', [2, 4])];
    const scaled = hand.call('mul.Tensor', hand.call('mm', a, b), 0.5);
    const module = hand.output(hand.call('add.Tensor', c, scaled, 1));
    expect(after(module, [matmulEpilogue], [randn([2, 3]), randn([3, 4]), randn([2, 4])]))
      .toMatchInlineSnapshot(`
      "export function forward(a: Tensor /* f32[2, 3] */, b: Tensor /* f32[3, 4] */, c: Tensor /* f32[2, 4] */) {
        const addmm = aten.addmm.default(c, a, b, 1, 0.5); // f32[2, 4]
        return addmm;
      }
      "
    `);
  });

  it('takes a sum into batched products (traced)', () => {
    const args = [randn([2, 3, 4]), randn([2, 4, 5]), randn([3, 5])] as const;
    const module = makeFx((a: Tensor, b: Tensor, c: Tensor) => a.bmm(b).add(c))(...args);
    expect(after(module, [matmulEpilogue], args)).toMatchInlineSnapshot(`
      "export function forward(a: Tensor /* f32[2, 3, 4] */, b: Tensor /* f32[2, 4, 5] */, c: Tensor /* f32[3, 5] */) {
        const baddbmm = aten.baddbmm.default(c, a, b, 1, 1); // f32[2, 3, 5]
        return baddbmm;
      }
      "
    `);
  });
});

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

  it('keeps cuts at other places, along other dims, and what the caller could tell apart', () => {
    const keeps = (f: (a: Tensor, b: Tensor) => unknown): void => {
      const args = [randn([2, 2]), randn([2, 2])] as const;
      expect(catSplit.run(makeFx(f)(...args))).toBe(false);
    };
    keeps((a, b) => split(cat([a, b], 1), [1, 3], 1).map((part) => part.neg()));
    keeps((a, b) => split(cat([a, b], 1), [1, 1], 0).map((part) => part.neg()));
    keeps((a) => cat([a], 0));
  });
});

describe('attentionFusion', () => {
  const heads = (): Tensor => randn([2, 4, 8, 16]);

  it.each<[string, (s: Tensor) => Tensor]>([
    ['multiplied', (scores) => scores.mul(0.25)],
    ['divided', (scores) => scores.div(3)],
  ])('finds attention written out, scores %s (traced)', (_, scale) => {
    const args = [heads(), heads(), heads()] as const;
    const module = makeFx((q: Tensor, k: Tensor, v: Tensor) =>
      softmax(scale(q.matmul(k.transpose(-2, -1))), -1).matmul(v),
    )(...args);
    const text = after(module, [noopRemoval, viewFolding, attentionFusion], args);
    expect(text).toContain('scaled_dot_product');
    expect(text).not.toContain('bmm');
  });

  it('leaves attention whose weights are read elsewhere (by hand)', () => {
    const args = [heads(), heads(), heads()] as const;
    const module = makeFx((q: Tensor, k: Tensor, v: Tensor) => {
      const weights = softmax(q.matmul(k.transpose(-2, -1)).mul(0.25), -1);
      return [weights.matmul(v), weights.neg()];
    })(...args);
    expect(after(module, [noopRemoval, viewFolding, attentionFusion], args)).toContain('bmm');
    const hand = new Hand();
    const product = hand.call('bmm', hand.input('a', [2, 3, 4]), hand.input('b', [2, 4, 3]));
    expect(attentionFusion.run(hand.output(hand.call('_softmax', product, -1, false)))).toBe(false);
    expect(fakeFromMeta({ sizes: [1], strides: [1], dtype: 'float32', device: 'cpu' }).isFake).toBe(
      true,
    );
  });
});
