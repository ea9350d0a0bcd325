/**
 * @file Sliding blocks of images as columns, and back.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import { type PatchOptions, col2im, im2col } from '@tessera/tensor/internal';

/** Options of `fold` and `unfold`; a number stands for both dimensions. */
export type FoldOptions = PatchOptions;
const FOLD: OptionNames<FoldOptions> = { dilation: true, padding: true, stride: true };

/**
 * Blocks of [N, C, H, W] as columns [N, C · kernel, blocks]; the batch dimension may be missing.
 *
 * @throws shape-mismatch
 * @see torch.nn.functional.unfold
 */
export function unfold(
  input: Tensor,
  kernelSize: number | readonly number[],
  options: FoldOptions = {},
): Tensor {
  checkOptionNames('unfold', options, FOLD);
  return im2col(input, kernelSize, options);
}

/**
 * Columns [N, C · kernel, blocks] summed into images [N, C, H, W]; the batch dimension may be missing.
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
  checkOptionNames('fold', options, FOLD);
  return col2im(input, outputSize, kernelSize, options);
}
