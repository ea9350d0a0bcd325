/** @file Products in several kernels where those are faster: a rewrite of the plan, before code is generated. */
import {
  type ExecutionPlan,
  type FusedKernel,
  replaceKernels,
  type Replacement,
  splitDeepProduct,
} from '@tessera/inductor-core';
import { matrixCode } from './matrix-code.js';
import type { WgslTarget } from '../target.js';

/** A plan whose launches may be parts of those of another. */
export interface SplitPlan extends ExecutionPlan {
  /** The launch that each launch is a part of, if some are. */
  readonly launchOrigins?: readonly number[];
}

/** The plan with kernels replaced; the same object where none is. */
export function splitPlan(
  plan: SplitPlan,
  replace: (kernel: FusedKernel) => Replacement<FusedKernel> | null,
): SplitPlan {
  const replaced = replaceKernels(plan, replace);
  if (replaced === null) return plan;
  const { origins, ...launched } = replaced;
  const { launchOrigins } = plan;
  return {
    ...plan,
    ...launched,
    launchOrigins:
      launchOrigins === undefined ? origins : origins.map((origin) => launchOrigins[origin]),
  };
}

/** See the file header; the same object where nothing changes. */
export function rewriteProducts(plan: ExecutionPlan, target: WgslTarget): SplitPlan {
  const matrices = matrixCode(target);
  const halves =
    matrices === null ? plan : splitPlan(plan, (kernel) => matrices.bfloatProduct(kernel, target));
  return splitPlan(halves, (kernel) => {
    const tile = kernel.kind === 'matmul' ? matrices?.tile(kernel, target) : null;
    return splitDeepProduct(kernel, target, tile ?? null);
  });
}
