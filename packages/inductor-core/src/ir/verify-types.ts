/**
 * @file What is wrong with the types of an expression's operands, for `verifyKernel`.
 */
import type { Expr } from './expr.js';
import { isFloat } from './scalar-eval.js';
import { FLOAT_OPS, INTEGER_OPS, PREDICATES, SCALAR_ARITY } from './scalar-ops.js';

/** The rule that an expression breaks, its operands being right themselves; null if none. */
export function typeFault(expr: Expr): string | null {
  switch (expr.kind) {
    case 'masked': {
      const { mask, body, dtype } = expr;
      if (mask.dtype !== 'bool') return 'a mask must be bool';
      return body.dtype === dtype ? null : `a masked ${body.dtype} is no ${dtype}`;
    }
    case 'index':
      return expr.dtype === 'bool' ? 'a place is no bool' : null;
    case 'random': {
      if (!isFloat(expr.dtype)) return `a random number is no ${expr.dtype}`;
      const words = [expr.seed, expr.offset];
      return words.some(({ dtype }) => isFloat(dtype))
        ? 'seed and offset of a random number are integers'
        : null;
    }
    case 'check': {
      const { ok, subject, value, dtype } = expr;
      if (ok.dtype !== 'bool') return 'the condition of a check must be bool';
      if (isFloat(subject.dtype) || subject.dtype === 'bool')
        return `a check is of integers, not of ${subject.dtype}`;
      return dtype === value.dtype ? null : `a checked ${value.dtype} is no ${dtype}`;
    }
    case 'op':
      return operationFault(expr);
    default:
      return null;
  }
}

function operationFault({ op, args, dtype }: Extract<Expr, { kind: 'op' }>): string | null {
  if (args.length !== SCALAR_ARITY[op])
    return `${op} takes ${SCALAR_ARITY[op]} operand(s), not ${args.length}`;
  if (op === 'cast') return null;
  const same = op === 'where' ? args.slice(1) : args;
  const operand = same[0]!.dtype;
  if (same.some((arg) => arg.dtype !== operand))
    return `the operands of ${op} have different types: ${args.map((arg) => arg.dtype).join(', ')}`;
  if (op === 'where' && args[0]!.dtype !== 'bool') return 'the condition of where must be bool';
  const wanted = PREDICATES.has(op) ? 'bool' : operand;
  if (dtype !== wanted) return `${op} gives ${wanted}, not ${dtype}`;
  if (op === 'div' && !isFloat(dtype)) return 'div is for floats; use floordiv or truncdiv';
  if (FLOAT_OPS.has(op) && !isFloat(operand)) return `${op} is for floats, not ${operand}`;
  return INTEGER_OPS.has(op) && isFloat(operand) ? `${op} is for integers, not ${operand}` : null;
}
