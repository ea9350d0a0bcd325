/**
 * @file Freezing and layouts: channels last inside, eager strides at the boundary.
 */
import { type InnerCompile, compile, compileFx, compileFxInner } from '@tessera/compile';
import { type Node, tensorVal } from '@tessera/graph';
import { overrideLowering } from '@tessera/inductor-core';
import { BatchNorm2d, Conv2d, Module, functional as F } from '@tessera/nn';
import { type Tensor, asStrided, flatten, isTensor, noGrad, rand, randn } from '@tessera/tensor';
import { expect } from 'vitest';
import { runAndGetCode } from '../../src/index.js';
import { channelsLastOperators, isChannelsLast } from '../support/channels-last.js';
import { type Device, expectClose, openDevice } from '../support/devices.js';
import { frozen } from './frozen.js';

/** Where channels last is not faster it has to be asked for. */
const FORCED = { forceLayoutOptimization: true };

class Conv extends Module {
  conv = new Conv2d(3, 128, 3, { padding: 1, stride: 1, bias: false });

  override forward(x: Tensor): Tensor {
    return this.conv.call(x);
  }
}

/**
 * Views that count from the storage see the eager layout: the convolution, of one pixel as in the source or of
 * three by three, and the padding work channels last, and give the views what they count in.
 */
export async function convWithAsStrided(device: Device): Promise<void> {
  class Strided extends Module {
    kv: Conv2d;

    constructor(channels: number, size: number, groups: number) {
      super();
      const padding = (size - 1) / 2;
      this.kv = new Conv2d(channels, 384, size, { stride: 1, bias: false, groups, padding });
    }

    override forward(x: Tensor): Tensor {
      const padded = F.pad(this.kv.call(x), [2, 2, 2, 2]);
      const windows = asStrided(padded, [8, 384, 2, 20, 12], [153600, 400, 160, 1, 20]);
      const blocks = asStrided(windows, [8, 384, 2, 2, 12, 12], [153600, 400, 160, 8, 20, 1]);
      return blocks.clone({ memoryFormat: 'contiguous' });
    }
  }
  await openDevice(device);
  const run = compile((m: Strided, input: Tensor) => m.call(input));
  for (const groups of [1, 2]) {
    for (const [channels, size] of [
      [256, 1],
      [16, 3],
    ] as const) {
      const model = new Strided(channels, size, groups).eval().to(device);
      const x = randn([8, channels, 16, 16], { device });
      const expected = noGrad(() => model.call(x));
      const { result, compiled } = await frozen(FORCED, () =>
        runAndGetCode(() => noGrad(() => run(model, x))),
      );
      expect(result.device).toBe(device);
      await expectClose(result, expected, { rtol: 1e-4, atol: 1e-4 });
      expect(compiled).toHaveLength(1);
      expect(channelsLastOperators(compiled[0]!.graph)).toEqual([
        'tessera.convolution_pointwise.default',
        'aten.constant_pad_nd.default',
      ]);
    }
  }
}

/** A view across channels behind a convolution. */
export async function convLayoutConvertWithView(device: Device): Promise<void> {
  class Flattening extends Conv {
    bn = new BatchNorm2d(3);

    override forward(x: Tensor): Tensor {
      return flatten(this.conv.call(this.bn.call(x)), 1);
    }
  }
  await openDevice(device);
  const model = new Flattening().eval().to(device);
  const x = rand([2, 3, 5, 5], { device });
  const expected = noGrad(() => model.call(x));
  const run = compile((m: Flattening, input: Tensor) => m.call(input));
  const { result, compiled } = await frozen(FORCED, () =>
    runAndGetCode(() => noGrad(() => run(model, x))),
  );
  expect(result.device).toBe(device);
  await expectClose(result, expected, { atol: 1e-5, rtol: 1e-4 });
  expect(compiled).toHaveLength(1);
  expect(channelsLastOperators(compiled[0]!.graph)).toEqual([
    'tessera.convolution_pointwise.default',
  ]);
}

const CONVOLUTIONS: readonly string[] = ['aten::convolution', 'tessera::convolution_pointwise'];

/** The frozen weight lies channels last, and so its recorded value says; seen from inside the compiler. */
export async function convWeightLayoutConvert(device: Device): Promise<void> {
  await openDevice(device);
  let convolutions = 0;
  const innerCompile: InnerCompile = (module, values) => {
    const compiled = compileFxInner(module, values);
    for (const node of module.graph.nodes) {
      if (typeof node.target !== 'object' || !CONVOLUTIONS.includes(node.target.qualifiedName))
        continue;
      convolutions++;
      const weight = node.args[1] as Node;
      const value = module.getAttribute(weight.target as string);
      expect(isTensor(value) && isChannelsLast(value)).toBe(true);
      expect(isChannelsLast(tensorVal(weight)!)).toBe(true);
    }
    return compiled;
  };
  const model = new Conv().eval().to(device);
  const x = rand([2, 3, 5, 5], { device });
  const expected = noGrad(() => model.call(x));
  const run = compile(model, {
    backend: (graph, examples) => compileFx(graph, examples, { innerCompile }),
  });
  const actual = frozen(FORCED, () => noGrad(() => run(x)));
  expect(convolutions).toBe(1);
  expect(actual.strides).toEqual(expected.strides);
  expect(actual.device).toBe(device);
  await expectClose(actual, expected, { atol: 1e-5, rtol: 1e-4 });
}

/** Of two outputs only the convolution's is laid out anew. */
export async function redundantCloneForLayoutConvert(device: Device): Promise<void> {
  class TwoResults extends Conv {
    override forward(x: Tensor): never {
      return [this.conv.call(x), x.add(1)] as never;
    }
  }
  await openDevice(device);
  const model = new TwoResults().eval().to(device);
  const x = rand([2, 3, 5, 5], { device });
  const expected = noGrad(() => model.call(x)) as Tensor[];
  let same = 0;
  let different = 0;
  const restore = overrideLowering(
    'prims::inductor_force_stride_order',
    (original) => (lowering, args, call) => {
      const [input, strides] = args as [{ realize(): { strides: readonly number[] } }, number[]];
      if (input.realize().strides.join() === strides.join()) same++;
      else different++;
      return original(lowering, args, call);
    },
  );
  const run = compile(model);
  let actual: Tensor[];
  try {
    actual = frozen(FORCED, () => noGrad(() => run(x))) as Tensor[];
  } finally {
    restore();
  }
  expect(actual).toHaveLength(2);
  await expectClose(actual, expected, { atol: 1e-4, rtol: 1e-4 });
  for (const output of actual) {
    expect(output.isContiguous()).toBe(true);
    expect(output.device).toBe(device);
  }
  expect({ same, different }).toEqual({ same: 1, different: 1 });
}
