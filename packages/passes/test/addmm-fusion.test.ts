import { makeFx } from '@tessera/graph';
import { type Tensor, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { addmmFusion } from '../src/index.js';
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
