import { randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { weightPrepacking } from '../../src/index.js';
import { Hand, after } from '../graph-tools.js';

describe('weightPrepacking', () => {
  it('names convolutions of constants, and leaves weights as they are (by hand)', () => {
    const hand = new Hand();
    const x = hand.input('x', [1, 2, 4, 4]);
    const w = hand.constant('w', randn([2, 2, 3, 3]));
    const conv = hand.call('convolution', x, w, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1);
    const module = hand.output(conv);
    expect(after(module, [weightPrepacking], [randn([1, 2, 4, 4])])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 2, 4, 4] */) {
        const w = self.w; // f32[2, 2, 3, 3]
        const convolution_1 = tessera.convolution_pointwise.default(x, w, null, [1, 1], [0, 0], [1, 1], 1, "none"); // f32[1, 2, 2, 2]
        return convolution_1;
      }
      "
    `);
  });
});
