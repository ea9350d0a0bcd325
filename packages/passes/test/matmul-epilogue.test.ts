import { makeFx } from '@tessera/graph';
import { type Tensor, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { matmulEpilogue } from '../src/index.js';
import { Hand, after } from './graph-tools.js';

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
