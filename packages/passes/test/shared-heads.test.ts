import { type GraphModule, makeFx } from '@tessera/graph';
import { type Tensor, randn } from '@tessera/tensor';
import { add_, scaledDotProductAttention } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { capturedAttention, shareHeads, sharedHeads } from '../src/index.js';
import { Hand, after } from './graph-tools.js';

const inputs = (): Tensor[] => [randn([2, 4, 6, 8]), randn([2, 2, 5, 8]), randn([2, 2, 5, 8])];
const capture = (fn: (...args: Tensor[]) => unknown): GraphModule =>
  makeFx(fn, { preDispatch: true })(...inputs());
const repeated = (x: Tensor): Tensor => x.repeatInterleave(2, 1);
const broadcast = (x: Tensor): Tensor =>
  x.unsqueeze(2).expand([2, 2, 2, 5, 8]).reshape([2, 4, 5, 8]);

describe('sharedHeads', () => {
  it.each([
    ['repeated', repeated],
    ['broadcast and reshaped', broadcast],
  ])('reads heads that are %s where they are (traced)', (_, repeat) => {
    const module = capture((q, k, v) =>
      scaledDotProductAttention(q!, repeat(k!), repeat(v!), { isCausal: true }),
    );
    const printed = after(module, [sharedHeads], inputs());
    expect(printed).toMatch(/attention\.default\(q\w*, k\w*, v\w*, null, 0, true, null, true\)/);
    expect(printed).not.toMatch(/repeat|expand/);
  });

  it('follows attention that was written out (traced)', () => {
    const module = capture((q, k, v) =>
      q!.matmul(repeated(k!).transpose(-2, -1)).mul(0.3).softmax(-1).matmul(repeated(v!)),
    );
    const printed = after(module, [capturedAttention, sharedHeads], inputs());
    expect(printed).not.toMatch(/repeat|softmax/);
  });

  it('leaves a repeated value to those who read it too (by hand)', () => {
    const hand = new Hand();
    const [q, k] = [hand.input('q', [1, 4, 3, 2]), hand.input('k', [1, 2, 3, 2])];
    const wide = hand.call('repeat_interleave.self_int', k, 2, 1, null);
    const mixed = hand.call(
      'scaled_dot_product_attention',
      q,
      wide,
      wide,
      null,
      0,
      false,
      1,
      false,
    );
    const module = hand.output([mixed, hand.call('neg', wide)]);
    expect(after(module, [sharedHeads], [randn([1, 4, 3, 2]), randn([1, 2, 3, 2])]))
      .toMatchInlineSnapshot(`
        "export function forward(q: Tensor /* f32[1, 4, 3, 2] */, k: Tensor /* f32[1, 2, 3, 2] */) {
          const repeat_interleave = aten.repeat_interleave.self_int(k, 2, 1, null); // f32[1, 4, 3, 2]
          const scaled_dot_product_attention_1 = aten.scaled_dot_product_attention.default(q, k, k, null, 0, false, 1, true); // f32[1, 4, 3, 2]
          const neg = aten.neg.default(repeat_interleave); // f32[1, 4, 3, 2]
          return [scaled_dot_product_attention_1, neg];
        }
        "
      `);
  });

  it('leaves other repetitions, and values that are written meanwhile', () => {
    const leaves = (fn: (...args: Tensor[]) => unknown): void =>
      expect(shareHeads(capture(fn))).toBe(0);
    leaves((q, k, v) => scaledDotProductAttention(q!, repeated(k!), v!.repeat([1, 2, 1, 1])));
    leaves((q, k) => scaledDotProductAttention(q!.narrow(1, 0, 2), k!, k!));
    leaves((q, k, v) => {
      const [keys, values] = [repeated(k!), repeated(v!)];
      add_(k!, 1);
      return scaledDotProductAttention(q!, keys, values);
    });
  });
});
