/**
 * @file Sliding blocks of images as columns, and back.
 */
import { type Tensor } from '@tessera/tensor';
import { type PatchOptions, col2im, im2col } from '@tessera/tensor/internal';

/** Options of `fold` and `unfold`; a number stands for both dimensions. */
export type FoldOptions = PatchOptions;

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
  return col2im(input, outputSize, kernelSize, options);
}
