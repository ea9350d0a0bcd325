/**
 * @file What callers see of layouts: outputs keep eager strides, views and bases stay one.
 */
import { compile, config } from '@tessera/compile';
import { Conv2d, Linear, Module, cloneModule, functional as F } from '@tessera/nn';
import { type Tensor, noGrad, ones, randint, randn } from '@tessera/tensor';
import { expect } from 'vitest';
import { CompileCounter } from '../../src/index.js';
import { type Device, expectClose, numbersOf, openDevice } from '../support/devices.js';

/** A compiled convolution's output can be viewed as in eager. */
export async function keepOutputLayoutInfer(device: Device): Promise<void> {
  await openDevice(device);
  const model = new Conv2d(3, 128, 3, { padding: 1, stride: 1, bias: false }).to(device);
  const x = randn([2, 3, 5, 5], { device });
  await noGrad(async () => {
    const expected = model.call(x);
    const actual = compile(model)(x);
    expect(actual.strides).toEqual(expected.strides);
    expect(actual.device).toBe(device);
    await expectClose(actual.view([5, -1]), expected.view([5, -1]), { atol: 1e-5, rtol: 1e-4 });
  });
}

/** The same with freezing. */
export async function keepOutputLayoutWithFreezing(device: Device): Promise<void> {
  await config.patch({ freezing: true, forceLayoutOptimization: true }, () =>
    keepOutputLayoutInfer(device),
  );
}

/** A view is modified: the input changes. */
export async function mutateView(device: Device): Promise<void> {
  await openDevice(device);
  const f = compile((x: Tensor): void => {
    x.view([3, 2]).mul_(2);
  });
  const x = ones([2, 3], { device });
  f(x);
  expect(x.device).toBe(device);
  expect(await numbersOf(x)).toEqual([2, 2, 2, 2, 2, 2]);
}

/** The input is modified: a view made before shows it. */
export async function mutateBase(device: Device): Promise<void> {
  await openDevice(device);
  const f = compile((x: Tensor): Tensor => {
    const y = x.view([3, 2]);
    x.mul_(2);
    return y;
  });
  const x = ones([2, 3], { device });
  const y = f(x);
  expect([x.device, y.device]).toEqual([device, device]);
  expect(y.sizes).toEqual([3, 2]);
  expect(y.storage).toBe(x.storage);
  expect(await numbersOf(x)).toEqual([2, 2, 2, 2, 2, 2]);
  expect(await numbersOf(y)).toEqual([2, 2, 2, 2, 2, 2]);
}

/** Sizes vary, forward and backward. */
export async function dynamicShapeSpecialization(device: Device): Promise<void> {
  await openDevice(device);
  const f = (a: Tensor, b: Tensor): Tensor => a.sin().add(b.cos());
  const options = { fullgraph: true, dynamic: true };
  for (const size of [4, 8, 16]) {
    const a = randn([2, size], { device, requiresGrad: true });
    const b = randn([2, size], { device });
    const actual = compile(f, options)(a, b);
    expect(actual.device).toBe(device);
    await expectClose(actual, f(a, b));
    actual.sum().backward();
    await expectClose(a.grad, a.detach().cos());
  }
  // One function for all sizes is traced once.
  const counter = new CompileCounter();
  const g = compile(f, { ...options, backend: counter });
  for (const size of [4, 8, 16]) {
    const [a, b] = [randn([2, size], { device }), randn([2, size], { device })];
    await expectClose(g(a, b), f(a, b));
  }
  expect(counter.frameCount).toBe(1);
}

/** Cross entropy behind a convolution and a linear layer. */
export async function nllLossBackward(device: Device): Promise<void> {
  const [batch, length, inputs, classes] = [48, 144, 39, 111] as const;
  class Model extends Module {
    conv = new Conv2d(1, classes, 3, { stride: 1, padding: 'same' });
    out = new Linear(inputs * classes, classes);

    override forward(x: Tensor, targets: Tensor): Tensor {
      const y = this.conv.call(x);
      const [b, c, t, f] = y.sizes as [number, number, number, number];
      const z = this.out.call(y.reshape([b, t, c * f]));
      return F.crossEntropy(z.reshape([z.size(0), z.size(2), z.size(1)]), targets);
    }
  }
  await openDevice(device);
  // Eager on cpu is the reference for both devices.
  const eager = new Model();
  const model = cloneModule(eager).to(device);
  const x = ones([batch, 1, length, inputs]);
  const targets = randint(0, classes - 1, [batch, length], { dtype: 'int64' });
  const loss = compile(model)(x.to(device), targets.to(device));
  expect(loss.device).toBe(device);
  loss.backward();
  const expected = eager.call(x, targets);
  expected.backward();
  await expectClose(loss, expected, { rtol: 1e-5, atol: 1e-6 });
  await expectClose(
    model.parameters().map((parameter) => parameter.grad!),
    eager.parameters().map((parameter) => parameter.grad!),
    { rtol: 1e-3, atol: 1e-6 },
  );
}
