/**
 * @file Transposed convolutions and gradients of convolutions with strides, compiled, beside the reference kernels: every
 * relation of kernel, stride, padding and size.
 */
import { type Tensor, download, fromTypedArray } from '@tessera/tensor';
import { functional as F } from '@tessera/nn';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, config, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

function waves(sizes: readonly number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float32Array.from({ length: numel }, (_, i) => Math.sin(1 + i * 12.9898)),
    [...sizes],
  );
}

interface Case {
  readonly image: readonly number[];
  readonly out: number;
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly outputPadding?: readonly number[];
  readonly groups?: number;
  readonly dilation?: number;
}

const cases: readonly Case[] = [
  { image: [2, 4, 9], out: 6, kernel: [4], stride: [2], padding: [1] },
  { image: [1, 4, 9], out: 6, kernel: [16], stride: [8], padding: [4] },
  { image: [2, 4, 7], out: 6, kernel: [3], stride: [2], padding: [1], outputPadding: [1] },
  { image: [2, 4, 7], out: 6, kernel: [1], stride: [3], padding: [0], outputPadding: [2] },
  { image: [2, 4, 7], out: 6, kernel: [7], stride: [2], padding: [5] },
  { image: [2, 4, 6, 5], out: 4, kernel: [4, 4], stride: [2, 2], padding: [1, 1] },
  { image: [2, 4, 6, 5], out: 6, kernel: [3, 3], stride: [2, 2], padding: [1, 1], groups: 2 },
  { image: [2, 4, 6, 40], out: 4, kernel: [3, 3], stride: [2, 2], padding: [1, 1], groups: 4 },
  { image: [2, 4, 6, 5], out: 4, kernel: [3, 5], stride: [1, 3], padding: [2, 0] },
  { image: [2, 4, 6, 5], out: 4, kernel: [2, 2], stride: [2, 2], padding: [0, 0] },
  {
    image: [2, 4, 6, 5],
    out: 4,
    kernel: [2, 1],
    stride: [4, 2],
    padding: [0, 0],
    outputPadding: [3, 1],
  },
  { image: [2, 4, 6, 5], out: 4, kernel: [3, 3], stride: [2, 2], padding: [1, 1], dilation: 2 },
  { image: [2, 4, 12, 14], out: 16, kernel: [4, 4], stride: [2, 2], padding: [1, 1] },
  { image: [1, 4, 3, 4, 5], out: 4, kernel: [4, 3, 2], stride: [2, 2, 1], padding: [1, 1, 0] },
];

const transposes = { 1: F.convTranspose1d, 2: F.convTranspose2d, 3: F.convTranspose3d } as const;
const convolutions = { 1: F.conv1d, 2: F.conv2d, 3: F.conv3d } as const;

function functionsOf(each: Case): readonly ((x: Tensor, w: Tensor) => Tensor)[] {
  const { image, stride, padding, outputPadding, groups = 1, dilation = 1 } = each;
  const dims = (image.length - 2) as 1 | 2 | 3;
  const options = {
    stride: [...stride],
    padding: [...padding],
    groups,
    dilation: stride.map(() => dilation),
  };
  const transpose = transposes[dims] as typeof F.convTranspose2d;
  const convolve = convolutions[dims] as typeof F.conv2d;
  const up = (x: Tensor, w: Tensor): Tensor =>
    transpose(x, w, {
      ...(options as object),
      ...(outputPadding === undefined
        ? {}
        : { outputPadding: [...outputPadding] as [number, number] }),
    });
  const down = (x: Tensor, w: Tensor): Tensor => convolve(x, w, options as object);
  return [
    up,
    (x, w) => up(x, w).add(1).relu(),
    // The image is as large as what the first makes, for its gradient.
    (x, w) => {
      const large = up(x, w).detach().requiresGrad_();
      const small = down(large, w);
      small.mul(small).sum().backward();
      return large.grad!;
    },
  ];
}

function inputs({ image, out, kernel, groups = 1 }: Case): [x: Tensor, w: Tensor] {
  return [waves(image), waves([image[1]!, out / groups, ...kernel])];
}

function expectClose(actual: Tensor, expected: Tensor): void {
  expect(actual.shape).toEqual(expected.shape);
  const limit = 1e-5 * Math.max(1, expected.abs().max().item());
  expect(actual.sub(expected).abs().max().item()).toBeLessThan(limit);
}

describe.each(cases.map((each) => [JSON.stringify(each), each] as const))('%s', (_name, each) => {
  it.each([0, 1, 2])('function %d', (at) => {
    const fn = functionsOf(each)[at]!;
    const [x, w] = inputs(each);
    const expected = config.patch({ 'eager.kernels': 'reference' }, () => fn(x, w));
    expectClose(compile(fn)(x, w), expected);
    if (at === 0 && each.image.length > 3) {
      const memoryFormat = each.image.length === 4 ? 'channelsLast' : 'channelsLast3d';
      const last = x.contiguous({ memoryFormat });
      expectClose(compile(fn)(last, w), expected);
    }
    if (at < 2) expectClose(compile(fn, { dynamic: true })(x, w), expected);
  });
});

describe.skipIf(!wantsGpu)('on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(cases.map((each) => [JSON.stringify(each), each] as const))('%s', async (_name, each) => {
    for (const fn of functionsOf(each)) {
      const [x, w] = inputs(each);
      const expected = config.patch({ 'eager.kernels': 'reference' }, () => fn(x, w));
      const found = compile(fn)(x.to('wgpu'), w.to('wgpu'));
      expectClose(await download(found), expected);
    }
  });
});
