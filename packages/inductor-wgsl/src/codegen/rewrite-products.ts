/** @file Products in several kernels where those are faster: a rewrite of the plan, before code is generated. */
import type { ExecutionPlan } from '@tessera/inductor-core';
import { matrixCode } from './matrix-code.js';
import { replaceKernels, type SplitPlan } from './replace-kernels.js';
import { splitDeepMatmul } from './split-matmul.js';
import type { WgslTarget } from './target.js';

/** See the file header; the same object where nothing changes. */
export function rewriteProducts(plan: ExecutionPlan, target: WgslTarget): SplitPlan {
  const matrices = matrixCode(target);
  const halves =
    matrices === null
      ? plan
      : replaceKernels(plan, (kernel) => matrices.bfloatProduct(kernel, target));
  return replaceKernels(halves, (kernel) => splitDeepMatmul(kernel, target));
}
