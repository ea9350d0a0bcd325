import { type GraphModule, makeFx } from '@tessera/graph';
import { config } from '@tessera/shared';
import { type Tensor, conv2d, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { constantFolding, weightPrepacking } from '../../src/index.js';
import { Hand, after } from '../graph-tools.js';

const trace = (fn: (x: Tensor) => unknown, x: Tensor): GraphModule => makeFx(fn)(x);
const image = (): Tensor => randn([1, 3, 6, 6]);

describe('weightPrepacking', () => {
  it('leave weights as they are without layoutOptimization (by hand)', () => {
    const hand = new Hand();
    const x = hand.input('x', [1, 2, 4, 4]);
    const w = hand.constant('w', randn([2, 2, 3, 3]));
    const conv = hand.call('convolution', x, w, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1);
    const module = hand.output(conv);
    const text = config.patch({ layoutOptimization: false }, () =>
      after(module, [weightPrepacking], [randn([1, 2, 4, 4])]),
    );
    expect(text).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 2, 4, 4] */) {
        const w = self.w; // f32[2, 2, 3, 3]
        const convolution_1 = tessera.convolution_pointwise.default(x, w, null, [1, 1], [0, 0], [1, 1], 1, "none"); // f32[1, 2, 2, 2]
        return convolution_1;
      }
      "
    `);
  });

  it('stores weights channels last where that is wanted, and never those of sequences (traced)', () => {
    const w = randn([4, 3, 3, 3]);
    const module = trace((x) => conv2d(x, w), image());
    const text = config.patch({ forceLayoutOptimization: true }, () =>
      after(module, [weightPrepacking, constantFolding()], [image()]),
    );
    expect(text).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 3, 6, 6] */) {
        const _folded1 = self._folded1; // f32[4, 3, 3, 3] strides [27, 1, 9, 3]
        const convolution_1 = tessera.convolution_pointwise.default(x, _folded1, null, [1, 1], [0, 0], [1, 1], 1, "none"); // f32[1, 4, 4, 4]
        return convolution_1;
      }
      "
    `);
    // On the CPU it is not faster.
    expect(
      after(
        trace((x) => conv2d(x, w), image()),
        [weightPrepacking],
        [image()],
      ),
    ).not.toContain('clone');
  });
});
