import { type GraphModule, makeFx } from '@tessera/graph';
import { config } from '@tessera/shared';
import {
  type Tensor,
  addmm,
  asStrided,
  batchNorm,
  conv2d,
  full,
  linear,
  ones,
  rand,
  randn,
  zeros,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  constantFolding,
  convBinaryFolding,
  convBnFolding,
  foldConvBinary,
  foldConvBn,
  horizontalMerging,
  layoutPropagation,
  mergeProducts,
  weightPrepacking,
} from '../src/index.js';
import { Hand, after } from './graph-tools.js';

const trace = (fn: (x: Tensor) => unknown, x: Tensor): GraphModule => makeFx(fn)(x);
const image = (): Tensor => randn([1, 3, 6, 6]);

function norm(x: Tensor, channels: number, runningMean = randn([channels])): Tensor {
  return batchNorm(x, { runningMean, runningVar: rand([channels]).add(0.5), training: false });
}

describe('convBnFolding', () => {
  it('makes one convolution of a convolution and a batch norm (traced)', () => {
    const [w, mean, variance, gamma, beta] = [
      randn([4, 3, 3, 3]),
      randn([4]),
      rand([4]).add(0.5),
      randn([4]),
      randn([4]),
    ];
    const module = trace(
      (x) =>
        batchNorm(conv2d(x, w), {
          runningMean: mean,
          runningVar: variance,
          weight: gamma,
          bias: beta,
          training: false,
        }),
      image(),
    );
    expect(after(module, [convBnFolding, constantFolding()], [image()])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 3, 6, 6] */) {
        const _folded5 = self._folded5; // f32[4, 3, 3, 3]
        const _folded6 = self._folded6; // f32[4]
        const convolution = aten.convolution.default(x, _folded5, _folded6, [1, 1], [0, 0], [1, 1], false, [0, 0], 1); // f32[1, 4, 4, 4]
        return convolution;
      }
      "
    `);
  });

  it('also by hand, with a bias and in half precision', () => {
    const hand = new Hand();
    const x = hand.input('x', [1, 2, 4, 4]);
    const w = hand.constant('w', randn([2, 2, 1, 1]));
    const b = hand.constant('b', randn([2]));
    const [mean, variance] = [hand.constant('m', randn([2])), hand.constant('v', ones([2]))];
    const conv = hand.call('convolution', x, w, b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1);
    const bn = hand.call(
      '_native_batch_norm_legit_no_training',
      conv,
      null,
      null,
      mean,
      variance,
      0.1,
      1e-5,
    );
    const item = trace((t) => t, ones([1])).graph;
    expect(item.size).toBe(2);
    hand.graph.output([conv]);
    expect(bn.users.size).toBe(0);
    // Its other reader, the output, keeps the convolution as it is.
    expect(foldConvBn(hand.module)).toBe(0);
    const halves = randn([4, 3, 3, 3]).to('bfloat16');
    const stats = [zeros([4]).to('bfloat16'), ones([4]).to('bfloat16')] as const;
    const half = trace(
      (t) =>
        batchNorm(conv2d(t, halves), {
          runningMean: stats[0],
          runningVar: stats[1],
          training: false,
        }),
      image().to('bfloat16'),
    );
    expect(foldConvBn(half)).toBe(1);
    expect((half.forward(image().to('bfloat16')) as Tensor).dtype).toBe('bfloat16');
  });

  it('leaves a convolution that is read elsewhere, and statistics that are inputs', () => {
    const w = randn([4, 3, 3, 3]);
    const shared = trace((x) => {
      const y = conv2d(x, w);
      return [norm(y, 4), y.neg()];
    }, image());
    expect(foldConvBn(shared)).toBe(0);
    const mean = randn([4]);
    const module = makeFx((x: Tensor, m: Tensor) => norm(conv2d(x, w), 4, m))(image(), mean);
    expect(foldConvBn(module)).toBe(0);
  });
});

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

  it('folds by hand, and not what changes dtype or varies elsewhere', () => {
    const hand = new Hand();
    const x = hand.input('x', [1, 2, 4, 4]);
    const w = hand.constant('w', randn([2, 2, 1, 1]));
    const conv = hand.call('convolution', x, w, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1);
    const module = hand.output(hand.call('mul.Tensor', conv, 2));
    expect(
      after(module, [convBinaryFolding, constantFolding()], [randn([1, 2, 4, 4])]),
    ).not.toContain('mul');
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
  });
});

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

  it('merges by hand, but not with a bias that broadcasts', () => {
    const hand = new Hand();
    const x = hand.input('x', [2, 3]);
    const products = [randn([3, 4]), randn([3, 2])].map((w, i) =>
      hand.call('neg', hand.call('mm', x, hand.constant(`w${i}`, w))),
    );
    expect(mergeProducts(hand.output(products))).toBe(2);
    hand.module.lint();
    const w = randn([3, 3]);
    const biases = [randn([3]), randn([1, 3]), randn([3])];
    const three = trace((t) => biases.map((b) => addmm(b, t, w)), randn([2, 3]));
    // The two with biases [3] are one product; the one with [1, 3] stays.
    expect(mergeProducts(three)).toBe(2);
  });
});

describe('weightPrepacking and layoutPropagation', () => {
  const passes = [weightPrepacking, constantFolding(), layoutPropagation];

  it('work channels last inside and give eager strides (traced)', () => {
    const w = randn([4, 3, 3, 3]);
    const module = trace((x) => [conv2d(x, w).relu(), x.add(1)], image());
    expect(after(module, passes, [image()])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 3, 6, 6] */) {
        const _folded1 = self._folded1; // f32[4, 3, 3, 3] strides [27, 1, 9, 3]
        const convolution_1 = tessera.convolution_pointwise.default(x, _folded1, null, [1, 1], [0, 0], [1, 1], 1, "none"); // f32[1, 4, 4, 4] strides [64, 1, 16, 4]
        const relu = aten.relu.default(convolution_1); // f32[1, 4, 4, 4] strides [64, 1, 16, 4]
        const add = aten.add.Tensor(x, 1, 1); // f32[1, 3, 6, 6]
        const inductor_force_stride_order = prims.inductor_force_stride_order.default(relu, [64, 16, 4, 1]); // f32[1, 4, 4, 4]
        const inductor_force_stride_order_1 = prims.inductor_force_stride_order.default(add, [108, 36, 6, 1]); // f32[1, 3, 6, 6]
        return [inductor_force_stride_order, inductor_force_stride_order_1];
      }
      "
    `);
  });

  it('give views that need them the eager strides', () => {
    const w = randn([4, 3, 3, 3]);
    const module = trace((x) => conv2d(x, w).view([-1]).neg(), image());
    expect(after(module, passes, [image()])).toContain('inductor_force_stride_order');
    const strided = trace((x) => asStrided(conv2d(x, w), [4, 4], [4, 1]).neg(), image());
    expect(after(strided, passes, [image()])).toContain('inductor_force_stride_order');
  });

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
});
