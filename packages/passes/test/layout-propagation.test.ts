import { type GraphModule, emitOp, makeFx } from '@tessera/graph';
import { config } from '@tessera/shared';
import { type Tensor, asStrided, conv2d, fakeFromMeta, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import {
  constantFolding,
  convolutionPointwise,
  layoutPropagation,
  weightPrepacking,
} from '../src/index.js';
import { Hand, after } from './graph-tools.js';

const trace = (fn: (x: Tensor) => unknown, x: Tensor): GraphModule => makeFx(fn)(x);
const image = (): Tensor => randn([1, 3, 6, 6]);

describe('layoutPropagation', () => {
  const passes = [weightPrepacking, constantFolding(), layoutPropagation];
  /** Runs them as on devices where channels last is faster. */
  const laidOut = (module: GraphModule, inputs: readonly Tensor[]): string =>
    config.patch({ forceLayoutOptimization: true }, () => after(module, passes, inputs));

  it('work channels last inside and give eager strides (traced)', () => {
    const w = randn([4, 3, 3, 3]);
    const module = trace((x) => [conv2d(x, w).relu(), x.add(1)], image());
    expect(laidOut(module, [image()])).toMatchInlineSnapshot(`
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
    expect(laidOut(module, [image()])).toContain('inductor_force_stride_order');
    const strided = trace((x) => asStrided(conv2d(x, w), [4, 4], [4, 1]).neg(), image());
    expect(laidOut(strided, [image()])).toContain('inductor_force_stride_order');
  });

  it('follows a constant that lies channels last (by hand)', () => {
    const hand = new Hand();
    const w = randn([2, 2, 3, 3]).clone({ memoryFormat: 'channelsLast' });
    const packed = emitOp(hand.graph, convolutionPointwise, [
      hand.input('x', [1, 2, 4, 4]),
      hand.constant('w', w),
      null,
      [1, 1],
      [0, 0],
      [1, 1],
      1,
      'none',
    ]);
    packed.meta.val = fakeFromMeta({
      sizes: [1, 2, 2, 2],
      strides: [8, 4, 2, 1],
      dtype: 'float32',
      device: 'cpu',
    });
    const module = hand.output(hand.call('sin', packed));
    expect(after(module, [layoutPropagation], [randn([1, 2, 4, 4])])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 2, 4, 4] */) {
        const w = self.w; // f32[2, 2, 3, 3] strides [18, 1, 6, 2]
        const convolution_pointwise = tessera.convolution_pointwise.default(x, w, null, [1, 1], [0, 0], [1, 1], 1, "none"); // f32[1, 2, 2, 2] strides [8, 1, 4, 2]
        const sin = aten.sin.default(convolution_pointwise); // f32[1, 2, 2, 2] strides [8, 1, 4, 2]
        const inductor_force_stride_order = prims.inductor_force_stride_order.default(sin, [8, 4, 2, 1]); // f32[1, 2, 2, 2]
        return inductor_force_stride_order;
      }
      "
    `);
  });
});
