/**
 * @file Networks of convolutions as small models for phones have them: depthwise and pointwise ones in turn, a
 * recogniser of text lines, and the head of a detector, which makes its image large again.
 */
import { functional as F } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
import { numelOf } from '../harness/host-array.js';
import { normals } from '../harness/seeded.js';
import type { Case, Setting, Workload } from '../harness/workload.js';
import { OnnxGraph } from '../onnx/onnx-graph.js';
import { type ConvLayer, type SizedLayer, convFlop, convResult, sized } from './conv-layers.js';

type Image = readonly [channels: number, height: number, width: number];

/** A depthwise convolution and a pointwise one behind it. */
function separable(kernel: number, out: number, stride: readonly [number, number]): ConvLayer[] {
  return [
    { kernel: [kernel, kernel], stride, activation: 'hardswish' },
    { out, kernel: [1, 1], activation: 'hardswish' },
  ];
}

function applied(x: Tensor, layer: SizedLayer, weight: Tensor, bias: Tensor): Tensor {
  const { stride, padding, groups, transposed, activation } = layer;
  const options = { bias, stride: [...stride], padding: [...padding], groups };
  const y = transposed
    ? F.convTranspose2d(x, weight, { bias, stride: [...stride] })
    : F.conv2d(x, weight, options);
  if (activation === 'hardswish') return F.hardswish(y);
  if (activation === 'sigmoid') return y.sigmoid();
  return activation === 'relu' ? y.relu() : y;
}

const ONNX_ACTIVATIONS = { relu: 'Relu', hardswish: 'HardSwish', sigmoid: 'Sigmoid' };

function onnxGraph(image: Image, layers: readonly SizedLayer[]): OnnxGraph {
  const graph = new OnnxGraph();
  const last = layers.at(-1)!;
  let x = graph.input('x0', [1, ...image]);
  for (const layer of layers) {
    const { kernel, stride, padding, groups, transposed, activation } = layer;
    const [weight, bias] = [layer.weight, layer.bias].map(({ data, shape }) =>
      graph.constant(data as Float32Array, shape),
    );
    const output = layer === last ? 'y' : undefined;
    const attributes = {
      kernel_shape: kernel,
      strides: stride,
      pads: [...padding, ...padding],
      group: groups,
    };
    const type = transposed ? 'ConvTranspose' : 'Conv';
    const isEnd = activation === null;
    x = graph.node(type, [x, weight!, bias!], attributes, isEnd ? output : undefined);
    if (!isEnd) x = graph.node(ONNX_ACTIVATIONS[activation!], [x], {}, output);
  }
  return graph.output(x, [1, ...last.to]);
}

function caseOf(image: Image, list: readonly ConvLayer[]): Case {
  const layers = sized(image, list);
  const x = normals([1, ...image], 99);
  const weights = layers.flatMap(({ weight, bias }) => [weight, bias]);
  let result: Float64Array | null = null;
  return {
    shapes: `[1, ${image.join(', ')}]`,
    work: { flop: convFlop(layers) },
    inputs: [x, ...weights],
    programs: {
      tessera: (args) => ({
        fn: (first, ...rest) =>
          layers.reduce((y, layer, i) => applied(y, layer, rest[2 * i]!, rest[2 * i + 1]!), first!),
        args,
      }),
      onnx: () => onnxGraph(image, layers),
    },
    checkedCalls: 1,
    tolerance: { rtol: 1e-3, atol: 1e-4 },
    resultSize: numelOf(layers.at(-1)!.to),
    reference: (i) => (result ??= convResult(layers, x.data))[i]!,
  };
}

function workload(
  name: string,
  about: string,
  make: (setting: Setting) => readonly [Image, readonly ConvLayer[]],
): Workload {
  return {
    name,
    group: 'convolutions',
    about,
    devices: ['cpu'],
    kind: 'steady',
    make: (setting) => caseOf(...make(setting)),
  };
}

const ONE = [1, 1] as const;
const TWO = [2, 2] as const;

const separableConvs = workload(
  'separable_convs',
  'a stem and depthwise-separable convolutions, as MobileNet has them',
  ({ quick }) => [
    quick ? [3, 24, 24] : [3, 160, 160],
    [
      { out: 16, kernel: [3, 3], stride: TWO, activation: 'hardswish' },
      ...separable(3, 32, ONE),
      ...separable(3, 64, TWO),
      ...separable(3, 64, ONE),
      ...separable(3, 128, TWO),
      ...(quick ? [] : [...separable(5, 128, ONE), ...separable(5, 256, TWO)]),
    ],
  ],
);

const textLine = workload(
  'text_line_convs',
  'convolutions of a recogniser of text lines: wide images of few rows',
  ({ quick }) => [
    quick ? [3, 16, 40] : [3, 48, 320],
    [
      { out: 16, kernel: [3, 3], stride: TWO, activation: 'hardswish' },
      ...separable(3, 64, ONE),
      ...separable(3, 128, [2, 1]),
      ...separable(3, quick ? 64 : 240, TWO),
      ...separable(5, quick ? 64 : 240, ONE),
      ...separable(5, quick ? 64 : 480, [2, 1]),
    ],
  ],
);

const detectorHead = workload(
  'detector_head',
  'a 3 × 3 convolution and two transposed ones, which make an image four times as large',
  ({ quick }) => [
    quick ? [16, 8, 8] : [96, 80, 80],
    [
      { out: 24, kernel: [3, 3], activation: 'relu' },
      { out: 24, kernel: [2, 2], stride: TWO, transposed: true, activation: 'relu' },
      { out: 1, kernel: [2, 2], stride: TWO, transposed: true, activation: 'sigmoid' },
    ],
  ],
);

/** All of them. */
export const convolutions: readonly Workload[] = [separableConvs, textLine, detectorHead];
