/**
 * @file Iterative walks over expressions.
 *
 * Fused expressions can be thousands of operations deep, so nothing here or in a code generator may
 * recurse over `Expr`. `postorder` gives every distinct expression once, operands first: the order in
 * which code is emitted.
 */
import type { Expr, Stmt } from './expr.js';
import type { IndexExpr } from './index-expr.js';

const NO_VALUES: readonly Expr[] = [];
const valuesOf = new WeakMap<IndexExpr, readonly Expr[]>();

/** Run-time values inside an index, outermost first. */
export function indexValues(index: IndexExpr): readonly Expr[] {
  if (index.kind === 'sym' || index.kind === 'int') return NO_VALUES;
  let found = valuesOf.get(index);
  if (found === undefined) valuesOf.set(index, (found = collectValues(index)));
  return found;
}

function collectValues(index: IndexExpr): readonly Expr[] {
  const found: Expr[] = [];
  const stack: IndexExpr[] = [index];
  while (stack.length > 0) {
    const e = stack.pop()!;
    if (e.kind === 'value') found.push(e.value);
    else if (e.kind === 'add') stack.push(...e.terms);
    else if (e.kind === 'mul') stack.push(...e.factors);
    else if (e.kind === 'div' || e.kind === 'mod') stack.push(e.num, e.den);
  }
  return found.length === 0 ? NO_VALUES : found;
}

/** Symbols that an index reads directly (not through run-time values). */
export function indexSymbols(index: IndexExpr, into: Set<string> = new Set()): Set<string> {
  const stack: IndexExpr[] = [index];
  while (stack.length > 0) {
    const e = stack.pop()!;
    if (e.kind === 'sym') into.add(e.name);
    else if (e.kind === 'add') stack.push(...e.terms);
    else if (e.kind === 'mul') stack.push(...e.factors);
    else if (e.kind === 'div' || e.kind === 'mod') stack.push(e.num, e.den);
  }
  return into;
}

/** The index of a load, loop index or random number; null for other kinds. */
export function indexOf(expr: Expr): IndexExpr | null {
  return expr.kind === 'load' || expr.kind === 'index' || expr.kind === 'random'
    ? expr.index
    : null;
}

/** Expressions that must be known before this one, in order. */
export function operands(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'op':
      return expr.args;
    case 'load':
    case 'index':
      return indexValues(expr.index);
    case 'masked':
      return [expr.mask, expr.body];
    case 'check':
      return [expr.subject, expr.ok, expr.value];
    case 'random':
      return [expr.seed, expr.offset, ...indexValues(expr.index)];
    default:
      return [];
  }
}

/** Every distinct expression under `roots`, operands before users; what `isKnown`, and what only that needs, is left out. */
export function postorder(
  roots: readonly Expr[],
  isKnown: (expr: Expr) => boolean = () => false,
): Expr[] {
  const order: Expr[] = [];
  const state = new Map<Expr, 'open' | 'done'>();
  const stack: Expr[] = [];
  for (const root of roots) {
    if (!isKnown(root)) stack.push(root);
    while (stack.length > 0) {
      const expr = stack[stack.length - 1]!;
      const seen = state.get(expr);
      if (seen === undefined) {
        state.set(expr, 'open');
        const inputs = operands(expr);
        for (let i = inputs.length - 1; i >= 0; i--)
          if (!state.has(inputs[i]!) && !isKnown(inputs[i]!)) stack.push(inputs[i]!);
      } else {
        stack.pop();
        if (seen === 'open') {
          state.set(expr, 'done');
          order.push(expr);
        }
      }
    }
  }
  return order;
}

/**
 * Values that must be known at a place for `root` to be, itself included, operands before users; what `isKnown` is left
 * out. The body of a mask is not among them: it is computed where the mask holds.
 */
export function valuesBefore(root: Expr, isKnown: (expr: Expr) => boolean): Expr[] {
  const order = new Set<Expr>();
  const stack = [root];
  while (stack.length > 0) {
    const expr = stack.at(-1)!;
    const isDone = (value: Expr): boolean => order.has(value) || isKnown(value);
    const inputs = expr.kind === 'masked' ? [expr.mask] : operands(expr);
    const waiting = isDone(expr) ? [] : inputs.filter((input) => !isDone(input));
    if (waiting.length > 0) stack.push(...waiting.toReversed());
    else {
      stack.pop();
      if (!isDone(expr)) order.add(expr);
    }
  }
  return [...order];
}

/** The expressions at the top of a statement: its value and the values inside its index. */
export function stmtRoots(stmt: Stmt): Expr[] {
  return stmt.kind === 'store' ? [...indexValues(stmt.index), stmt.value] : [stmt.value];
}
