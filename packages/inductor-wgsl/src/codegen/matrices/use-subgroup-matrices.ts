/**
 * @file `useSubgroupMatrices`: products, and attention, of halves by subgroup matrices.
 */
import { bfloatProduct } from './bfloat-matmul.js';
import { generateMatrixAttention } from './matrix-attention.js';
import { matrixAttentionTile } from './matrix-attention-tiles.js';
import { registerMatrixCode } from './matrix-code.js';
import { generateMatrixMatmul } from './matrix-matmul.js';
import { matrixTile } from './matrix-tiles.js';

/**
 * Brings the code for subgroup matrices, which browsers have behind a flag (`--enable-unsafe-webgpu`) and pages leave out
 * otherwise. Node has it from the start; a page whose visitors set the flag calls this before `initWebGpu`.
 */
export function useSubgroupMatrices(): void {
  registerMatrixCode({
    tile: matrixTile,
    product: (kernel, target, variant) => {
      const tile = matrixTile(kernel, target);
      return tile === null ? null : generateMatrixMatmul(kernel, target, variant, tile);
    },
    attention: (kernel, needs, target, variant) => {
      const tile = matrixAttentionTile(kernel, needs, target);
      return tile === null ? null : generateMatrixAttention(kernel, target, variant, tile);
    },
    bfloatProduct,
  });
}
