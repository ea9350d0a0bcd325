import { type GraphModule, makeFx } from '@tessera/graph';
import { type Tensor, full, randn } from '@tessera/tensor';
import { conv2d } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { constantFolding, convBinaryFolding, foldConvBinary } from '../../src/index.js';
import { Hand, after } from '../graph-tools.js';

const trace = (fn: (x: Tensor) => unknown, x: Tensor): GraphModule => makeFx(fn)(x);
const image = (): Tensor => randn([1, 3, 6, 6]);

describe('convBinaryFolding', () => {
  it('folds factors and terms per channel (traced)', () => {
    const w = randn([4, 3, 3, 3]);
    const c = randn([4, 1, 1]);
    const module = trace((x) => conv2d(x, w).mul(c).add(2).div(3).sub(c), image());
    expect(after(module, [convBinaryFolding, constantFolding()], [image()])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 3, 6, 6] */) {
        const _folded2 = self._folded2; // f32[4, 3, 3, 3]
        const _folded3 = self._folded3; // f32[4]
        const convolution = aten.convolution.default(x, _folded2, _folded3, [1, 1], [0, 0], [1, 1], false, [0, 0], 1); // f32[1, 4, 4, 4]
        return convolution;
      }
      "
    `);
  });

  it('folds a factor (by hand)', () => {
    const hand = new Hand();
    const x = hand.input('x', [1, 2, 4, 4]);
    const w = hand.constant('w', randn([2, 2, 1, 1]));
    const conv = hand.call('convolution', x, w, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1);
    const module = hand.output(hand.call('mul.Tensor', conv, 2));
    expect(after(module, [convBinaryFolding, constantFolding()], [randn([1, 2, 4, 4])]))
      .toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 2, 4, 4] */) {
        const _folded1 = self._folded1; // f32[2, 2, 1, 1]
        const convolution = aten.convolution.default(x, _folded1, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1); // f32[1, 2, 4, 4]
        return convolution;
      }
      "
    `);
  });

  it('leaves what changes dtype or varies elsewhere', () => {
    const half = randn([4, 3, 3, 3]).to('bfloat16');
    expect(
      foldConvBinary(
        trace(
          (t) => conv2d(t, half).mul(full([1], 2, { dtype: 'float32' })),
          image().to('bfloat16'),
        ),
      ),
    ).toBe(0);
    const wide = randn([4, 3, 3, 3]);
    const row = randn([4]);
    expect(foldConvBinary(trace((t) => conv2d(t, wide).mul(row), image()))).toBe(0);
    // Division by zero gives infinities behind a sum, NaN inside.
    expect(foldConvBinary(trace((t) => conv2d(t, wide).div(0), image()))).toBe(0);
    expect(foldConvBinary(trace((t) => conv2d(t, wide).mul(Infinity), image()))).toBe(0);
  });
});
