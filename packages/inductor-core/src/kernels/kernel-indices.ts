/**
 * @file The index expressions of a kernel body, most important first: they decide the loop order.
 */
import { sizeHint } from '@tessera/shared';
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { indexOf, postorder } from '../ir/walk.js';
import type { IrBuffer } from '../lower/ir-node.js';
import { numelOf } from '../lower/shape-math.js';
import type { BodyStore } from './group-body.js';

/** Elements of a buffer, at the example's sizes where they may vary. */
function elementsOf({ sizes }: IrBuffer): number {
  return sizeHint(numelOf(sizes));
}

/** Stores by size, then loads by size, then loop indices used as values. Each distinct index once. */
export function rankedIndices(
  stores: readonly BodyStore[],
  roots: readonly Expr[],
  bufferOf: (name: string) => IrBuffer,
): IndexExpr[] {
  const weighted: { readonly index: IndexExpr; readonly weight: number }[] = stores.map(
    ({ index, buffer }) => ({ index, weight: 2 ** 52 + elementsOf(buffer) }),
  );
  for (const expr of postorder(roots)) {
    const index = indexOf(expr);
    if (index === null) continue;
    weighted.push({ index, weight: expr.kind === 'load' ? elementsOf(bufferOf(expr.buf)) : -1 });
  }
  weighted.sort((a, b) => b.weight - a.weight);
  return [...new Set(weighted.map((w) => w.index))];
}
