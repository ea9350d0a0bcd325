/**
 * @file Shapes of convolutions: checks, and the geometry that the kernels walk.
 */
import { TesseraError } from '@tessera/shared';
import { contiguousStrides, formatSizes } from '../shape.js';
import type { Tensor } from '../tensor.js';
import type { ConvolutionShape } from './convolution-kernel.js';
import { channelsLastStrides, isChannelsLast } from './pointwise-strides.js';
import { checkWindows, windowCount } from './spatial.js';

/** Arguments of `aten::convolution` and its backward that say what it computes. */
export interface ConvolutionArgs {
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
  readonly transposed: boolean;
  readonly output_padding: readonly number[];
  readonly groups: number;
}

/** Geometry of a call, in the untransposed direction. @throws shape-mismatch */
export function convolutionShape(
  args: ConvolutionArgs,
  input: readonly number[],
  weight: readonly number[],
): ConvolutionShape {
  const rank = input.length - 2;
  const { transposed, groups } = args;
  const list = (values: readonly number[]): readonly number[] => {
    if (values.length !== 1 || rank < 1) return values;
    return Array<number>(rank).fill(values[0]!);
  };
  const [stride, padding, dilation, extra] = [
    list(args.stride),
    list(args.padding),
    list(args.dilation),
    list(args.output_padding),
  ];
  const channels = transposed ? weight[0] : weight[1]! * groups;
  if (
    rank < 1 ||
    rank > 3 ||
    weight.length !== rank + 2 ||
    input[1] !== channels ||
    weight[0]! % groups !== 0
  ) {
    throw new TesseraError(
      'shape-mismatch',
      `convolution: weight of size ${formatSizes(weight)} with groups=${groups} does not fit input of size ${formatSizes(input)}`,
      {
        context: { input, weight, groups },
        hints: [
          transposed
            ? 'The weight is [C, K/groups, …] for input [N, C, …].'
            : 'The weight is [K, C/groups, …] for input [N, C, …].',
        ],
      },
    );
  }
  for (const [name, values] of Object.entries({
    stride,
    padding,
    dilation,
    output_padding: extra,
  })) {
    if (values.length === rank) continue;
    throw new TesseraError(
      'invalid-argument',
      `convolution: expected ${name} to be a single integer value or a list of ${rank} values to match the convolution dimensions, but got ${name}=${formatSizes(values)}`,
      { hints: [`Give one ${name} per spatial dimension.`] },
    );
  }
  const kernel = weight.slice(2);
  checkWindows('convolution', { kernel, stride, padding, dilation });
  const isNegative = extra.some((n) => n < 0);
  if (isNegative || (transposed && extra.some((n, i) => n >= Math.max(stride[i]!, dilation[i]!))))
    throw new TesseraError(
      'invalid-argument',
      `convolution: ${isNegative ? 'negative output_padding is not supported' : `output padding must be smaller than either stride or dilation, but got output_padding ${formatSizes(extra)}`}`,
      { hints: ['Use a smaller output padding.'] },
    );
  const spatial = input.slice(2);
  const result = spatial.map((size, i) =>
    transposed
      ? (size - 1) * stride[i]! - 2 * padding[i]! + dilation[i]! * (kernel[i]! - 1) + extra[i]! + 1
      : windowCount(size, kernel[i]!, stride[i]!, padding[i]!, dilation[i]!),
  );
  const isEmpty = input[0] === 0 || input[1] === 0;
  const isSmall = result.some((size) => size < (transposed && isEmpty ? 0 : 1));
  if (isSmall || (!isEmpty && spatial.includes(0)))
    throw new TesseraError(
      'shape-mismatch',
      isSmall
        ? `convolution: kernel of size ${formatSizes(kernel)} (dilation ${formatSizes(dilation)}, stride ${formatSizes(stride)}, padding ${formatSizes(padding)}) is larger than the input ${formatSizes(input)}`
        : `convolution: Only zero batch or zero channel inputs are supported, but got input shape: ${formatSizes(input)}`,
      { hints: ['Pad the input or use a smaller kernel; images need rows and columns.'] },
    );
  const outChannels = transposed ? weight[1]! * groups : weight[0]!;
  return {
    batch: input[0]!,
    groups,
    kernel,
    stride,
    padding,
    dilation,
    inputChannels: transposed ? outChannels : input[1]!,
    outputChannels: transposed ? input[1]! : outChannels,
    input: transposed ? result : spatial,
    output: transposed ? spatial : result,
  };
}

/** Sizes of the result of a call. */
export function convolvedSizes(shape: ConvolutionShape, transposed: boolean): number[] {
  return transposed
    ? [shape.batch, shape.inputChannels, ...shape.input]
    : [shape.batch, shape.outputChannels, ...shape.output];
}

/** A channels-last input or weight gives a channels-last result, of images and of volumes. */
export function convolvedStrides(
  sizes: readonly number[],
  ...sources: readonly Tensor[]
): number[] {
  const rank = Math.max(4, sizes.length);
  const channelsLast = sources.some(
    (source) => isChannelsLast(source.sizes, source.strides, rank) && !source.isContiguous(),
  );
  return channelsLast ? channelsLastStrides(sizes) : contiguousStrides(sizes);
}
