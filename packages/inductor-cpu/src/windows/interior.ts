/**
 * @file Where along an axis the conditions of an operand hold: inside the image, away from its padding.
 *
 * There the operand is evaluated without them. Where they do not hold, and it is nothing but a constant, that is stored.
 */
import {
  type Expr,
  type LoopSpace,
  type ScalarOp,
  indexOf,
  isVariable,
  postorder,
} from '@tessera/inductor-core';
import { type Size, sizeAdd, sizeSub } from '@tessera/shared';

/** Places from each of `from` up, and below each of `to`. */
export interface Interior {
  readonly from: readonly Size[];
  readonly to: readonly Size[];
  /** The expression inside. */
  readonly inside: Expr;
  /** What it is outside; null where that takes evaluating. */
  readonly outside: number | null;
}

const TRUE: Expr = { kind: 'const', dtype: 'bool', value: 1 };

/** The interior along a variable of a space, which counts places. */
export function interiorOf(root: Expr, space: LoopSpace, variable: string): Interior {
  const from: Size[] = [];
  const to: Size[] = [];
  const held = new Set<Expr>();
  for (const expr of postorder([root])) {
    const range = rangeOf(expr, space, variable);
    if (range === null) continue;
    held.add(expr);
    if (range.from !== null) from.push(range.from);
    if (range.to !== null) to.push(range.to);
  }
  return {
    from,
    to,
    inside: held.size === 0 ? root : assuming(root, held),
    outside: outsideOf(root, held),
  };
}

/** The places at which a comparison with a constant holds; null for other expressions. */
function rangeOf(
  expr: Expr,
  space: LoopSpace,
  variable: string,
): { readonly from: Size | null; readonly to: Size | null } | null {
  if (expr.kind !== 'op' || !COMPARISONS.has(expr.op)) return null;
  const [value, limit] = expr.args;
  const index = value.kind === 'index' ? indexOf(value) : null;
  const bound = constantOf(limit, space);
  if (index === null || bound === null) return null;
  const { constant, terms } = space.linear(index);
  if (!isVariable({ constant: 0, terms }, variable)) return null;
  const at = sizeSub(bound, constant);
  switch (expr.op) {
    case 'ge':
      return { from: at, to: null };
    case 'gt':
      return { from: sizeAdd(at, 1), to: null };
    case 'lt':
      return { from: null, to: at };
    case 'le':
      return { from: null, to: sizeAdd(at, 1) };
    default:
      return { from: sizeSub(0, constant), to: at };
  }
}

const COMPARISONS = new Set<ScalarOp>(['ge', 'gt', 'lt', 'le', 'within']);

function constantOf(expr: Expr, space: LoopSpace): Size | null {
  if (expr.kind === 'const') return expr.value;
  if (expr.kind !== 'index') return null;
  const { constant, terms } = space.linear(expr.index);
  return terms.size === 0 ? constant : null;
}

/** An expression where conditions hold. */
function assuming(root: Expr, held: ReadonlySet<Expr>): Expr {
  const made = new Map<Expr, Expr>();
  for (const expr of postorder([root])) made.set(expr, held.has(expr) ? TRUE : rebuilt(expr, made));
  return made.get(root)!;
}

function rebuilt(expr: Expr, made: ReadonlyMap<Expr, Expr>): Expr {
  if (expr.kind === 'masked') {
    const [mask, body] = [made.get(expr.mask)!, made.get(expr.body)!];
    if (mask === TRUE) return body;
    return mask === expr.mask && body === expr.body ? expr : { ...expr, mask, body };
  }
  if (expr.kind !== 'op') return expr;
  const args = expr.args.map((arg) => made.get(arg)!);
  if (expr.op === 'and' && args.includes(TRUE)) return args.find((arg) => arg !== TRUE) ?? TRUE;
  return args.every((arg, i) => arg === expr.args[i]) ? expr : { ...expr, args };
}

/** The value of a masked expression where one of some conditions does not hold. */
function outsideOf(root: Expr, held: ReadonlySet<Expr>): number | null {
  if (root.kind !== 'masked') return null;
  const needed = [root.mask];
  const all = new Set<Expr>();
  while (needed.length > 0) {
    const expr = needed.pop()!;
    if (expr.kind === 'op' && expr.op === 'and') needed.push(...expr.args);
    else all.add(expr);
  }
  return [...held].every((condition) => all.has(condition)) ? root.other : null;
}
