import { type Node, makeFx } from '@tessera/graph';
import { type Tensor, randn, softmax, zeros } from '@tessera/tensor';
import { fakeFromMeta } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { attentionFusion, noopRemoval, runPasses, viewFolding } from '../src/index.js';
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

  it('finds attention as its primitive operators (by hand)', () => {
    const hand = new Hand();
    const [q, k, v] = ['q', 'k', 'v'].map((name) => hand.input(name, [1, 2, 3, 4]));
    const flat = (x: Node, sizes: number[]): Node =>
      hand.call('view', hand.call('expand', x, [1, 2, ...sizes], false), [2, ...sizes]);
    const keys = hand.call('transpose.int', k!, -2, -1);
    const product = hand.call('bmm', flat(q!, [3, 4]), flat(keys, [4, 3]));
    const scores = hand.call('mul.Tensor', hand.call('view', product, [1, 2, 3, 3]), 0.5);
    const weights = hand.call('_softmax', scores, -1, false);
    const out = hand.call('bmm', flat(weights, [3, 3]), flat(v!, [3, 4]));
    const module = hand.output(hand.call('view', out, [1, 2, 3, 4]));
    const args = [0, 1, 2].map(() => randn([1, 2, 3, 4]));
    expect(after(module, [noopRemoval, viewFolding, attentionFusion], args)).toMatchInlineSnapshot(`
      "export function forward(q: Tensor /* f32[1, 2, 3, 4] */, k: Tensor /* f32[1, 2, 3, 4] */, v: Tensor /* f32[1, 2, 3, 4] */) {
        const _scaled_dot_product_flash_attention_for_cpu = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0, false, null, 0.5); // [f32[1, 2, 3, 4], f32[1, 2, 3] strides [6, 1, 2]]
        const getitem = getItem(_scaled_dot_product_flash_attention_for_cpu, 0); // f32[1, 2, 3, 4]
        return getitem;
      }
      "
    `);
  });

  it.each<[string, number[]]>([
    ['of scores', [8, 8]],
    ['of batches', [2, 1, 1, 8]],
  ])('takes a mask %s (traced)', (_, sizes) => {
    const args = [heads(), heads(), heads(), randn(sizes)] as const;
    const module = makeFx((q: Tensor, k: Tensor, v: Tensor, mask: Tensor) =>
      softmax(q.matmul(k.transpose(-2, -1)).div(4).add(mask), -1).matmul(v),
    )(...args);
    const text = after(module, [noopRemoval, viewFolding, attentionFusion], args);
    expect(text).toContain('scaled_dot_product');
    expect(text).not.toContain('bmm');
  });

  it('gives NaN in rows from which a mask hides everything, as a softmax does', () => {
    const hidden = zeros([8, 8]);
    hidden.select(0, 3).fill_(-Infinity);
    const args = [heads(), heads(), heads(), hidden] as const;
    const module = makeFx((q: Tensor, k: Tensor, v: Tensor, mask: Tensor) =>
      softmax(q.matmul(k.transpose(-2, -1)).mul(0.25).add(mask), -1).matmul(v),
    )(...args);
    const nans = (): number =>
      [...((module.forward(...args) as Tensor).toTypedArray() as Float32Array)].filter(Number.isNaN)
        .length;
    expect(nans()).toBe(2 * 4 * 16);
    runPasses(module, [noopRemoval, viewFolding, attentionFusion]);
    module.lint();
    expect(module.print()).toContain('scaled_dot_product');
    expect(nans()).toBe(2 * 4 * 16);
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
