/**
 * @file The grid of products that the choice of tiles is judged by.
 */
import { functional as F } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';

/** A product of two tensors. */
export interface ProductShape {
  /** `m×n×k`, and what is special. */
  readonly name: string;
  readonly a: readonly number[];
  readonly b: readonly number[];
  multiply(a: Tensor, b: Tensor): Tensor;
}

function product(m: number, n: number, k: number): ProductShape {
  const name = `${m}×${n}×${k}`;
  return { name, a: [m, k], b: [k, n], multiply: (a, b) => a.matmul(b) };
}

/** `x @ weightᵀ`, as layers have it. */
function layer(m: number, [n, k]: readonly [number, number]): ProductShape {
  return {
    name: `${m}×${n}×${k} layer`,
    a: [m, k],
    b: [n, k],
    multiply: (a, b) => a.matmul(b.t()),
  };
}

/** The gradient of a layer's weight: rows are summed over. */
function weightGradient(m: number, n: number, k: number): ProductShape {
  const name = `${m}×${n}×${k} weight`;
  return { name, a: [k, m], b: [k, n], multiply: (a, b) => a.t().matmul(b) };
}

function batched(batch: number, m: number, n: number, k: number): ProductShape {
  const name = `${batch} of ${m}×${n}×${k}`;
  return { name, a: [batch, m, k], b: [batch, k, n], multiply: (a, b) => a.matmul(b) };
}

function convolution(
  image: readonly [number, number, number],
  filters: readonly [number, number],
  stride: number,
): ProductShape {
  const [count, channels, size] = image;
  const [outputs, kernel] = filters;
  const padding = (kernel - 1) / 2;
  return {
    name: `convolution of ${image.join('×')}² with ${outputs} of ${kernel}², stride ${stride}`,
    a: [count, channels, size, size],
    b: [outputs, channels, kernel, kernel],
    multiply: (a, b) => F.conv2d(a, b, { stride, padding }),
  };
}

const LAYERS: readonly (readonly [number, number])[] = [
  [768, 768],
  [2304, 768],
  [3072, 768],
  [768, 3072],
  [1024, 4096],
  [4096, 1024],
  [2048, 2048],
];

/** 60 of them: cubes, layers of transformers at four numbers of rows, gradients, batches, ragged sizes, convolutions. */
export const PRODUCT_SHAPES: readonly ProductShape[] = [
  ...[128, 256, 512, 768, 1024, 1536, 2048].map((size) => product(size, size, size)),
  ...[32, 128, 512, 2048].flatMap((rows) => LAYERS.map((sizes) => layer(rows, sizes))),
  weightGradient(768, 768, 2048),
  weightGradient(3072, 768, 2048),
  weightGradient(768, 3072, 512),
  weightGradient(1024, 4096, 1024),
  weightGradient(256, 256, 16384),
  weightGradient(512, 784, 128),
  batched(48, 128, 128, 64),
  batched(48, 512, 512, 64),
  batched(16, 256, 64, 256),
  batched(8, 1024, 1024, 128),
  batched(64, 64, 64, 64),
  product(1000, 1000, 1000),
  product(513, 257, 129),
  product(333, 999, 77),
  product(100, 10, 784),
  product(128, 10, 512),
  product(2047, 2049, 511),
  product(17, 4096, 1000),
  product(50, 50, 5000),
  convolution([16, 64, 56], [64, 3], 1),
  convolution([16, 128, 28], [128, 3], 1),
  convolution([16, 256, 14], [256, 3], 1),
  convolution([16, 512, 7], [512, 3], 1),
  convolution([16, 3, 224], [64, 7], 2),
  convolution([16, 256, 14], [512, 1], 1),
];

/** A few that any adapter computes soon. */
export const QUICK_SHAPES: readonly ProductShape[] = [
  product(48, 40, 32),
  layer(32, [24, 64]),
  convolution([1, 4, 8], [8, 3], 1),
];
