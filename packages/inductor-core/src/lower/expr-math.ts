/**
 * @file `ExprMath`: formulas over scalar expressions, readable.
 *
 * A number next to an expression is a constant of that expression's type.
 */
import { type Size, SymInt } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { IrBuilder } from '../ir/build.js';
import type { Expr, ScalarOp } from '../ir/expr.js';

/** An expression, a constant or a symbolic size. */
export type Term = Expr | Size;

function isSize(term: Term): term is Size {
  return typeof term === 'number' || term instanceof SymInt;
}

/** See the file header. */
export class ExprMath {
  constructor(readonly ir: IrBuilder) {}

  private op2(op: ScalarOp, a: Term, b: Term): Expr {
    const like = isSize(a) ? (b as Expr) : a;
    return this.ir.op(op, [this.term(a, like.dtype), this.term(b, like.dtype)]);
  }

  /** A value where a number or size is given. */
  term(value: Term, dtype: DType): Expr {
    return isSize(value) ? this.ir.sizeValue(dtype, value) : value;
  }

  add(a: Term, b: Term): Expr {
    return this.op2('add', a, b);
  }
  sub(a: Term, b: Term): Expr {
    return this.op2('sub', a, b);
  }
  mul(a: Term, b: Term): Expr {
    return this.op2('mul', a, b);
  }
  div(a: Term, b: Term): Expr {
    return this.op2('div', a, b);
  }
  max(a: Term, b: Term): Expr {
    return this.op2('maximum', a, b);
  }
  min(a: Term, b: Term): Expr {
    return this.op2('minimum', a, b);
  }
  eq(a: Term, b: Term): Expr {
    return this.op2('eq', a, b);
  }
  ne(a: Term, b: Term): Expr {
    return this.op2('ne', a, b);
  }
  lt(a: Term, b: Term): Expr {
    return this.op2('lt', a, b);
  }
  le(a: Term, b: Term): Expr {
    return this.op2('le', a, b);
  }
  gt(a: Term, b: Term): Expr {
    return this.op2('gt', a, b);
  }
  ge(a: Term, b: Term): Expr {
    return this.op2('ge', a, b);
  }
  pow(a: Term, b: Term): Expr {
    return this.op2('pow', a, b);
  }
  and(a: Expr, b: Expr): Expr {
    return this.ir.op('and', [a, b]);
  }
  or(a: Expr, b: Expr): Expr {
    return this.ir.op('or', [a, b]);
  }
  not(a: Expr): Expr {
    return this.ir.op('not', [a]);
  }
  neg(a: Expr): Expr {
    return this.ir.op('neg', [a]);
  }
  abs(a: Expr): Expr {
    return this.ir.op('abs', [a]);
  }
  square(a: Expr): Expr {
    return this.ir.op('square', [a]);
  }
  exp(a: Expr): Expr {
    return this.ir.op('exp', [a]);
  }
  expm1(a: Expr): Expr {
    return this.ir.op('expm1', [a]);
  }
  log(a: Expr): Expr {
    return this.ir.op('log', [a]);
  }
  log1p(a: Expr): Expr {
    return this.ir.op('log1p', [a]);
  }
  sqrt(a: Expr): Expr {
    return this.ir.op('sqrt', [a]);
  }
  rsqrt(a: Expr): Expr {
    return this.ir.op('rsqrt', [a]);
  }
  tanh(a: Expr): Expr {
    return this.ir.op('tanh', [a]);
  }
  sigmoid(a: Expr): Expr {
    return this.ir.op('sigmoid', [a]);
  }
  erf(a: Expr): Expr {
    return this.ir.op('erf', [a]);
  }
  isnan(a: Expr): Expr {
    return this.ir.op('isnan', [a]);
  }
  isinf(a: Expr): Expr {
    return this.ir.op('isinf', [a]);
  }
  floor(a: Expr): Expr {
    return this.ir.op('floor', [a]);
  }
  round(a: Expr): Expr {
    return this.ir.op('round', [a]);
  }
  trunc(a: Expr): Expr {
    return this.ir.op('trunc', [a]);
  }
  exp2(a: Expr): Expr {
    return this.ir.op('exp2', [a]);
  }
  log2(a: Expr): Expr {
    return this.ir.op('log2', [a]);
  }
  sin(a: Expr): Expr {
    return this.ir.op('sin', [a]);
  }
  tan(a: Expr): Expr {
    return this.ir.op('tan', [a]);
  }
  reciprocal(a: Expr): Expr {
    return this.ir.op('reciprocal', [a]);
  }
  copysign(a: Expr, b: Expr): Expr {
    return this.ir.op('copysign', [a, b]);
  }
  cast(a: Expr, dtype: DType): Expr {
    return this.ir.cast(a, dtype);
  }

  /** `cond ? a : b`; at least one of them an expression. */
  where(cond: Expr, a: Term, b: Term): Expr {
    const like = isSize(a) ? (b as Expr) : a;
    return this.ir.op('where', [cond, this.term(a, like.dtype), this.term(b, like.dtype)]);
  }
}
