/**
 * @file int64 on a device that stores it in 32 bits: results that do not fit are lost, never wrapped.
 *
 * -2³¹ stands for "lost": no upload brings it, reading it back is an error, arithmetic keeps it, and as a
 * float it is NaN. Sums count in 64 bits, so only their result has to fit. Comparisons take it for a number.
 */
import type { Expr, ScalarOp } from '@tessera/inductor-core';

/** See the file header. */
export const LOST_INT64: number = -(2 ** 31);

/** The library function of an operation on int64, where it can leave 32 bits. */
export const LONG_OPS: Partial<Readonly<Record<ScalarOp, string>>> = {
  add: 'add_long',
  sub: 'sub_long',
  mul: 'mul_long',
  pow: 'pow_long',
  shl: 'shl_long',
};

/**
 * Library functions; `neg` and `abs` of -2³¹ are that number again. Powers beyond 2³¹ are beyond 2147485000, rounded or not,
 * and 2³¹ wraps to what is lost. `F`, `I`, `U` and `B` stand for f32, i32, u32 and bool
 * or their vectors of four, `@name` for a library function of the same width.
 */
export const LONG_INTEGERS: Readonly<Record<string, string>> = {
  kept_long: `fn @kept_long(r: I, lost: B) -> I {
  return select(r, I(-2147483647 - 1), lost);
}`,
  lost_long: `fn @lost_long(x: I) -> B {
  return x == I(-2147483647 - 1);
}`,
  add_long: `fn @add_long(a: I, b: I) -> I {
  let r = a + b;
  return @kept_long(r, @lost_long(a) | @lost_long(b) | (((a ^ r) & (b ^ r)) < I(0)));
}`,
  sub_long: `fn @sub_long(a: I, b: I) -> I {
  return @add_long(a, -b);
}`,
  mul_long: `fn @mul_long(a: I, b: I) -> I {
  let r = a * b;
  let d = select(a, I(1), a == I(0));
  return @kept_long(r, @lost_long(a) | @lost_long(b) | ((a != I(0)) & (r / d != b)));
}`,
  pow_long: `fn @pow_long(a: I, b: I) -> I {
  return @kept_long(@pow_int(a, b), @pow(abs(F(a)), F(max(b, I(0)))) > F(2147485e3));
}`,
  shl_long: `fn @shl_long(a: I, b: I) -> I {
  let r = @shl_int(a, b);
  return @kept_long(r, (@shr_int(r, b) != a) & (U(b) < U(64)));
}`,
  long_to_float: `fn @long_to_float(x: I) -> F {
  return select(F(x), @nan(), @lost_long(x));
}`,
};

/** What a comparison gives with a number that no int64 of the device reaches; null for others. */
export function farComparison({ op, args }: Extract<Expr, { kind: 'op' }>): boolean | null {
  const side = args.findIndex(
    (arg) => arg.kind === 'const' && arg.dtype === 'int64' && Math.abs(arg.value) >= 2 ** 31,
  );
  if (side < 0 || args.length !== 2) return null;
  const isAbove = (args[side] as Extract<Expr, { kind: 'const' }>).value > 0;
  const isFirstLess = (side === 1) === isAbove;
  const known: Partial<Record<ScalarOp, boolean>> = {
    eq: false,
    ne: true,
    lt: isFirstLess,
    le: isFirstLess,
    gt: !isFirstLess,
    ge: !isFirstLess,
  };
  return known[op] ?? null;
}
