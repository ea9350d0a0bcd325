/**
 * @file Elements of 16 bits that a statement only moves: as integers they need no conversion, and keep their bits.
 */
import type { Expr } from '@tessera/inductor-core';

/** A choice of elements and zeros of one 16-bit float type as the same of int16; undefined for what is computed. */
export function movedBits(expr: Expr): Expr | undefined {
  if (expr.dtype !== 'float16' && expr.dtype !== 'bfloat16') return undefined;
  const dtype = 'int16';
  switch (expr.kind) {
    case 'load':
      return { ...expr, dtype };
    case 'const':
      return Object.is(expr.value, 0) ? { ...expr, dtype } : undefined;
    case 'masked': {
      const body = Object.is(expr.other, 0) ? movedBits(expr.body) : undefined;
      return body && { ...expr, dtype, body };
    }
    case 'op': {
      if (expr.op !== 'where') return undefined;
      const [condition, a, b] = expr.args;
      const [then, otherwise] = [movedBits(a!), movedBits(b!)];
      return then && otherwise && { ...expr, dtype, args: [condition!, then, otherwise] };
    }
    default:
      return undefined;
  }
}
