import { type GraphModule, makeFx } from '@tessera/graph';
import { type Tensor, addmm, linear, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { constantFolding, horizontalMerging, mergeProducts } from '../../src/index.js';
import { Hand, after } from '../graph-tools.js';

const trace = (fn: (x: Tensor) => unknown, x: Tensor): GraphModule => makeFx(fn)(x);

describe('horizontalMerging', () => {
  it('makes one product of several with one input (traced)', () => {
    const [w1, w2, b1, b2] = [randn([4, 3]), randn([5, 3]), randn([4]), randn([5])];
    const module = trace((x) => [linear(x, w1, b1).relu(), linear(x, w2, b2).sin()], randn([2, 3]));
    // Biases of different shapes stay apart.
    expect(mergeProducts(module)).toBe(0);
    const w3 = randn([4, 3]);
    const same = trace((x) => [linear(x, w1, b1).relu(), linear(x, w3, b1)], randn([2, 3]));
    expect(after(same, [constantFolding(), horizontalMerging, constantFolding()], [randn([2, 3])]))
      .toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 3] */) {
        const _folded5 = self._folded5; // f32[3, 8]
        const _folded6 = self._folded6; // f32[8]
        const addmm_2 = aten.addmm.default(_folded6, x, _folded5, 1, 1); // f32[2, 8]
        const split_with_sizes = aten.split_with_sizes.default(addmm_2, [4, 4], 1); // [f32[2, 4] strides [8, 1], f32[2, 4] strides [8, 1]]
        const getitem = getItem(split_with_sizes, 0); // f32[2, 4] strides [8, 1]
        const getitem_1 = getItem(split_with_sizes, 1); // f32[2, 4] strides [8, 1]
        const clone = aten.clone.default(getitem_1, "contiguous"); // f32[2, 4]
        const relu = aten.relu.default(getitem); // f32[2, 4]
        return [relu, clone];
      }
      "
    `);
  });

  it('merges products and cuts the result (by hand)', () => {
    const hand = new Hand();
    const x = hand.input('x', [2, 3]);
    const products = [randn([3, 4]), randn([3, 2])].map((w, i) =>
      hand.call('neg', hand.call('mm', x, hand.constant(`w${i}`, w))),
    );
    const module = hand.output(products);
    expect(after(module, [horizontalMerging, constantFolding()], [randn([2, 3])]))
      .toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[2, 3] */) {
        const _folded2 = self._folded2; // f32[3, 6]
        const mm_2 = aten.mm.default(x, _folded2); // f32[2, 6]
        const split_with_sizes = aten.split_with_sizes.default(mm_2, [4, 2], 1); // [f32[2, 4] strides [6, 1], f32[2, 2] strides [6, 1]]
        const getitem = getItem(split_with_sizes, 0); // f32[2, 4] strides [6, 1]
        const getitem_1 = getItem(split_with_sizes, 1); // f32[2, 2] strides [6, 1]
        const neg = aten.neg.default(getitem); // f32[2, 4]
        const neg_1 = aten.neg.default(getitem_1); // f32[2, 2]
        return [neg, neg_1];
      }
      "
    `);
  });

  it('leaves products with a bias that broadcasts', () => {
    const w = randn([3, 3]);
    const biases = [randn([3]), randn([1, 3]), randn([3])];
    const three = trace((t) => biases.map((b) => addmm(b, t, w)), randn([2, 3]));
    // The two with biases [3] are one product; the one with [1, 3] stays.
    expect(mergeProducts(three)).toBe(2);
  });

  it('gives results that leave as views memory of their own, and views what they can take', () => {
    const [w1, w2] = [randn([3, 4]), randn([3, 4])];
    const module = trace(
      (x) => [x.mm(w1).view([2, 1, 4]), x.mm(w2).view([8]).sin()],
      randn([2, 3]),
    );
    expect(after(module, [horizontalMerging], [randn([2, 3])])).toContain('split_with_sizes');
    const results = module.forward(randn([2, 3])) as Tensor[];
    expect(results.map(({ strides }) => strides)).toEqual([[4, 4, 1], [1]]);
  });

  it('leaves products of constants, which folding computes', () => {
    const constant = randn([2, 2]);
    const module = trace(
      () => constant.mm(constant.neg()).add(constant.mm(constant.sin())),
      randn([1]),
    );
    expect(mergeProducts(module)).toBe(0);
  });
});
