/**
 * @file The models of the layout rows: convolutions with a graph break between, compared with eager and
 * with float64.
 */
import { compile, graphBreak } from '@tessera/compile';
import { Conv2d, type Module, Module as Base, Sequential, cloneModule } from '@tessera/nn';
import { type Tensor, rand, randn, zerosLike } from '@tessera/tensor';
import { expect } from 'vitest';
import { CompileCounterWithBackend, same } from '../../src/index.js';
import { type Device, openDevice } from '../support/devices.js';

/** A model of one image. */
export interface ImageModel extends Module {
  forward(x: Tensor): Tensor;
}

/** Two strided convolutions. */
class TwoConvs extends Base implements ImageModel {
  conv1: Conv2d;
  conv2: Conv2d;

  constructor(
    readonly breaks: boolean,
    dim = 512,
  ) {
    super();
    this.conv1 = new Conv2d(3, dim, 3, { stride: 2, bias: false });
    this.conv2 = new Conv2d(dim, dim, 3, { stride: 2, bias: false });
  }

  override forward(x: Tensor): Tensor {
    const y = this.conv1.call(x);
    if (this.breaks) graphBreak();
    return this.conv2.call(y);
  }
}

/** Patches, a depthwise convolution and a pointwise one. */
class ThreeConvs extends Base implements ImageModel {
  seq: Sequential;
  conv: Conv2d;

  constructor(
    readonly breaks: boolean,
    dim = 512,
    size = 7,
  ) {
    super();
    this.seq = new Sequential(
      new Conv2d(3, dim, size, { stride: size, bias: false }),
      new Conv2d(dim, dim, size, { groups: dim, padding: 'same', bias: false }),
    );
    this.conv = new Conv2d(dim, dim, 1, { bias: false });
  }

  override forward(x: Tensor): Tensor {
    const y = this.seq.call(x) as Tensor;
    if (this.breaks) graphBreak();
    return this.conv.call(y);
  }
}

/** A convolution whose result is modified through itself or through a view. */
export class MutatedConv extends Base implements ImageModel {
  conv: Conv2d = new Conv2d(3, 512, 3, { stride: 2, bias: false });

  constructor(readonly through: 'base' | 'view') {
    super();
  }

  override forward(x: Tensor): Tensor {
    const y = this.conv.call(x);
    const flat = y.view([-1]);
    if (this.through === 'view') {
      flat.mul_(2);
      return y;
    }
    y.mul_(2);
    return flat;
  }
}

/** Forward alone, or forward and backward to the gradients of all parameters. */
type Mode = 'infer' | 'train';

function runnerOf(model: ImageModel, mode: Mode): (x: Tensor) => Tensor | Tensor[] {
  if (mode === 'infer') return (x) => model.call(x as never) as Tensor;
  return (x) => {
    (model.call(x as never) as Tensor).sum().backward();
    return model.parameters().map((parameter) => parameter.grad ?? zerosLike(parameter));
  };
}

/** Compiles a model, in so many graphs, and compares with eager, judged by what float64 says. */
export async function expectAccurate(
  model: ImageModel,
  input: Tensor,
  device: Device,
  { mode = 'infer', frames = 1 }: { readonly mode?: Mode; readonly frames?: number } = {},
): Promise<void> {
  await openDevice(device);
  const references = listOf(runnerOf(cloneModule(model).to('float64'), mode)(input.to('float64')));
  const x = input.to(device);
  const expected = listOf(runnerOf(cloneModule(model).to(device), mode)(x));
  const counter = new CompileCounterWithBackend('inductor');
  const runner = runnerOf(cloneModule(model).to(device), mode);
  const actual = listOf(compile(runner, { backend: counter })(x));
  expect(counter.frameCount).toBe(frames);
  expect(actual).toHaveLength(expected.length);
  for (const value of actual) expect(value.device).toBe(device);
  for (const [i, fp64Ref] of references.entries())
    expect(await same(expected[i]!, actual[i]!, { fp64Ref })).toBe(true);
}

function listOf(value: Tensor | Tensor[]): Tensor[] {
  return Array.isArray(value) ? value : [value];
}

/** Two strided convolutions with a break between. */
export function twoConvsWithGraphBreak(device: Device): Promise<void> {
  return expectAccurate(new TwoConvs(true), rand([2, 3, 16, 16]), device, { frames: 2 });
}

/** Three convolutions with a break between. */
export function threeConvsWithGraphBreak(device: Device): Promise<void> {
  return expectAccurate(new ThreeConvs(true), randn([2, 3, 16, 16]), device, { frames: 2 });
}

/** Forward and backward inside the compiled function. */
export function trainingAccuracy(device: Device): Promise<void> {
  return expectAccurate(new TwoConvs(true), rand([2, 3, 16, 16]), device, {
    mode: 'train',
    frames: 2,
  });
}

/** The result is modified, and a view of it returned. */
export function mutateBaseForConvOutput(device: Device): Promise<void> {
  return expectAccurate(new MutatedConv('base'), rand([2, 3, 16, 16]), device);
}

/** A view is modified, and the result returned. */
export function mutateViewForConvOutput(device: Device): Promise<void> {
  return expectAccurate(new MutatedConv('view'), rand([2, 3, 16, 16]), device);
}
