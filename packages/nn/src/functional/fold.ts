/**
 * @file Sliding blocks of images as columns, and back.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  constantPad,
  formatSizes,
  narrow,
  reshape,
  select,
  slice,
  squeeze,
  stack,
  unsqueeze,
  zeros,
} from '@tessera/tensor';

/** Options of `fold` and `unfold`; a number stands for both dimensions. */
export interface FoldOptions {
  /** Distance of the block's elements (default 1). */
  readonly dilation?: number | readonly number[];
  /** Zeros around the image (default 0). */
  readonly padding?: number | readonly number[];
  /** Step of the block (default 1). */
  readonly stride?: number | readonly number[];
}

type Pair = readonly [height: number, width: number];

function pair(value: number | readonly number[]): Pair {
  return typeof value === 'number' ? [value, value] : [value[0]!, value[1] ?? value[0]!];
}

interface Geometry {
  readonly kernel: Pair;
  readonly dilation: Pair;
  readonly padding: Pair;
  readonly stride: Pair;
  /** Number of blocks. */
  readonly blocks: Pair;
}

/** @throws shape-mismatch if no block fits */
function geometry(
  name: string,
  image: Pair,
  kernelSize: number | readonly number[],
  options: FoldOptions,
): Geometry {
  const kernel = pair(kernelSize);
  const dilation = pair(options.dilation ?? 1);
  const padding = pair(options.padding ?? 0);
  const stride = pair(options.stride ?? 1);
  const blocks = [0, 1].map(
    (d) =>
      Math.floor((image[d]! + 2 * padding[d]! - dilation[d]! * (kernel[d]! - 1) - 1) / stride[d]!) +
      1,
  ) as unknown as Pair;
  if (blocks[0] >= 1 && blocks[1] >= 1) return { kernel, dilation, padding, stride, blocks };
  throw new TesseraError(
    'shape-mismatch',
    `${name}: an image of ${formatSizes(image)} with kernel_size=${formatSizes(kernel)}, dilation=${formatSizes(dilation)}, padding=${formatSizes(padding)} has blocks ${formatSizes(blocks)}, but each must be at least one`,
    { hints: ['Use a smaller kernel, or pad the image.'] },
  );
}

/** The elements of all blocks at one place (row, column) of the kernel: a view of the padded image. */
function placeOf(padded: Tensor, place: Pair, { dilation, stride, blocks }: Geometry): Tensor {
  let view = padded;
  for (const d of [0, 1] as const) {
    const start = place[d] * dilation[d];
    view = slice(view, d + 2, start, start + stride[d] * (blocks[d] - 1) + 1, stride[d]);
  }
  return view;
}

function places({ kernel }: Geometry): Pair[] {
  return Array.from({ length: kernel[0] * kernel[1] }, (_, i): Pair => [
    Math.floor(i / kernel[1]),
    i % kernel[1],
  ]);
}

/**
 * Blocks of [N, C, H, W] as columns [N, C · kernel, blocks]; a batch dimension may be missing.
 *
 * @throws shape-mismatch
 * @see torch.nn.functional.unfold
 */
export function unfold(
  input: Tensor,
  kernelSize: number | readonly number[],
  options: FoldOptions = {},
): Tensor {
  if (input.ndim === 3) return squeeze(unfold(unsqueeze(input, 0), kernelSize, options), 0);
  if (input.ndim !== 4)
    throw new TesseraError(
      'shape-mismatch',
      `unfold: Expected 3D or 4D (batch mode) tensor, but got ${formatSizes(input.sizes)}`,
      { hints: ['The input is [N, C, H, W] or [C, H, W].'] },
    );
  const [n, channels, height, width] = input.sizes as [number, number, number, number];
  const shape = geometry('unfold', [height, width], kernelSize, options);
  const [vertical, horizontal] = shape.padding;
  const padded = constantPad(input, [horizontal, horizontal, vertical, vertical]);
  const columns = places(shape).map((place) => placeOf(padded, place, shape));
  const [rows, perRow] = shape.blocks;
  return reshape(stack(columns, 2), [n, channels * columns.length, rows * perRow]);
}

/**
 * Sums columns [N, C · kernel, blocks] into images [N, C, H, W]; a batch dimension may be missing.
 *
 * @throws shape-mismatch
 * @see torch.nn.functional.fold
 */
export function fold(
  input: Tensor,
  outputSize: number | readonly number[],
  kernelSize: number | readonly number[],
  options: FoldOptions = {},
): Tensor {
  if (input.ndim === 2)
    return squeeze(fold(unsqueeze(input, 0), outputSize, kernelSize, options), 0);
  const image = pair(outputSize);
  const shape = geometry('fold', image, kernelSize, options);
  const taps = shape.kernel[0] * shape.kernel[1];
  const [rows, perRow] = shape.blocks;
  const [n, width, blocks] = input.sizes as [number, number, number];
  if (input.ndim !== 3 || width % taps !== 0 || blocks !== rows * perRow)
    throw new TesseraError(
      'shape-mismatch',
      `fold: Given output_size=${formatSizes(image)} and kernel_size=${formatSizes(shape.kernel)}, expected an input [N, C · ${taps}, ${rows * perRow}], but got ${formatSizes(input.sizes)}`,
      { hints: ['Columns hold the elements of one block, channel by channel.'] },
    );
  const channels = width / taps;
  const columns = reshape(input, [n, channels, taps, rows, perRow]);
  const [vertical, horizontal] = shape.padding;
  const sum = zeros([n, channels, image[0] + 2 * vertical, image[1] + 2 * horizontal], {
    dtype: input.dtype,
    device: input.device,
  });
  places(shape).forEach((place, i) => placeOf(sum, place, shape).add_(select(columns, 2, i)));
  return narrow(narrow(sum, 2, vertical, image[0]), 3, horizontal, image[1]).contiguous();
}
