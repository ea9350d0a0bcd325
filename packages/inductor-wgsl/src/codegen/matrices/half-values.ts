/**
 * @file Values that float16 holds exactly, as vectors of four halves: what subgroup matrices multiply.
 */
import type { Expr } from '@tessera/inductor-core';
import type { ExprEmitter } from '../values/expr-emitter.js';
import { loadedElement } from '../values/loaded-element.js';
import { widen } from '../values/value.js';
import { typeName } from '../values/wgsl-types.js';

/** Whole numbers up to this are float16. */
const WHOLE = 2048;

/** Whether a value is a float16, widened or not. Values that are computed are rounded to float16 by a cast. */
export function isHalf(expr: Expr): boolean {
  if (expr.kind === 'const') return Number.isInteger(expr.value) && Math.abs(expr.value) <= WHOLE;
  if (expr.kind === 'masked') return Object.is(expr.other, 0) && isHalf(expr.body);
  const isCast = expr.kind === 'op' && expr.op === 'cast';
  if (expr.dtype === 'float16') return isCast || expr.kind === 'load';
  return isCast && expr.dtype === 'float32' && isHalf(expr.args[0]!);
}

/** Text of four values of an expression that `isHalf` accepts; loads are not widened on the way. */
export function halfVector(emitter: ExprEmitter, expr: Expr): string {
  if (expr.kind === 'masked') {
    const mask = widen(emitter.value(expr.mask), 4);
    return `select(${HALVES}(0), ${halfVector(emitter, expr.body)}, ${mask})`;
  }
  if (expr.kind === 'op' && expr.dtype === 'float32') return halfVector(emitter, expr.args[0]!);
  if (expr.kind === 'load' && emitter.builder.buffer(expr.buf).storage === 'f16') {
    const { text, width } = loadedElement(emitter, expr);
    return width === 4 ? text : `${HALVES}(${text})`;
  }
  return `${HALVES}(${widen(emitter.value(expr), 4)})`;
}

const HALVES = typeName('f16', 4);
