/**
 * @file Networks of convolutions as lists of layers: their sizes, their work, and their results in double precision.
 */
import { type HostArray, numelOf } from '../harness/host-array.js';
import { normals } from '../harness/seeded.js';

/** One convolution with bias; images are [1, channels, height, width] and padded so that windows stay inside. */
export interface ConvLayer {
  /** Absent: each channel by itself. */
  readonly out?: number;
  readonly kernel: readonly [number, number];
  readonly stride?: readonly [number, number];
  /** Windows lie side by side in the result instead of the image: the kernel is as large as the stride. */
  readonly transposed?: boolean;
  readonly activation?: 'relu' | 'hardswish' | 'sigmoid';
}

/** A layer at its sizes. */
export interface SizedLayer extends Required<Omit<ConvLayer, 'activation'>> {
  readonly activation: ConvLayer['activation'] | null;
  readonly groups: number;
  readonly padding: readonly [number, number];
  readonly from: readonly [number, number, number];
  readonly to: readonly [number, number, number];
  readonly weight: HostArray;
  readonly bias: HostArray;
}

/** Layers at their sizes, with seeded weights. */
export function sized(
  image: readonly [number, number, number],
  layers: readonly ConvLayer[],
): SizedLayer[] {
  let from = image;
  return layers.map((layer, i) => {
    const { kernel, stride = [1, 1], transposed = false, activation = null } = layer;
    const [channels, ...size] = from;
    const out = layer.out ?? channels;
    const groups = layer.out === undefined ? channels : 1;
    const padding = kernel.map((k) => (transposed ? 0 : (k - 1) >> 1)) as [number, number];
    const pixels = size.map((s, d) =>
      transposed ? s * stride[d]! : Math.floor((s + 2 * padding[d]! - kernel[d]!) / stride[d]!) + 1,
    ) as [number, number];
    const shape = transposed ? [channels, out, ...kernel] : [out, channels / groups, ...kernel];
    const terms = (transposed ? channels : numelOf(shape.slice(1))) / 2;
    const made = {
      ...{ out, kernel, stride, transposed, activation, groups, padding, from },
      to: [out, ...pixels] as const,
      weight: normals(shape, 100 + 2 * i, 1 / Math.sqrt(terms)),
      bias: normals([out], 101 + 2 * i, 0.1),
    };
    from = made.to;
    return made;
  });
}

/** Floating point operations of the products. */
export function convFlop(layers: readonly SizedLayer[]): number {
  const flop = ({ from, to, weight, transposed }: SizedLayer): number =>
    (2 * numelOf(transposed ? from : to) * numelOf(weight.shape)) / (transposed ? from[0] : to[0]);
  return layers.reduce((sum, layer) => sum + flop(layer), 0);
}

const ACTIVATIONS = {
  relu: (x: number) => Math.max(x, 0),
  hardswish: (x: number) => (x * Math.min(Math.max(x + 3, 0), 6)) / 6,
  sigmoid: (x: number) => 1 / (1 + Math.exp(-x)),
};

/** What the layers make of an image. */
export function convResult(layers: readonly SizedLayer[], image: ArrayLike<number>): Float64Array {
  let values = Float64Array.from(image);
  for (const layer of layers) values = layerResult(layer, values);
  return values;
}

function layerResult(layer: SizedLayer, image: Float64Array): Float64Array<ArrayBuffer> {
  const { from, to, kernel, stride, padding, groups, transposed, activation } = layer;
  const [out, height, width] = to;
  const weight = layer.weight.data;
  const [channels, kh, kw] = [from[0] / groups, kernel[0], kernel[1]];
  const result = new Float64Array(numelOf(to));
  for (let o = 0; o < out; o++) {
    const first = Math.floor((o * groups) / out) * channels;
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        let sum = layer.bias.data[o]!;
        for (let c = 0; c < channels; c++)
          for (let i = 0; i < kh; i++)
            for (let j = 0; j < kw; j++) {
              const [v, h] = transposed
                ? [(y - i) / stride[0], (x - j) / stride[1]]
                : [y * stride[0] - padding[0] + i, x * stride[1] - padding[1] + j];
              if (!Number.isInteger(v) || !Number.isInteger(h)) continue;
              if (v < 0 || h < 0 || v >= from[1] || h >= from[2]) continue;
              const [a, b] = transposed ? [c, o] : [o, c];
              const at = ((a * (transposed ? out : channels) + b) * kh + i) * kw + j;
              sum += weight[at]! * image[((first + c) * from[1] + v) * from[2] + h]!;
            }
        const value = activation === null ? sum : ACTIVATIONS[activation!](sum);
        result[(o * height + y) * width + x] = value;
      }
  }
  return result;
}
