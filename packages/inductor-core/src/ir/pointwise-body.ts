/**
 * @file The body of a pointwise kernel as one list of values: the form in which most languages can say it.
 */
import type { Expr, Stmt } from './expr.js';
import type { LoopVar } from './index-expr.js';
import type { FusedKernel } from './kernel.js';
import { postorder, stmtRoots } from './walk.js';

/** See the file header. */
export interface PointwiseBody {
  /** The loops, outermost first; their order is free. */
  readonly loops: readonly LoopVar[];
  /** Every distinct value, operands before users. */
  readonly values: readonly Expr[];
  /** What is stored after all values are known. */
  readonly stores: readonly Extract<Stmt, { kind: 'store' }>[];
}

/** The body of a kernel that reduces, multiplies and checks nothing; null for any other kernel. */
export function pointwiseBody(kernel: FusedKernel): PointwiseBody | null {
  if (kernel.kind !== 'loop' || kernel.inner.length > 0) return null;
  const stores = kernel.stages.flatMap(({ body }) => body).filter((stmt) => stmt.kind === 'store');
  const values = postorder(stores.flatMap(stmtRoots));
  if (values.some((value) => value.kind === 'check')) return null;
  return { loops: kernel.outer, values, stores };
}
