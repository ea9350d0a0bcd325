/**
 * @file `mapKernel`: a kernel whose loops, expressions and statements are others.
 */
import type { Size } from '@tessera/shared';
import type { Expr, Stmt } from './expr.js';
import type { LoopVar, SizedLoop } from './index-expr.js';
import type { LoopKernel, RecurrenceKernel } from './kernel.js';
import type { GeneratedKernel } from './kernel-parts.js';

/** What stands for what. */
export interface KernelMap<S extends Size> {
  /** What is known stays so. */
  loops(vars: readonly LoopVar[]): LoopVar[];
  loops(vars: readonly SizedLoop[]): LoopVar<S>[];
  expr(expr: Expr): Expr;
  stmt(stmt: Stmt): Stmt;
}

/** See the file header. Loops are asked for first. */
export function mapKernel<S extends Size>(
  kernel: LoopKernel<Size> | RecurrenceKernel<Size>,
  map: KernelMap<S>,
): LoopKernel<S> | RecurrenceKernel<S>;
export function mapKernel<S extends Size>(
  kernel: GeneratedKernel<Size>,
  map: KernelMap<S>,
): GeneratedKernel<S>;
export function mapKernel<S extends Size>(
  kernel: GeneratedKernel<Size>,
  map: KernelMap<S>,
): GeneratedKernel<S> {
  const expr = (each: Expr): Expr => map.expr(each);
  const body = (stmts: readonly Stmt[]): Stmt[] => stmts.map((stmt) => map.stmt(stmt));
  switch (kernel.kind) {
    case 'loop':
      return {
        ...kernel,
        outer: map.loops(kernel.outer),
        inner: map.loops(kernel.inner),
        stages: kernel.stages.map((stage) => ({ ...stage, body: body(stage.body) })),
      };
    case 'recurrence':
      return {
        ...kernel,
        batch: map.loops(kernel.batch),
        step: map.loops(kernel.step),
        n: map.loops(kernel.n),
        k: map.loops(kernel.k),
        states: kernel.states.map(({ initial, next }) => ({
          initial: expr(initial),
          next: expr(next),
        })),
        vectors: kernel.vectors.map(expr),
        products: kernel.products.map((terms) =>
          terms.map(({ vector, weight }) => ({ vector, weight: expr(weight) })),
        ),
        stores: body(kernel.stores),
        lastStores: body(kernel.lastStores),
      };
    case 'attention':
      return {
        ...kernel,
        batch: map.loops(kernel.batch),
        m: map.loops(kernel.m),
        j: map.loops(kernel.j),
        k: map.loops(kernel.k),
        n: map.loops(kernel.n),
        scores: kernel.scores.map(({ a, b }) => ({ a: expr(a), b: expr(b) })),
        weights: kernel.weights.map(expr),
        values: kernel.values.map(expr),
        columnSums: kernel.columnSums.map((sum) => ({ ...sum, value: expr(sum.value) })),
        epilogue: body(kernel.epilogue),
        rowStores: body(kernel.rowStores),
        columnStores: body(kernel.columnStores),
        weightStores: body(kernel.weightStores),
      };
    case 'matmul':
      return {
        ...kernel,
        batch: map.loops(kernel.batch),
        m: map.loops(kernel.m),
        n: map.loops(kernel.n),
        k: map.loops(kernel.k),
        a: expr(kernel.a),
        b: expr(kernel.b),
        epilogue: body(kernel.epilogue),
      };
  }
}
