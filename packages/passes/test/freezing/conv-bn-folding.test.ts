import { type GraphModule, emitGetItem, makeFx } from '@tessera/graph';
import { type Tensor, ones, rand, randn, zeros } from '@tessera/tensor';
import { batchNorm, conv2d } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { constantFolding, convBnFolding, foldConvBn } from '../../src/index.js';
import { Hand, after } from '../graph-tools.js';

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

  it('takes the bias of the convolution along (by hand)', () => {
    const hand = new Hand();
    const [x, w] = [hand.input('x', [1, 2, 4, 4]), hand.constant('w', randn([2, 2, 1, 1]))];
    const [b, mean] = [hand.constant('b', randn([2])), hand.constant('m', randn([2]))];
    const variance = hand.constant('v', rand([2]).add(0.5));
    const conv = hand.call('convolution', x, w, b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1);
    const statistics = [null, null, mean, variance, 0.1, 1e-5] as const;
    const bn = hand.call('_native_batch_norm_legit_no_training', conv, ...statistics);
    const module = hand.output(emitGetItem(hand.graph, bn, 0));
    expect(after(module, [convBnFolding, constantFolding()], [randn([1, 2, 4, 4])]))
      .toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 2, 4, 4] */) {
        const _folded4 = self._folded4; // f32[2, 2, 1, 1]
        const _folded5 = self._folded5; // f32[2]
        const convolution = aten.convolution.default(x, _folded4, _folded5, [1, 1], [0, 0], [1, 1], false, [0, 0], 1); // f32[1, 2, 4, 4]
        return convolution;
      }
      "
    `);
  });

  it('keeps the dtype of half-precision weights', () => {
    const halves = randn([4, 3, 3, 3]).to('bfloat16');
    const half = trace(
      (t) =>
        batchNorm(conv2d(t, halves), {
          runningMean: zeros([4]).to('bfloat16'),
          runningVar: ones([4]).to('bfloat16'),
          training: false,
        }),
      image().to('bfloat16'),
    );
    expect(foldConvBn(half)).toBe(1);
    half.lint();
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
