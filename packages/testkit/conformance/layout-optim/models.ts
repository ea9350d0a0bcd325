/**
 * @file The models of the layout rows: convolutions with a graph break between, as their graphs lie by default and
 * channels last, compared with eager in float64.
 */
import { compile, config, graphBreak } from '@tessera/compile';
import { Conv2d, type Module, Module as Base, Sequential, cloneModule } from '@tessera/nn';
import { type Tensor, rand, randn, zerosLike } from '@tessera/tensor';
import { expect } from 'vitest';
import { CompileCounterWithBackend, runAndGetCode, same } from '../../src/index.js';
import { channelsLastOperators } from '../support/channels-last.js';
import { type Device, openDevice } from '../support/devices.js';
import { byReference } from '../support/reference.js';

/** A model of one image. */
interface ImageModel extends Module {
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
class MutatedConv extends Base implements ImageModel {
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
    for (const parameter of model.parameters()) parameter.grad = null;
    (model.call(x as never) as Tensor).sum().backward();
    return model.parameters().map((parameter) => parameter.grad ?? zerosLike(parameter));
  };
}

/** How a model is run, and what of its graphs lies channels last if layouts are optimised. */
interface Expected {
  readonly mode?: Mode;
  /** Graphs that the tracer captures. */
  readonly frames?: number;
  /** Convolutions whose results lie channels last, of all graphs. */
  readonly channelsLast: readonly string[];
}

const FORWARD = 'aten.convolution.default';
const BACKWARD = 'aten.convolution_backward.default';

/** Compiles a model with eager's layouts and channels last, and compares with eager in float64. */
async function expectAccurate(
  model: ImageModel,
  input: Tensor,
  device: Device,
  { mode = 'infer', frames = 1, channelsLast }: Expected,
): Promise<void> {
  await openDevice(device);
  const [exact, expected] = byReference(() => {
    const values = listOf(runnerOf(cloneModule(model).to('float64'), mode)(input.to('float64')));
    return [values, values.map((value) => value.to('float32'))];
  });
  const x = input.to(device);
  for (const forced of [false, true]) {
    const counter = new CompileCounterWithBackend('inductor');
    const runner = runnerOf(cloneModule(model).to(device), mode);
    const options = { layoutOptimization: forced, forceLayoutOptimization: forced };
    const run = compile(runner, { backend: counter });
    const { result, compiled } = await config.patch(options, () =>
      runAndGetCode(() => {
        // Of a backward across graphs the first call runs eagerly.
        if (mode === 'train') run(x);
        return listOf(run(x));
      }),
    );
    expect(counter.frameCount).toBe(frames);
    expect(result).toHaveLength(exact.length);
    for (const [i, value] of result.entries()) {
      expect(value.device).toBe(device);
      expect(value.strides).toEqual(exact[i]!.strides);
      expect(await same(expected[i]!, value, { fp64Ref: exact[i]! })).toBe(true);
    }
    const found = compiled.flatMap(({ graph }) => channelsLastOperators(graph));
    const convolutions = found.filter((name) => name === FORWARD || name === BACKWARD);
    expect(convolutions).toEqual(forced ? channelsLast : []);
  }
}

function listOf(value: Tensor | Tensor[]): Tensor[] {
  return Array.isArray(value) ? value : [value];
}

/** Two strided convolutions with a break between. */
export function twoConvsWithGraphBreak(device: Device): Promise<void> {
  return expectAccurate(new TwoConvs(true), rand([2, 3, 16, 16]), device, {
    frames: 2,
    channelsLast: [FORWARD, FORWARD],
  });
}

/** Three convolutions with a break between. */
export function threeConvsWithGraphBreak(device: Device): Promise<void> {
  return expectAccurate(new ThreeConvs(true), randn([2, 3, 16, 16]), device, {
    frames: 2,
    channelsLast: [FORWARD, FORWARD, FORWARD],
  });
}

/** Forward and backward inside the compiled function. */
export function trainingAccuracy(device: Device): Promise<void> {
  return expectAccurate(new TwoConvs(true), rand([2, 3, 16, 16]), device, {
    mode: 'train',
    frames: 2,
    // Of the first convolution's backward only the gradient of the weight is left, which keeps eager's strides.
    channelsLast: [FORWARD, FORWARD, BACKWARD],
  });
}

/** The result is modified, and a view of it returned. */
export function mutateBaseForConvOutput(device: Device): Promise<void> {
  return expectAccurate(new MutatedConv('base'), rand([2, 3, 16, 16]), device, {
    channelsLast: [FORWARD],
  });
}

/** A view is modified, and the result returned. */
export function mutateViewForConvOutput(device: Device): Promise<void> {
  return expectAccurate(new MutatedConv('view'), rand([2, 3, 16, 16]), device, {
    channelsLast: [FORWARD],
  });
}
