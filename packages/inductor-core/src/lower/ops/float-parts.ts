/**
 * @file Signs, neighbours and parts of floats, steps, extremes that pass over NaN, divisors of integers.
 */
import { type DType, isFloatingPoint } from '@tessera/tensor';
import { LARGEST_FINITE } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import { NARROW_INTEGERS } from '../../ir/scalar-ops.js';
import { parameter } from './activation.js';
import { elementwise, scalarOp, tensorArg } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { roundHalf } from './half-rounding.js';
import { binary, formula, overloads, BOTH } from './pointwise.js';
import type { LoweredArg } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** A test of a value in its own type; `none` where the type has no such value. */
function test(
  holds: (m: ExprMath, x: Expr) => Expr,
  integers: 'none' | 'same',
): LoweringOf<'aten::isposinf' | 'aten::isneginf' | 'aten::signbit'> {
  return (l, [self], call) => {
    const x = tensorArg(self, call.op);
    const applies = isFloatingPoint(x.dtype) || (integers === 'same' && x.dtype !== 'bool');
    return l.pointwise(
      x.shape,
      applies ? holds(new ExprMath(l.ir), x.expr) : l.ir.const('bool', 0),
    );
  };
}

const signbit = test(
  (m, x) => m.lt(isFloatingPoint(x.dtype) ? m.copysign(m.term(1, x.dtype), x) : x, 0),
  'same',
);

/** Sign; bools are their own. */
const sign: LoweringOf<'aten::sign' | 'aten::sgn'> = (l, [self], call) => {
  const x = tensorArg(self, call.op);
  return call.dtype === 'bool' ? x : scalarOp(l, 'sign', [x], call.dtype);
};

const nanToNum: LoweringOf<'aten::nan_to_num'> = (l, [self, nan, posinf, neginf], call) => {
  const tensor = tensorArg(self, call.op);
  const largest = LARGEST_FINITE[call.dtype];
  if (largest === undefined) return tensor;
  const m = new ExprMath(l.ir);
  const x = tensor.expr;
  const given = (value: LoweredArg, absent: number): Expr =>
    parameter(l, value === null || value === undefined ? absent : value, x);
  const bounded = m.where(
    m.isinf(x),
    m.where(m.gt(x, 0), given(posinf, largest), given(neginf, -largest)),
    x,
  );
  return l.pointwise(call.shape, m.where(m.isnan(x), given(nan, 0), bounded));
};

/** Half precision: what to add so that rounding the sum gives the neighbour. */
const HALF_STEPS: Readonly<
  Partial<Record<DType, { readonly relative: number; readonly least: number }>>
> = {
  float16: { relative: 2 ** -11 * (1 + 2 ** -9), least: 0.75 * 2 ** -24 },
  bfloat16: { relative: 2 ** -8 * (1 + 2 ** -6), least: 0.75 * 2 ** -133 },
};

const nextafter: LoweringOf<'aten::nextafter'> = (l, args, call) => {
  const half = HALF_STEPS[call.dtype];
  if (half === undefined) return binary('nextafter')(l, args, call);
  return formula((m, x, y) => {
    const step = m.max(m.mul(m.abs(x), half.relative), half.least);
    const moved = m.where(m.gt(y, x), m.add(x, step), m.sub(x, step));
    const inside = m.where(
      m.isinf(x),
      m.copysign(m.term(LARGEST_FINITE[call.dtype]!, x.dtype), x),
      moved,
    );
    const settled = m.where(m.eq(x, y), y, inside);
    return m.where(m.isnan(y), y, settled);
  })(l, args, call);
};

/**
 * Mantissa and exponent through the logarithm, set right where that rounds across a power of two. The
 * power is applied in two halves: either is in range.
 */
const frexp: LoweringOf<'aten::frexp.Tensor'> = (l, [self], call) => {
  const tensor = tensorArg(self, call.op);
  const m = new ExprMath(l.ir);
  const x = tensor.expr;
  const size = m.abs(x);
  const isPlain = m.and(m.gt(size, 0), m.lt(size, Infinity));
  const guess = m.add(m.floor(m.log2(m.where(isPlain, size, 1))), 1);
  const first = m.trunc(m.mul(guess, 0.5));
  const scaled = m.mul(m.mul(x, m.exp2(m.neg(first))), m.exp2(m.sub(first, guess)));
  const isHigh = m.ge(m.abs(scaled), 1);
  const isLow = m.lt(m.abs(scaled), 0.5);
  const mantissa = m.where(isHigh, m.mul(scaled, 0.5), m.where(isLow, m.mul(scaled, 2), scaled));
  const exponent = m.where(isHigh, m.add(guess, 1), m.where(isLow, m.sub(guess, 1), guess));
  return [
    l.pointwise(tensor.shape, m.where(isPlain, mantissa, x)),
    l.pointwise(tensor.shape, m.cast(m.where(isPlain, exponent, 0), 'int32')),
  ];
};

const roundDecimals: LoweringOf<'aten::round.decimals'> = (l, [self, decimals], call) => {
  const places = Number(decimals);
  return elementwise(
    l,
    [self],
    call.dtype,
    (x) => {
      const m = new ExprMath(l.ir);
      const power = roundHalf(m, m.term(10 ** Math.abs(places), x.dtype));
      return places < 0
        ? m.mul(m.round(roundHalf(m, m.div(x, power))), power)
        : m.div(m.round(roundHalf(m, m.mul(x, power))), power);
    },
    call.op,
  );
};

/** fmax and fmin: a number wins over NaN. */
function ignoringNan(op: 'maximum' | 'minimum'): LoweringOf<'aten::fmax' | 'aten::fmin'> {
  return formula((m, a, b) => {
    if (a.dtype === 'bool') return op === 'maximum' ? m.or(a, b) : m.and(a, b);
    const both = m.ir.op(op, [a, b]);
    return m.where(m.isnan(a), b, m.where(m.isnan(b), a, both));
  });
}

/** Narrow integers wrap at the end, when the sign is lost. */
const lcm = formula((m, self, other) => {
  const dtype = NARROW_INTEGERS.has(self.dtype) ? 'int32' : self.dtype;
  const [a, b] = [m.cast(self, dtype), m.cast(other, dtype)];
  const divisor = m.ir.op('gcd', [a, b]);
  const quotient = m.ir.op('truncdiv', [a, m.max(divisor, 1)]);
  return m.cast(m.abs(m.mul(quotient, b)), self.dtype);
});

/** Lowerings by overload name. */
export const floatPartLowerings: LoweringTable = lowerings({
  ...overloads('copysign', binary('copysign'), BOTH),
  'aten::signbit': signbit,
  'aten::sign': sign,
  'aten::sgn': sign,
  'aten::isposinf': test((m, x) => m.eq(x, Infinity), 'none'),
  'aten::isneginf': test((m, x) => m.eq(x, -Infinity), 'none'),
  'aten::nan_to_num': nanToNum,
  'aten::nextafter': nextafter,
  'aten::frexp.Tensor': frexp,
  'aten::round.decimals': roundDecimals,
  'aten::fmax': ignoringNan('maximum'),
  'aten::fmin': ignoringNan('minimum'),
  'aten::heaviside': formula((m, x, value) =>
    m.where(m.eq(x, 0), value, m.cast(m.gt(x, 0), x.dtype)),
  ),
  'aten::gcd': binary('gcd'),
  'aten::lcm': lcm,
});
