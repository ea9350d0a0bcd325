/**
 * @file What the poolings share.
 */
import { TesseraError } from '@tessera/shared';
import { type PoolShape, pooledSizes } from '../../kernels/pooling-kernel.js';
import { checkFloating } from '../../kernels/restrict-dtypes.js';
import { checkWindows, perDimension } from '../../kernels/spatial.js';
import { denseMeta, imageMeta } from '../../kernels/suggest-format.js';
import type { TensorMeta } from '../../op/op-record.js';
import { formatSizes, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';

/** Meta of a mean over windows of `self`: PyTorch keeps channels last for images, not for volumes. */
export function poolMeta(rank: number, self: Tensor, sizes: readonly number[]): TensorMeta {
  return rank === 2 ? imageMeta(self, sizes) : denseMeta(self, sizes);
}

/** Pooling takes [N, C, …] or [C, …]. @throws shape-mismatch */
export function checkPoolRank(op: string, rank: number, self: Tensor): void {
  if (self.ndim === rank + 1 || self.ndim === rank + 2) return;
  throw new TesseraError(
    'shape-mismatch',
    `${op}: Expected ${rank + 1}D or ${rank + 2}D input, but got input of size ${formatSizes(self.sizes)}`,
    { hints: ['The input is [N, C, …] or [C, …].'] },
  );
}

/** Arguments of a pooling that slides. */
interface WindowArgs {
  readonly self: Tensor;
  readonly kernel_size: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation?: readonly number[];
  readonly ceil_mode: boolean;
}

/** Geometry of a pooling that slides: each window has an element of the input. @throws shape-mismatch, invalid-argument */
export function slidingShape(op: string, rank: number, args: WindowArgs): PoolShape {
  const { self } = args;
  checkPoolRank(op, rank, self);
  const list = (name: 'kernel_size' | 'stride' | 'padding' | 'dilation'): readonly number[] =>
    perDimension(op, name, args[name] ?? [1], rank);
  const kernel = list('kernel_size');
  const stride = args.stride.length === 0 ? kernel : list('stride');
  const [padding, dilation] = [list('padding'), list('dilation')];
  checkWindows(op, { kernel, stride, padding, dilation });
  const item = self.sizes.slice(-rank - 1);
  if (item.includes(0))
    throw new TesseraError(
      'shape-mismatch',
      rank === 3
        ? `${op}(): Expected input's non-batch dimensions to have positive length, but input has a shape of ${formatSizes(self.sizes)} and non-batch dimension ${item.indexOf(0)} has length zero!`
        : `${op}: Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:${formatSizes(self.sizes)}`,
      { hints: ['Only a batch may be empty.'] },
    );
  if (padding.some((pad, i) => pad > kernel[i]! / 2))
    throw new TesseraError(
      'invalid-argument',
      `${op}: pad should be at most half of effective kernel size, but got pad=${formatSizes(padding)} and kernel_size=${formatSizes(kernel)}`,
      { hints: ['Use a smaller padding.'] },
    );
  const input = self.sizes.slice(-rank);
  const output = pooledSizes(input, kernel, stride, padding, dilation, args.ceil_mode);
  if (output.some((size) => size < 1))
    throw new TesseraError(
      'shape-mismatch',
      `${op}: Given input size: ${formatSizes(self.sizes)}. Calculated output size: ${formatSizes(output)}. Output size is too small`,
      { hints: ['Use a smaller kernel or pad the input.'] },
    );
  return { input, output, kernel, stride, padding, dilation };
}

/**
 * The parts of an adaptive pooling, `size` of them, have elements along dimension `from` and those after it.
 *
 * @throws shape-mismatch, invalid-argument, dtype-unsupported
 */
export function checkPoolParts(
  op: string,
  rank: number,
  self: Tensor,
  size: readonly number[],
  from: number,
): void {
  checkFloating(op, self);
  checkPoolRank(op, rank, self);
  perDimension(op, 'output_size', size, rank, true);
  if (!self.sizes.slice(from).includes(0)) return;
  throw new TesseraError(
    'shape-mismatch',
    `${op}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ${formatSizes(self.sizes)}`,
    { hints: ['There is no mean and no largest element of none.'] },
  );
}

/** Number of spatial planes: all dims but the last `rank`. */
export function planesOf(tensor: Tensor, rank: number): number {
  return numelOf(tensor.sizes.slice(0, -rank));
}

/** Gradient of a pooling's backward with respect to its input, whose values do not matter. */
export function zerosOf(self: Tensor): Tensor {
  return zeros(self.sizes, { dtype: self.dtype, device: self.device });
}
