/**
 * @file Where the code for subgroup matrices is, if the program asked for it (`useSubgroupMatrices`).
 */
import type {
  AttentionKernel,
  AttentionNeeds,
  FusedKernel,
  MatmulKernel,
  Replacement,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import type { MatrixTile } from './matrix-tiles.js';
import type { WgslTarget } from '../target.js';
import type { KernelVariant } from '../variant.js';
import type { WgslProgram } from '../wgsl-program.js';

/** What `useSubgroupMatrices` brings; each gives null for kernels that it is not for. */
export interface MatrixCode {
  /** The tile of a product. */
  readonly tile: (kernel: MatmulKernel<Size>, target: WgslTarget) => MatrixTile | null;
  readonly product: (
    kernel: MatmulKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
  ) => WgslProgram | null;
  readonly attention: (
    kernel: AttentionKernel<Size>,
    needs: AttentionNeeds,
    target: WgslTarget,
    variant: KernelVariant,
  ) => WgslProgram | null;
  /** What stands for a product of bfloat16. */
  readonly bfloatProduct: (
    kernel: FusedKernel,
    target: WgslTarget,
  ) => Replacement<FusedKernel> | null;
}

const known: { code: MatrixCode | null } = { code: null };

export function registerMatrixCode(code: MatrixCode): void {
  known.code = code;
}

export function hasMatrixCode(): boolean {
  return known.code !== null;
}

/** The code for a device; null if it has no such matrices, or the program has no code for them. */
export function matrixCode(target: WgslTarget): MatrixCode | null {
  return target.matrices === null ? null : known.code;
}
