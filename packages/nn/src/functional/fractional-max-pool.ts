/**
 * @file Fractional max pooling: windows at random positions, so that sizes shrink by any factor.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, arange, cat, floor, full, gather, rand } from '@tessera/tensor';
import { formatSizes, checkTensors } from '@tessera/tensor/internal';

/** Options of fractional max pooling: the size of the result, or its ratio to that of the input. */
export interface FractionalMaxPoolOptions {
  readonly outputSize?: number | readonly number[];
  /** Between 0 and 1. */
  readonly outputRatio?: number | readonly number[];
  /** [N, C, rank] uniform numbers that place the windows; drawn unless given. */
  readonly randomSamples?: Tensor | null;
}
const FRACTIONAL_MAX_POOL: OptionNames<FractionalMaxPoolOptions> = {
  outputSize: true,
  outputRatio: true,
  randomSamples: true,
};

function invalid(name: string, message: string): TesseraError {
  return new TesseraError('invalid-argument', `${name}: ${message}`, {
    hints: ['Give either outputSize or an outputRatio in (0, 1).'],
  });
}

/** @throws invalid-argument unless either a size or ratios between 0 and 1 are given */
export function checkOutputSize(
  name: string,
  { outputSize, outputRatio }: FractionalMaxPoolOptions,
): void {
  if ((outputSize === undefined) === (outputRatio === undefined))
    throw invalid(name, 'exactly one of outputSize and outputRatio is to be given.');
  const ratios = typeof outputRatio === 'number' ? [outputRatio] : (outputRatio ?? []);
  if (ratios.some((ratio) => !(ratio > 0 && ratio < 1)))
    throw invalid(name, `outputRatio must be between 0 and 1, not ${ratios.join(', ')}.`);
}

function outputSizes(
  name: string,
  input: readonly number[],
  options: FractionalMaxPoolOptions,
): number[] {
  checkOutputSize(name, options);
  const { outputSize, outputRatio } = options;
  const at = (given: number | readonly number[], d: number): number =>
    typeof given === 'number' ? given : given[d]!;
  return input.map((size, d) =>
    outputSize === undefined ? Math.floor(size * at(outputRatio!, d)) : at(outputSize, d),
  );
}

/** First elements of the windows along one dimension, [N, C, out], from a number each, [N, C]. */
function starts(sample: Tensor, size: number, out: number, kernel: number): Tensor {
  const { dtype, device } = sample;
  const last = full([...sample.sizes, 1], size - kernel, { dtype: 'int64', device });
  if (out === 1) return last;
  const step = Math.fround(Math.fround(size - kernel) / (out - 1));
  const each = sample.unsqueeze(-1);
  const places = floor(
    arange(out - 1, { dtype, device })
      .add(each)
      .mul(step),
  );
  return cat([places.sub(floor(each.mul(step))).to('int64'), last], -1);
}

/** Numbers that were given, for as many images as there are. @throws shape-mismatch */
function checkedSamples(
  name: string,
  samples: Tensor,
  sizes: readonly [images: number, channels: number, rank: number],
): Tensor {
  const [images, channels, rank] = sizes;
  const refuse = (message: string): never => {
    throw new TesseraError('shape-mismatch', `${name}: ${message}`, {
      hints: [`They are [N, C, ${rank}], at least ${formatSizes(sizes)} here.`],
    });
  };
  if (samples.ndim !== 3)
    refuse(`Expect _random_samples to have 3 dimensions, got ${samples.ndim}`);
  if (samples.size(0) < images)
    refuse('Expect _random_samples.size(0) no less then input batch size.');
  if (samples.size(1) !== channels)
    refuse('Expect _random_samples.size(1) equals to input channel size.');
  if (samples.size(2) !== rank)
    refuse(`Expect _random_samples.size(2) equals to ${rank}; got ${samples.size(2)}.`);
  return samples.narrow(0, 0, images);
}

function pool(
  name: string,
  rank: number,
  input: Tensor,
  kernelSize: number | readonly number[],
  options: FractionalMaxPoolOptions,
): [output: Tensor, indices: Tensor] {
  checkTensors(name, { input });
  checkOutputSize(name, options ?? {});
  if (input.ndim !== rank + 1 && input.ndim !== rank + 2)
    throw new TesseraError(
      'shape-mismatch',
      `${name}: expected ${rank + 1}D or ${rank + 2}D input, got ${formatSizes(input.sizes)}`,
      { hints: ['The input is [N, C, …spatial] or [C, …spatial].'] },
    );
  if (input.ndim === rank + 1) {
    const [output, indices] = pool(name, rank, input.unsqueeze(0), kernelSize, options);
    return [output.squeeze(0), indices.squeeze(0)];
  }
  const [images, channels, ...spatial] = input.sizes;
  const kernel = spatial.map((_, d) =>
    typeof kernelSize === 'number' ? kernelSize : kernelSize[d]!,
  );
  const out = outputSizes(name, spatial, options);
  const odd = spatial.findIndex((size, d) => out[d]! + kernel[d]! - 1 > size || out[d]! < 1);
  if (odd >= 0)
    throw new TesseraError(
      'shape-mismatch',
      `${name}: a pool of ${kernel[odd]} is too large for an input of size ${spatial[odd]} and an output of size ${out[odd]}`,
      { hints: ['output + kernel - 1 is at most the size of the input.'] },
    );
  const { device } = input;
  const dtype = input.dtype === 'float64' ? 'float64' : 'float32';
  const samples =
    options.randomSamples == null
      ? rand([images, channels, rank], { dtype, device })
      : checkedSamples(name, options.randomSamples, [images!, channels!, rank]);
  // Positions in the flattened plane, [N, C, out…, kernel…], one dimension after another.
  let positions: Tensor | null = null;
  spatial.forEach((size, d) => {
    // Of two dimensions the last one takes the first number, as in PyTorch.
    const sample = samples.select(-1, rank === 2 ? rank - 1 - d : d);
    const first = starts(sample, size, out[d]!, kernel[d]!);
    const taps = first.unsqueeze(-1).add(arange(kernel[d]!, { dtype: 'int64', device }));
    const shape = [images, channels];
    for (let e = 0; e < 2 * rank; e++)
      shape.push(e === d ? out[d]! : e === rank + d ? kernel[d]! : 1);
    const placed = taps.reshape(shape);
    positions = positions === null ? placed : positions.mul(size).add(placed);
  });
  const windows = positions!.reshape([images, channels, -1]);
  const numel = kernel.reduce((product, size) => product * size, 1);
  const sizes = [images, channels, ...out];
  const values = gather(input.flatten(2), 2, windows).reshape([images, channels, -1, numel]);
  const [best, which] = values.max(-1);
  const indices = gather(windows.reshape([images, channels, -1, numel]), 3, which.unsqueeze(-1));
  return [best.reshape(sizes), indices.reshape(sizes)];
}

/** Largest element of each randomly placed window of [N, C, H, W]. @throws invalid-argument, shape-mismatch @see torch.nn.functional.fractional_max_pool2d @see https://arxiv.org/abs/1412.6071 */
export function fractionalMaxPool2d(
  input: Tensor,
  kernelSize: number | readonly number[],
  options: FractionalMaxPoolOptions,
): Tensor {
  checkOptionNames('fractionalMaxPool2d', options, FRACTIONAL_MAX_POOL);
  return pool('fractionalMaxPool2d', 2, input, kernelSize, options)[0];
}

/** Largest element of each randomly placed window of [N, C, D, H, W]. @throws invalid-argument, shape-mismatch @see torch.nn.functional.fractional_max_pool3d */
export function fractionalMaxPool3d(
  input: Tensor,
  kernelSize: number | readonly number[],
  options: FractionalMaxPoolOptions,
): Tensor {
  checkOptionNames('fractionalMaxPool3d', options, FRACTIONAL_MAX_POOL);
  return pool('fractionalMaxPool3d', 3, input, kernelSize, options)[0];
}

/** `fractionalMaxPool2d` with the position of each winner in its plane. @throws invalid-argument, shape-mismatch */
export function fractionalMaxPool2dWithIndices(
  input: Tensor,
  kernelSize: number | readonly number[],
  options: FractionalMaxPoolOptions,
): [output: Tensor, indices: Tensor] {
  checkOptionNames('fractionalMaxPool2dWithIndices', options, FRACTIONAL_MAX_POOL);
  return pool('fractionalMaxPool2d', 2, input, kernelSize, options);
}

/** `fractionalMaxPool3d` with the position of each winner in its volume. @throws invalid-argument, shape-mismatch */
export function fractionalMaxPool3dWithIndices(
  input: Tensor,
  kernelSize: number | readonly number[],
  options: FractionalMaxPoolOptions,
): [output: Tensor, indices: Tensor] {
  checkOptionNames('fractionalMaxPool3dWithIndices', options, FRACTIONAL_MAX_POOL);
  return pool('fractionalMaxPool3d', 3, input, kernelSize, options);
}
