import { compile, config } from '@tessera/compile';
import { type GraphModule, tensorVals } from '@tessera/graph';
import type { ExecutionPlan } from '@tessera/inductor-core';
import {
  AdaptiveAvgPool2d,
  BatchNorm2d,
  Conv2d,
  Flatten,
  Linear,
  MaxPool2d,
  Module,
  ReLU,
  Sequential,
  cloneModule,
  optim,
} from '@tessera/nn';
import { type Tensor, manualSeed, noGrad, randn } from '@tessera/tensor';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { assertClose, runAndGetCode } from '../src/index.js';

const CLOSE = { rtol: 1e-3, atol: 1e-4 };

/** Two residual blocks' worth of everything: strides, batch norm, pooling, depthwise and pointwise convolutions. */
class Network extends Module {
  stem = new Sequential(
    new Conv2d(3, 8, 3, { padding: 1, bias: false }),
    new BatchNorm2d(8),
    new ReLU(),
    new MaxPool2d(2),
  );
  depthwise = new Conv2d(8, 8, 3, { padding: 1, groups: 8 });
  pointwise = new Conv2d(8, 8, 1);
  wide = new Conv2d(8, 16, 3, { stride: 2, padding: 1 });
  head = new Sequential(new AdaptiveAvgPool2d(1), new Flatten(), new Linear(16, 4));

  override forward(x: Tensor): never {
    const stem = this.stem.call(x) as Tensor;
    const mixed = this.pointwise.call(this.depthwise.call(stem)).relu().add(stem);
    const features = this.wide.call(mixed);
    return [this.head.call(features), features] as never;
  }
}

/** How many images the convolutions of graphs make, and how many of these lie channels last. */
function layoutsOf(compiled: readonly { readonly graph: GraphModule }[]): number[] {
  const images = compiled.flatMap(({ graph: { graph } }) =>
    graph.nodes.flatMap((node) => {
      const [image] = node.op === 'call_function' ? tensorVals(node) : [];
      return String(node.target).includes('convolution') && image?.ndim === 4 ? [image] : [];
    }),
  );
  return [images.length, images.filter(({ strides }) => strides[1] === 1).length];
}

const kindsOf = (plan: ExecutionPlan): string[] =>
  plan.launches.map(({ kernel }) => plan.kernels[kernel]!.kind);

describe('layout optimization', () => {
  const before = { layoutOptimization: null, forceLayoutOptimization: false } as const;
  beforeEach(() => {
    manualSeed(3);
    config.set({ forceLayoutOptimization: true });
  });
  afterEach(() => config.set(before));

  it('runs convolutions of inference channels last, frozen or not, and returns eager strides', async () => {
    for (const freezing of [false, true]) {
      const model = new Network().eval();
      const x = randn([2, 3, 12, 12]);
      const expected = noGrad(() => model.call(x)) as Tensor[];
      const run = compile(model, { options: { freezing } });
      const { result, compiled } = await runAndGetCode(() => noGrad(() => run(x) as Tensor[]));
      assertClose(result, expected, CLOSE);
      expect(result.map(({ strides }) => strides)).toEqual(expected.map(({ strides }) => strides));
      expect(layoutsOf(compiled)).toEqual([4, 4]);
    }
  });

  it('runs those of training channels last, saves them so, and gives gradients in eager strides', async () => {
    const eager = new Network();
    const model = cloneModule(eager);
    const x = randn([2, 3, 12, 12]).requiresGrad_();
    const y = x.detach().clone().requiresGrad_();
    const loss = ([scores, features]: Tensor[]): Tensor =>
      scores!.square().sum().add(features!.sin().sum());
    const expected = eager.call(x) as Tensor[];
    loss(expected).backward();
    const run = compile(model);
    const { result, compiled } = await runAndGetCode(() => {
      const results = run(y) as Tensor[];
      loss(results).backward();
      return results;
    });
    assertClose(result, expected, CLOSE);
    expect(result.map(({ strides }) => strides)).toEqual(expected.map(({ strides }) => strides));
    const [leaves, wanted] = [
      [y, ...model.parameters()],
      [x, ...eager.parameters()],
    ];
    for (const [i, leaf] of leaves.entries()) {
      assertClose(leaf.grad!, wanted[i]!.grad!, CLOSE);
      expect(leaf.grad!.strides).toEqual(wanted[i]!.grad!.strides);
    }
    // Of the three channels of the input no convolution asks for another layout; its gradient follows the others'.
    expect(layoutsOf(compiled)).toEqual([8, 8]);
    const saved = compiled[0]!.graph.graph.outputNode!.allInputNodes().slice(2);
    const images = saved.flatMap((node) => tensorVals(node)).filter(({ ndim }) => ndim === 4);
    expect(images.filter((image) => image.isContiguous() && image.sizes[2]! > 1)).toEqual([]);
  });

  it('writes gradients of weights where they are wanted, without a copy', async () => {
    const conv = new Conv2d(8, 8, 3, { bias: false });
    const run = compile((x: Tensor) => conv.call(x).square().sum());
    const x = randn([1, 8, 6, 6]);
    const { compiled } = await runAndGetCode(() => run(x).backward());
    expect(kindsOf(compiled[1]!.plan)).toEqual(['matmul']);
    expect(conv.weight.grad!.isContiguous()).toBe(true);
  });

  it('compiles whole steps with their optimizer', () => {
    const eager = new Network();
    const model = cloneModule(eager);
    const stepOf = (network: Network): ((x: Tensor) => Tensor) => {
      const optimizer = new optim.SGD(network.parameters(), { lr: 0.05, momentum: 0.9 });
      return (x) => {
        optimizer.zeroGrad();
        const loss = (network.call(x) as Tensor[])[0]!.square().sum();
        loss.backward();
        optimizer.step();
        return loss;
      };
    };
    const [plain, fast] = [stepOf(eager), compile(stepOf(model))];
    for (let i = 0; i < 3; i++) {
      const x = randn([2, 3, 12, 12]);
      assertClose(fast(x).detach(), plain(x).detach(), CLOSE);
    }
    assertClose(
      model.parameters().map((p) => p.detach()),
      eager.parameters().map((p) => p.detach()),
      CLOSE,
    );
  });

  it('follows sizes that vary', () => {
    const model = new Network().eval();
    const run = compile(model, { dynamic: true });
    for (const size of [12, 16, 20]) {
      const x = randn([2, 3, size, size]);
      const expected = noGrad(() => model.call(x)) as Tensor[];
      const actual = noGrad(() => run(x) as Tensor[]);
      assertClose(actual, expected, CLOSE);
      expect(actual.map(({ strides }) => strides)).toEqual(expected.map(({ strides }) => strides));
    }
  });

  it('is off where channels last was not measured faster, and where the option is', async () => {
    for (const options of [before, { layoutOptimization: false, forceLayoutOptimization: false }]) {
      const model = new Network();
      const x = randn([2, 3, 12, 12]);
      const { compiled } = await runAndGetCode(() => {
        (compile(model, { options })(x) as Tensor[])[0]!.sum().backward();
      });
      expect(layoutsOf(compiled)[1]).toBe(0);
    }
  });
});
