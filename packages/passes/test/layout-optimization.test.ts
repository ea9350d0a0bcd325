import { type GraphModule, makeFx, tensorVals } from '@tessera/graph';
import { config } from '@tessera/shared';
import {
  type OpOverload,
  type Tensor,
  asStrided,
  bernoulli,
  callOp,
  grad,
  library,
  randn,
} from '@tessera/tensor';
import { asStridedScatter, conv2d, convTranspose2d } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import {
  type Pass,
  constantFolding,
  dce,
  layoutOptimization,
  weightPrepacking,
} from '../src/index.js';
import { after } from './graph-tools.js';

const trace = (fn: (...inputs: Tensor[]) => unknown, ...inputs: Tensor[]): GraphModule =>
  makeFx(fn)(...inputs);
const image = (channels = 4): Tensor => randn([1, channels, 6, 6]);

/** Runs passes as on devices where channels last is faster. */
function laidOut(
  module: GraphModule,
  inputs: readonly Tensor[],
  passes: readonly Pass[] = [layoutOptimization(false), dce],
): string {
  return config.patch({ forceLayoutOptimization: true }, () => after(module, passes, inputs));
}

describe('layoutOptimization', () => {
  it('works channels last inside and gives eager strides, weights laid out once (frozen)', () => {
    const w = randn([4, 3, 3, 3]);
    const module = trace((x) => [conv2d(x!, w).relu(), x!.add(1)], image(3));
    const passes = [weightPrepacking, layoutOptimization(true), constantFolding()];
    expect(laidOut(module, [image(3)], passes)).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 3, 6, 6] */) {
        const _folded1 = self._folded1; // f32[4, 3, 3, 3] strides [27, 1, 9, 3]
        const convolution_1 = tessera.convolution_pointwise.default(x, _folded1, null, [1, 1], [0, 0], [1, 1], 1, "none"); // f32[1, 4, 4, 4] strides [64, 1, 16, 4]
        const relu = aten.relu.default(convolution_1); // f32[1, 4, 4, 4] strides [64, 1, 16, 4]
        const add = aten.add.Tensor(x, 1, 1); // f32[1, 3, 6, 6]
        const inductor_force_stride_order_1 = prims.inductor_force_stride_order.default(relu, [64, 16, 4, 1]); // f32[1, 4, 4, 4]
        const inductor_force_stride_order_2 = prims.inductor_force_stride_order.default(add, [108, 36, 6, 1]); // f32[1, 3, 6, 6]
        return [inductor_force_stride_order_1, inductor_force_stride_order_2];
      }
      "
    `);
  });

  it('lays out weights that are inputs, images of enough channels, and images of one pixel a tap', () => {
    const [v, w] = [randn([4, 4, 1, 1]), randn([4, 4, 3, 3])];
    const module = trace((x, a, b) => conv2d(conv2d(x!, a!), b!), image(), v, w);
    expect(laidOut(module, [image(), v, w])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 4, 6, 6] */, a: Tensor /* f32[4, 4, 1, 1] */, b: Tensor /* f32[4, 4, 3, 3] */) {
        const inductor_force_stride_order = prims.inductor_force_stride_order.default(x, [144, 1, 24, 4]); // f32[1, 4, 6, 6] strides [144, 1, 24, 4]
        const convolution = aten.convolution.default(inductor_force_stride_order, a, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1); // f32[1, 4, 6, 6] strides [144, 1, 24, 4]
        const inductor_force_stride_order_2 = prims.inductor_force_stride_order.default(b, [36, 1, 12, 4]); // f32[4, 4, 3, 3] strides [36, 1, 12, 4]
        const convolution_1 = aten.convolution.default(convolution, inductor_force_stride_order_2, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1); // f32[1, 4, 4, 4] strides [64, 1, 16, 4]
        const inductor_force_stride_order_3 = prims.inductor_force_stride_order.default(convolution_1, [64, 16, 4, 1]); // f32[1, 4, 4, 4]
        return inductor_force_stride_order_3;
      }
      "
    `);
  });

  it('takes the channels of a depthwise weight last', () => {
    const w = randn([4, 1, 3, 3]);
    const module = trace((x, a) => conv2d(x!, a!, { groups: 4 }), image(), w);
    expect(laidOut(module, [image(), w])).toContain(
      'prims.inductor_force_stride_order.default(a, [1, 36, 12, 4])',
    );
  });

  it('lays out gradients of images, and leaves those of weights in eager strides', () => {
    const [v, w] = [randn([4, 4, 3, 3]), randn([4, 4, 3, 3])].map((t) => t.requiresGrad_());
    const module = trace(
      (x, a, b) => grad(conv2d(conv2d(x!, a!).relu(), b!).square().sum(), [a!, b!]),
      image(),
      v!,
      w!,
    );
    expect(laidOut(module, [image(), v!, w!])).toMatchInlineSnapshot(`
      "export function forward(x: Tensor /* f32[1, 4, 6, 6] */, a: Tensor /* f32[4, 4, 3, 3] */, b: Tensor /* f32[4, 4, 3, 3] */) {
        const inductor_force_stride_order = prims.inductor_force_stride_order.default(x, [144, 1, 24, 4]); // f32[1, 4, 6, 6] strides [144, 1, 24, 4]
        const inductor_force_stride_order_1 = prims.inductor_force_stride_order.default(a, [36, 1, 12, 4]); // f32[4, 4, 3, 3] strides [36, 1, 12, 4]
        const convolution = aten.convolution.default(inductor_force_stride_order, inductor_force_stride_order_1, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1); // f32[1, 4, 4, 4] strides [64, 1, 16, 4]
        const relu = aten.relu.default(convolution); // f32[1, 4, 4, 4] strides [64, 1, 16, 4]
        const inductor_force_stride_order_3 = prims.inductor_force_stride_order.default(b, [36, 1, 12, 4]); // f32[4, 4, 3, 3] strides [36, 1, 12, 4]
        const convolution_1 = aten.convolution.default(relu, inductor_force_stride_order_3, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1); // f32[1, 4, 2, 2] strides [16, 1, 8, 4]
        const pow = aten.pow.Tensor_Scalar(convolution_1, 2); // f32[1, 4, 2, 2] strides [16, 1, 8, 4]
        const sum = aten.sum.dim_IntList(pow, null, false, null); // f32[]
        const ones_like = aten.ones_like.default(sum, null, null, null, null, null); // f32[]
        const view = aten.view.default(ones_like, [1, 1, 1, 1]); // f32[1, 1, 1, 1]
        const expand = aten.expand.default(view, [1, 4, 2, 2], false); // f32[1, 4, 2, 2] strides [1, 0, 0, 0]
        const mul = aten.mul.Tensor(convolution_1, 2); // f32[1, 4, 2, 2] strides [16, 1, 8, 4]
        const mul_1 = aten.mul.Tensor(expand, mul); // f32[1, 4, 2, 2] strides [16, 1, 8, 4]
        const convolution_backward = aten.convolution_backward.default(mul_1, relu, inductor_force_stride_order_3, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1, [true, true, false]); // [f32[1, 4, 4, 4] strides [64, 1, 16, 4], f32[4, 4, 3, 3] strides [36, 1, 12, 4], f32[0]]
        const getitem = getItem(convolution_backward, 0); // f32[1, 4, 4, 4] strides [64, 1, 16, 4]
        const getitem_1 = getItem(convolution_backward, 1); // f32[4, 4, 3, 3] strides [36, 1, 12, 4]
        const inductor_force_stride_order_5 = prims.inductor_force_stride_order.default(getitem_1, [36, 9, 3, 1]); // f32[4, 4, 3, 3]
        const threshold_backward = aten.threshold_backward.default(getitem, relu, 0); // f32[1, 4, 4, 4] strides [64, 1, 16, 4]
        const convolution_backward_1 = aten.convolution_backward.default(threshold_backward, inductor_force_stride_order, a, null, [1, 1], [0, 0], [1, 1], false, [0, 0], 1, [false, true, false]); // [f32[0], f32[4, 4, 3, 3] strides [36, 1, 12, 4], f32[0]]
        const getitem_4 = getItem(convolution_backward_1, 1); // f32[4, 4, 3, 3] strides [36, 1, 12, 4]
        const inductor_force_stride_order_7 = prims.inductor_force_stride_order.default(getitem_4, [36, 9, 3, 1]); // f32[4, 4, 3, 3]
        return [inductor_force_stride_order_7, inductor_force_stride_order_5];
      }
      "
    `);
  });

  it('goes through transposed convolutions', () => {
    const w = randn([4, 5, 3, 3]);
    const module = trace((x, a) => convTranspose2d(x!, a!).neg(), image(), w);
    expect(laidOut(module, [image(), w])).toContain('strides [320, 1, 40, 5]');
  });

  it('gives what counts in memory, draws random numbers, or is not ours the eager strides', () => {
    const opaque = library('layout_test')
      .define('opaque(Tensor x) -> Tensor')
      .impl('opaque', 'cpu', (x: Tensor) => x.add(1))
      .impl('opaque', 'meta', (x: Tensor) => x.add(1))
      .fn<(x: Tensor) => Tensor>('opaque');
    const w = randn([4, 4, 3, 3]);
    const users: Readonly<Record<string, (y: Tensor) => Tensor>> = {
      view: (y) => y.view([-1]),
      strided: (y) => asStrided(y, [4, 4], [4, 1]),
      scatter: (y) => asStridedScatter(y, y.sum([2, 3]), [1, 4], [4, 1], 0),
      random: (y) => bernoulli(y.sigmoid()),
      opaque,
    };
    for (const [name, use] of Object.entries(users)) {
      const module = trace((x, a) => use(conv2d(x!, a!).relu()).neg(), image(), w);
      // Random numbers differ between runs: there is nothing to compare.
      const passes = [layoutOptimization(false)];
      const text =
        name === 'random'
          ? (config.patch({ forceLayoutOptimization: true }, () => passes[0]!.run(module)),
            module.print())
          : laidOut(module, [image(), w], passes);
      expect(text, name).toContain(
        `inductor_force_stride_order.default(${name === 'random' ? 'sigmoid' : 'relu'}, [64, 16, 4, 1])`,
      );
    }
  });

  it('is for frozen graphs of two convolutions and more by default, and for none if it is switched off', () => {
    const w = randn([4, 4, 3, 3]);
    const one = (x?: Tensor): Tensor => conv2d(x!, w);
    const two = (x?: Tensor): Tensor => conv2d(one(x), w);
    const runs = (fn: (x?: Tensor) => Tensor, frozen: boolean, options = {}): boolean =>
      config.patch(options, () => layoutOptimization(frozen).run(trace(fn, image())));
    expect([runs(one, true), runs(two, true), runs(two, false)]).toEqual([false, true, false]);
    expect(runs(two, true, { layoutOptimization: false })).toBe(false);
    expect(runs(two, false, { layoutOptimization: true })).toBe(true);
    expect(runs(one, false, { layoutOptimization: true })).toBe(false);
    expect(runs(one, false, { forceLayoutOptimization: true })).toBe(true);
  });

  it('records the strides that the graph makes', () => {
    const [v, w] = [randn([4, 4, 3, 3]), randn([4, 1, 3, 3])];
    const inputs = [image(), v, w];
    const module = trace(
      (x, a, b) => conv2d(conv2d(x!, a!), b!, { groups: 4 }).sigmoid().mean([2, 3]),
      ...inputs,
    );
    laidOut(module, inputs);
    const values = new Map<object, Tensor>();
    for (const node of module.graph.nodes) {
      if (node.op === 'placeholder') values.set(node, inputs[values.size]!);
      if (node.op !== 'call_function') continue;
      const args = node.args.map((arg) => values.get(arg as object) ?? arg);
      const result = callOp(node.target as OpOverload, args) as Tensor;
      values.set(node, result);
      expect(result.strides).toEqual(tensorVals(node)[0]!.strides);
    }
  });
});
