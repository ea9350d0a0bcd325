/**
 * @file What an integer is known to lie in, from what its operands lie in.
 */
import { describe, expect, it } from 'vitest';
import type { Expr, ScalarOp } from '../src/ir/expr.js';
import { valueInterval } from '../src/ir/value-interval.js';

const whole = (value: number): Expr => ({ kind: 'const', dtype: 'int32', value });

/** The interval of an operation on a value between two numbers and a constant. */
function intervalOf(op: ScalarOp, lo: number, hi: number, by: number) {
  const value: Expr = { kind: 'scalar', dtype: 'int32', name: 'x' };
  const of = (operand: Expr) =>
    operand.kind === 'const' ? { lo: operand.value, hi: operand.value } : { lo, hi };
  const args = [value, whole(by)];
  const nothing = () => ({ lo: -Infinity, hi: Infinity });
  return valueInterval(
    { kind: 'op', op, dtype: 'int32', args },
    { of, where: (_, __, operand) => of(operand), ofIndex: nothing, ofResult: nothing },
  );
}

describe('the interval of an integer', () => {
  it('that is shifted is that of a floored division', () => {
    expect(intervalOf('shr', 3, 9, 1)).toEqual({ lo: 1, hi: 4 });
    expect(intervalOf('shr', -3, 9, 1)).toEqual({ lo: -2, hi: 4 });
    expect(intervalOf('shr', -3, 9, 40)).toEqual({ lo: -1, hi: 0 });
    expect(intervalOf('truncdiv', -3, 9, 2)).toEqual({ lo: -1, hi: 4 });
  });
});
