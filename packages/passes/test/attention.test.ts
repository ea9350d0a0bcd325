import { makeFx } from '@tessera/graph';
import { type Tensor, fakeFromMeta, randn, softmax } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { attentionFusion, noopRemoval, viewFolding } from '../src/index.js';
import { Hand, after } from './graph-tools.js';

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
