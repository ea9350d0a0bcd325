/**
 * @file Max unpooling: winners back to where they came from, zeros elsewhere.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';

/** Options of max unpooling; those of the pooling that is undone. */
export interface MaxUnpoolOptions {
  /** The kernel size unless given. */
  readonly stride?: number | readonly number[];
  readonly padding?: number | readonly number[];
  /** Spatial sizes of the result, with or without leading dimensions, where several would be pooled to the input. */
  readonly outputSize?: readonly number[] | null;
}
const MAX_UNPOOL: OptionNames<MaxUnpoolOptions> = { stride: true, padding: true, outputSize: true };

function perDimension(value: number | readonly number[], rank: number): readonly number[] {
  return typeof value === 'number' ? Array.from({ length: rank }, () => value) : value;
}

function refuse(name: string, message: string): never {
  throw new TesseraError('shape-mismatch', `${name}: ${message}`, {
    hints: ['Give the result and the indices of max pooling, and its options.'],
  });
}

/** Spatial sizes of the result. @throws shape-mismatch */
function sizesOf(
  name: string,
  input: readonly number[],
  kernelSize: number | readonly number[],
  { stride = kernelSize, padding = 0, outputSize = null }: MaxUnpoolOptions,
): readonly number[] {
  const rank = input.length;
  const [kernel, step, border] = [kernelSize, stride, padding].map((v) => perDimension(v, rank));
  const usual = input.map((size, d) => (size - 1) * step![d]! + kernel![d]! - 2 * border![d]!);
  if (outputSize === null) return usual;
  const wanted = Array.isArray(outputSize) ? outputSize.slice(-rank) : [];
  if (wanted.length !== rank || wanted.some((s, d) => Math.abs(s - usual[d]!) >= step![d]!))
    refuse(
      name,
      `invalid outputSize [${String(outputSize)}]: sizes differ from ${formatSizes(usual)} by less than the stride`,
    );
  return wanted;
}

const hasChannelsInnermost = ({ ndim, strides }: Tensor): boolean =>
  ndim === 4 && strides[1]! < strides[3]!;

/** Places `[…, …in]` at `indices` of `[…, …out]`. */
function unpool(
  name: string,
  rank: number,
  input: Tensor,
  indices: Tensor,
  kernelSize: number | readonly number[],
  options: MaxUnpoolOptions,
): Tensor {
  if (!isTensor(input) || !isTensor(indices) || kernelSize === undefined)
    refuse(name, 'input, indices and a kernel size are needed');
  if (formatSizes(indices.sizes) !== formatSizes(input.sizes))
    refuse(
      name,
      `expected shape of indices ${formatSizes(indices.sizes)} to match the input ${formatSizes(input.sizes)}`,
    );
  if (input.ndim !== rank + 1 && input.ndim !== rank + 2)
    refuse(name, `expected a ${rank + 1}D or ${rank + 2}D input, got ${formatSizes(input.sizes)}`);
  const lead = input.sizes.slice(0, -rank);
  const sizes = sizesOf(name, input.sizes.slice(-rank), kernelSize, options);
  const numel = sizes.reduce((product, size) => product * size, 1);
  const flat = input.newZeros([...lead, numel]);
  const spread = flat.scatter(-1, indices.flatten(-rank), input.flatten(-rank));
  const result = spread.reshape([...lead, ...sizes]);
  // As in PyTorch, images keep their format; volumes are row-major.
  return rank === 2 && hasChannelsInnermost(input)
    ? result.contiguous({ memoryFormat: 'channelsLast' })
    : result;
}

/** [N, C, L] → [N, C, L′]: undoes `maxPool1dWithIndices`. @throws shape-mismatch @see torch.nn.functional.max_unpool1d */
export function maxUnpool1d(
  input: Tensor,
  indices: Tensor,
  kernelSize: number | readonly number[],
  options: MaxUnpoolOptions = {},
): Tensor {
  checkOptionNames('maxUnpool1d', options, MAX_UNPOOL);
  return unpool('maxUnpool1d', 1, input, indices, kernelSize, options);
}

/** [N, C, H, W] → [N, C, H′, W′]: undoes `maxPool2dWithIndices`. @throws shape-mismatch @see torch.nn.functional.max_unpool2d */
export function maxUnpool2d(
  input: Tensor,
  indices: Tensor,
  kernelSize: number | readonly number[],
  options: MaxUnpoolOptions = {},
): Tensor {
  checkOptionNames('maxUnpool2d', options, MAX_UNPOOL);
  return unpool('maxUnpool2d', 2, input, indices, kernelSize, options);
}

/** [N, C, D, H, W] → [N, C, D′, H′, W′]: undoes `maxPool3dWithIndices`. @throws shape-mismatch @see torch.nn.functional.max_unpool3d */
export function maxUnpool3d(
  input: Tensor,
  indices: Tensor,
  kernelSize: number | readonly number[],
  options: MaxUnpoolOptions = {},
): Tensor {
  checkOptionNames('maxUnpool3d', options, MAX_UNPOOL);
  return unpool('maxUnpool3d', 3, input, indices, kernelSize, options);
}
