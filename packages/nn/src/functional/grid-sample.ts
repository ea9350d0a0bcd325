/**
 * @file Images at positions that a tensor gives, and the positions of an affine map: spatial transformers.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, linspace, matmul, meshgrid, ones, stack, zeros } from '@tessera/tensor';
import {
  type GridSampleOptions,
  formatSizes,
  gridSample as sample,
  checkTensors,
} from '@tessera/tensor/internal';

export type { GridSampleOptions };
const GRID_SAMPLE: OptionNames<GridSampleOptions> = {
  mode: true,
  paddingMode: true,
  alignCorners: true,
};

/**
 * The image [N, C, H, W] at positions [N, H', W', 2] of (x, y) from -1 to 1 → [N, C, H', W']; volumes likewise.
 *
 * @throws shape-mismatch, dtype-mismatch, invalid-argument
 * @see torch.nn.functional.grid_sample
 */
export function gridSample(input: Tensor, grid: Tensor, options?: GridSampleOptions): Tensor {
  checkOptionNames('gridSample', options, GRID_SAMPLE);
  return sample(input, grid, options);
}

/** Options of `affineGrid`. */
export interface AffineGridOptions {
  /** Whether -1 and 1 mean the centres of the first and last elements, not their outer edges. */
  readonly alignCorners?: boolean;
}
const AFFINE_GRID: OptionNames<AffineGridOptions> = { alignCorners: true };

/**
 * Positions for `gridSample`: those of an image of `size` [N, C, H, W] after the maps θ [N, 2, 3] → [N, H, W, 2]; of a
 * volume [N, C, D, H, W] after [N, 3, 4] → [N, D, H, W, 3].
 *
 * @throws shape-mismatch
 * @see torch.nn.functional.affine_grid
 */
export function affineGrid(
  theta: Tensor,
  size: readonly number[],
  options: AffineGridOptions = {},
): Tensor {
  checkOptionNames('affineGrid', options, AFFINE_GRID);
  checkTensors('affineGrid', { theta });
  const [batch, , ...sizes] = Array.isArray(size) ? size : [];
  const rank = sizes.length;
  const expected = [batch, rank, rank + 1];
  if ((rank !== 2 && rank !== 3) || String(theta.shape) !== String(expected)) {
    throw new TesseraError(
      'shape-mismatch',
      `affineGrid: expected theta [N, 2, 3] with size [N, C, H, W], or [N, 3, 4] with [N, C, D, H, W], but got ${formatSizes(theta.shape)} and [${String(size)}]`,
      { hints: ['size is that of the image to be made, with its batch and channels.'] },
    );
  }
  const on = { dtype: theta.dtype, device: theta.device };
  const axes = sizes.map((count) => {
    if (count === 1) return zeros([1], on);
    const edge = options.alignCorners === true ? 1 : 1 - 1 / count;
    return linspace(-edge, edge, count, on);
  });
  // x comes first, which is the last dimension; and a one for what is added.
  const points = stack([...meshgrid(axes).reverse(), ones(sizes, on)], -1);
  return matmul(points.reshape([-1, rank + 1]), theta.transpose(1, 2)).reshape([
    batch,
    ...sizes,
    rank,
  ]);
}
