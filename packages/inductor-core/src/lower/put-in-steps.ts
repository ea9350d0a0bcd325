/**
 * @file Scatters as loops: sources are put one after another, where points of loops follow an order.
 *
 * That costs one step per source, in the order in which PyTorch takes them: sums round as there, and of several sources
 * for one place the last one wins.
 */
import type { DType } from '@tessera/tensor';
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { ExprMath } from './expr-math.js';
import type { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import { castTensor } from './ops/elementwise.js';
import { addOverwrite } from './part-nodes.js';
import { accumulateDtype } from './reduce.js';
import { isEmpty, type Shape } from './shape-math.js';

/** The points at which something is put. */
export interface Steps {
  readonly sizes: Shape;
  /** Dimensions along which two points may name one place: they are taken in order. */
  readonly along: readonly number[];
}

/** Where a point puts something, over the canonical variables of the sizes, and what becomes of what lies there. */
export interface Put {
  readonly coords: readonly IndexExpr[];
  readonly put: (old: Expr) => Expr;
}

/** Whether points of loops follow an order. */
export function takesSteps(l: Lowering): boolean {
  return l.hasFallback && l.capabilities.scans === true;
}

/**
 * A copy of self, in elements of `dtype`, into which is put. Null where points of loops follow no order, and where there
 * is no place to put anything: reference kernels refuse the indices.
 */
export function putInSteps(
  l: Lowering,
  self: LoweredTensor,
  dtype: DType,
  { sizes, along }: Steps,
  puts: readonly Put[],
): LoweredTensor | null {
  if (!takesSteps(l) || isEmpty(self.shape)) return null;
  let buffer = l.storeValue(l.ir.cast(self.expr, dtype), dtype, self.shape, self.layout);
  for (const { coords, put } of puts) {
    const value = put(l.loadBuffer(buffer, coords));
    buffer = addOverwrite(l, buffer, sizes, value, coords, { along });
  }
  return l.fromBuffer(buffer);
}

/** Sums of the terms by their places, in `shape`; null as for `putInSteps`. */
export function sumInSteps(
  l: Lowering,
  shape: Shape,
  dtype: DType,
  steps: Steps,
  terms: readonly { readonly coords: readonly IndexExpr[]; readonly value: Expr }[],
): LoweredTensor | null {
  const acc = accumulateDtype(dtype);
  const m = new ExprMath(l.ir);
  const puts = terms.map(({ coords, value }): Put => ({
    coords,
    put: (old) => m.add(old, m.cast(value, acc)),
  }));
  const sum = putInSteps(l, l.pointwise(shape, l.ir.const(acc, 0)), acc, steps, puts);
  return sum === null ? null : castTensor(l, sum, dtype);
}
