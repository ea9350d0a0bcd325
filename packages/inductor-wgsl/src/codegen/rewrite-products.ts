/** @file Products in several kernels where those are faster: a rewrite of the plan, before code is generated. */
import type { ExecutionPlan } from '@tessera/inductor-core';
import { bfloatProduct } from './bfloat-matmul.js';
import { replaceKernels, type SplitPlan } from './replace-kernels.js';
import { splitDeepMatmul } from './split-matmul.js';
import type { WgslTarget } from './target.js';

/** See the file header; the same object where nothing changes. */
export function rewriteProducts(plan: ExecutionPlan, target: WgslTarget): SplitPlan {
  const halves = replaceKernels(plan, (kernel) => bfloatProduct(kernel, target));
  return replaceKernels(halves, (kernel) => splitDeepMatmul(kernel, target));
}
