/**
 * @file The parts of a kernel that every walk over kernels needs: its loops, its statements and the expressions at the top.
 */
import type { Size } from '@tessera/shared';
import type { Expr, Stmt } from './expr.js';
import type { SizedLoop } from './index-expr.js';
import type { ExternKernel, FusedKernel, RecurrenceKernel } from './kernel.js';
import { stmtRoots } from './walk.js';

/** A kernel that code is generated for. */
export type GeneratedKernel<S extends Size = number> = Exclude<
  FusedKernel<S>,
  { readonly kind: 'extern' }
>;

/** Loops over independent points, and those over what is summed or reduced at each. */
export interface KernelLoops<S extends Size = number> {
  readonly parallel: readonly SizedLoop<S>[];
  readonly reduced: readonly SizedLoop<S>[];
}

/** The loops of a kernel by what they are for. */
export function loopsByRole<S extends Size>(kernel: GeneratedKernel<S>): KernelLoops<S | number> {
  switch (kernel.kind) {
    case 'loop':
      return { parallel: kernel.outer, reduced: kernel.inner };
    case 'matmul':
      return { parallel: [...kernel.batch, ...kernel.m, ...kernel.n], reduced: kernel.k };
    case 'attention':
      return {
        parallel: [...kernel.batch, ...kernel.m, ...kernel.n],
        reduced: [...kernel.j, ...kernel.k],
      };
    case 'recurrence':
      return { parallel: [...kernel.batch, ...kernel.n], reduced: [...kernel.step, ...kernel.k] };
  }
}

/** The loops of a kernel. */
export function kernelLoops<S extends Size>(kernel: GeneratedKernel<S>): SizedLoop<S | number>[] {
  const { parallel, reduced } = loopsByRole(kernel);
  return [...parallel, ...reduced];
}

/** Expressions that are no statements: factors of products, and weights. */
export function kernelFactors(kernel: GeneratedKernel<Size>): readonly Expr[] {
  if (kernel.kind === 'matmul') return [kernel.a, kernel.b];
  if (kernel.kind === 'attention')
    return [
      ...kernel.scores.flatMap(({ a, b }) => [a, b]),
      ...kernel.weights,
      ...kernel.values,
      ...kernel.columnSums.map(({ value }) => value),
    ];
  if (kernel.kind === 'recurrence') return recurrenceRoots(kernel);
  return [];
}

/** The expressions of a recurrence that are no statements. */
export function recurrenceRoots({
  states,
  vectors,
  products,
}: Pick<RecurrenceKernel<Size>, 'states' | 'vectors' | 'products'>): Expr[] {
  return [
    ...states.flatMap(({ initial, next }) => [initial, next]),
    ...vectors,
    ...products.flatMap((terms) => terms.map(({ weight }) => weight)),
  ];
}

/** The statements of a kernel. */
export function kernelStmts(kernel: GeneratedKernel<Size>): readonly Stmt[] {
  if (kernel.kind === 'matmul') return kernel.epilogue;
  if (kernel.kind === 'attention')
    return [
      ...kernel.epilogue,
      ...kernel.rowStores,
      ...kernel.columnStores,
      ...kernel.weightStores,
    ];
  if (kernel.kind === 'recurrence') return [...kernel.stores, ...kernel.lastStores];
  return kernel.stages.flatMap(({ body }) => body);
}

/** The expressions at the top of a kernel; none of a call of a reference kernel. */
export function kernelRoots(kernel: GeneratedKernel<Size> | ExternKernel<Size>): Expr[] {
  if (kernel.kind === 'extern') return [];
  return [...kernelFactors(kernel), ...kernelStmts(kernel).flatMap(stmtRoots)];
}
