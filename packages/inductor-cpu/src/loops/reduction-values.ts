/**
 * @file `reductionValues`: the expressions of a reduction as vector code.
 */
import type { Expr, Reduction, ScalarOp } from '@tessera/inductor-core';
import { kindOf, SHAPES } from '../body/element-kind.js';
import { constantRegs } from '../body/leaf-values.js';
import { applyOperator } from '../body/operators.js';
import type { Value } from '../body/value.js';
import type { VectorBuilder } from '../body/vector-builder.js';
import { emitFunction } from '../math/vector-program.js';

type OpExpr = Extract<Expr, { kind: 'op' }>;

function isOp(expr: Expr | undefined, name: ScalarOp): expr is OpExpr {
  return expr?.kind === 'op' && expr.op === name;
}

/** Emits expressions, what they share once; `operand` gives the values of named operands. */
export function reductionValues(
  vb: VectorBuilder,
  { decays }: Pick<Reduction, 'decays'>,
  roots: readonly Expr[],
  operand: (name: string) => Value,
): Value[] {
  const known = new Map<Expr, Value>();
  const value = (expr: Expr): Value => {
    let found = known.get(expr);
    if (found === undefined) known.set(expr, (found = emit(expr)));
    return found;
  };
  const emit = (expr: Expr): Value => {
    if (expr.kind === 'const')
      return {
        kind: kindOf(expr.dtype),
        uniform: true,
        regs: constantRegs(vb, expr.dtype, expr.value),
      };
    if (expr.kind === 'scalar') return operand(expr.name);
    const op = expr as OpExpr;
    const extreme = pseudoExtreme(op);
    if (extreme !== undefined) {
      const [a, b] = extreme.args.map(value);
      return {
        kind: a.kind,
        uniform: a.uniform && b.uniform,
        regs: vb.bin(`${SHAPES[a.kind] as 'f32x4' | 'f64x2'}.${extreme.name}`, a.regs, b.regs),
      };
    }
    if (isOp(op, 'and') && isOp(op.args[1], 'not')) {
      const [a, b] = [value(op.args[0]!), value(op.args[1].args[0]!)];
      return {
        kind: a.kind,
        uniform: a.uniform && b.uniform,
        regs: vb.bin('v128.andnot', a.regs, b.regs),
      };
    }
    const args = op.args.map(value);
    if (isOp(op, 'exp') && decays === true && args[0]!.kind === 'f32')
      return { ...args[0]!, regs: emitFunction(vb, 'exp_non_positive', [args[0]!.regs]) };
    return applyOperator(vb, op, args);
  };
  return roots.map(value);
}

/** `where(a < b, b, a)` of floats is the instruction `pmax`, `where(b < a, b, a)` is `pmin`. */
function pseudoExtreme(
  expr: OpExpr,
): { readonly name: 'pmax' | 'pmin'; readonly args: readonly [Expr, Expr] } | undefined {
  const kind = kindOf(expr.dtype);
  if (expr.op !== 'where' || (kind !== 'f32' && kind !== 'f64')) return undefined;
  const [condition, b, a] = expr.args;
  if (!isOp(condition, 'lt')) return undefined;
  const [left, right] = condition.args;
  if (left === a && right === b) return { name: 'pmax', args: [a, b] };
  return left === b && right === a ? { name: 'pmin', args: [a, b] } : undefined;
}
