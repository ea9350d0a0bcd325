/**
 * @file What an expression costs to compute again: from this follows whether its value gets memory.
 */
import type { Expr } from '../ir/expr.js';
import { EXPENSIVE_OPS } from '../ir/scalar-ops.js';
import { indexOf, indexSymbols, operands, postorder } from '../ir/walk.js';

/** See the file header. */
export interface ExprCost {
  readonly ops: number;
  readonly loads: number;
  /** Distinct buffers among the loads, and one where failed checks are noted if there are any. */
  readonly buffers: number;
  readonly expensive: boolean;
  /** Some of what is expensive differs from element to element, rather than from row to row. */
  readonly expensiveEach: boolean;
}

/** Counts what an expression does. */
export function exprCost(expr: Expr): ExprCost {
  let ops = 0;
  let loads = 0;
  const buffers = new Set<string>();
  let expensive = false;
  let checks = 0;
  for (const e of postorder([expr])) {
    if (e.kind === 'load') {
      loads++;
      buffers.add(e.buf);
    } else if (e.kind === 'op') {
      ops++;
      if (EXPENSIVE_OPS.has(e.op)) expensive = true;
    } else if (e.kind === 'random') expensive = true;
    else if (e.kind === 'check') checks = 1;
  }
  const expensiveEach = expensive && isExpensiveEach(expr);
  return { ops, loads, buffers: buffers.size + checks, expensive, expensiveEach };
}

/** Whether an expensive part varies with all variables that the whole varies with. */
function isExpensiveEach(expr: Expr): boolean {
  const variables = new Map<string, number>();
  const masks = new Map<Expr, number>();
  const expensive: number[] = [];
  for (const e of postorder([expr])) {
    let mask = operands(e).reduce((all, operand) => all | masks.get(operand)!, 0);
    const index = indexOf(e);
    if (index !== null)
      for (const name of indexSymbols(index)) {
        if (!variables.has(name)) variables.set(name, variables.size);
        // More variables than bits share the last: then parts seem to vary with more than they do.
        mask |= 1 << Math.min(variables.get(name)!, 30);
      }
    masks.set(e, mask);
    if (e.kind === 'random' || (e.kind === 'op' && EXPENSIVE_OPS.has(e.op))) expensive.push(mask);
  }
  return expensive.includes(masks.get(expr)!);
}
