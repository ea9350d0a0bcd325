import { type GraphModule, makeFx } from '@tessera/graph';
import { type Tensor, ones, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { capturedAttention } from '../src/index.js';
import { Hand, after } from './graph-tools.js';

const heads = (): Tensor => randn([2, 4, 6, 8]);
const capture = (fn: (q: Tensor, k: Tensor, v: Tensor) => unknown): GraphModule =>
  makeFx(fn, { preDispatch: true })(heads(), heads(), heads());

describe('capturedAttention', () => {
  it.each<[string, (scores: Tensor) => Tensor]>([
    ['not scaled', (scores) => scores],
    ['multiplied', (scores) => scores.mul(0.3)],
    ['divided', (scores) => scores.div(3)],
  ])('takes scores that are %s (traced)', (_, scale) => {
    const module = capture((q, k, v) =>
      scale(q.matmul(k.transpose(-2, -1)))
        .softmax(-1)
        .matmul(v),
    );
    const printed = after(module, [capturedAttention], [heads(), heads(), heads()]);
    expect(printed).toContain('scaled_dot_product_attention');
    expect(printed).not.toContain('softmax');
  });

  it('leaves the transpose to those who read it too (by hand)', () => {
    const hand = new Hand();
    const [q, k, v] = ['q', 'k', 'v'].map((name) => hand.input(name, [1, 2, 3, 4]));
    const turned = hand.call('transpose.int', k!, 2, 3);
    const scores = hand.call('mul.Tensor', hand.call('matmul', q!, turned), 0.5);
    const mixed = hand.call('matmul', hand.call('softmax.int', scores, 3, null), v!);
    const module = hand.output([mixed, hand.call('neg', turned)]);
    const inputs = [0, 1, 2].map(() => randn([1, 2, 3, 4]));
    expect(after(module, [capturedAttention], inputs)).toMatchInlineSnapshot(`
      "export function forward(q: Tensor /* f32[1, 2, 3, 4] */, k: Tensor /* f32[1, 2, 3, 4] */, v: Tensor /* f32[1, 2, 3, 4] */) {
        const transpose = aten.transpose.int(k, 2, 3); // f32[1, 2, 4, 3] strides [24, 12, 1, 4]
        const scaled_dot_product_attention = aten.scaled_dot_product_attention.default(q, k, v, null, 0, false, 0.5, false); // f32[1, 2, 3, 4]
        const neg = aten.neg.default(transpose); // f32[1, 2, 4, 3] strides [24, 12, 1, 4]
        return [scaled_dot_product_attention, neg];
      }
      "
    `);
  });

  it('leaves weights that are read elsewhere, masks, other shapes and dtypes', () => {
    const leaves = (fn: (q: Tensor, k: Tensor, v: Tensor) => unknown): void =>
      expect(capturedAttention.run(capture(fn))).toBe(false);
    const weights = (q: Tensor, k: Tensor): Tensor => q.matmul(k.transpose(-2, -1)).softmax(-1);
    leaves((q, k, v) => ((w) => [w, w.matmul(v)])(weights(q, k)));
    leaves((q, k, v) =>
      q
        .matmul(k.transpose(-2, -1))
        .add(ones([6, 6]))
        .softmax(-1)
        .matmul(v),
    );
    leaves((q, k, v) => q.matmul(k.transpose(-2, -1)).softmax(-2).matmul(v));
    leaves((q, k, v) => weights(q.select(0, 0), k.select(0, 0)).matmul(v.select(0, 0)));
    leaves((q, k, v) => weights(q.narrow(0, 0, 1), k).matmul(v));
    leaves((q, k, v) => weights(q.to('float64'), k.to('float64')).matmul(v.to('float64')));
  });
});
