/**
 * @file Lowerings of arithmetic, comparisons, logic and conversions.
 */
import { isFloatingPoint } from '@tessera/tensor';
import type { Expr, ScalarOp } from '../../ir/expr.js';
import { checkedDivisor } from '../checked-value.js';
import {
  castTensor,
  elementwise,
  elementwiseByFactor,
  elementwiseWithNumbers,
  isOperand,
  operandArg,
  operandExpr,
  scalarOp,
  tensorArg,
} from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { Lowering } from '../lowering.js';
import { type LoweredArg, type LoweringFn, RuntimeScalar } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings, type Operand } from '../typed-lowering.js';

/** Lowerings by overload name, under construction. */
export type Table = Record<string, LoweringFn>;

/** Scales the second operand by `alpha` unless that is 1. */
function scaledBy(lowering: Lowering, value: Expr, alpha: LoweredArg): Expr {
  if (alpha === 1 || alpha === undefined || alpha === null) return value;
  const factor =
    alpha instanceof RuntimeScalar
      ? lowering.ir.cast(alpha.expr, value.dtype)
      : lowering.ir.const(value.dtype, Number(alpha));
  return product(lowering, value, factor);
}

/** Product; `and` for bool. */
function product(lowering: Lowering, a: Expr, b: Expr): Expr {
  return lowering.ir.op(a.dtype === 'bool' ? 'and' : 'mul', [a, b]);
}

/** Sum; `or` for bool. */
function sum(lowering: Lowering, a: Expr, b: Expr): Expr {
  return lowering.ir.op(a.dtype === 'bool' ? 'or' : 'add', [a, b]);
}

const add: LoweringOf<'aten::add.Tensor' | 'aten::add.Scalar'> = (l, [self, other, alpha], call) =>
  elementwise(l, [self, other], call.dtype, (a, b) => sum(l, a, scaledBy(l, b, alpha)), call.op);

const sub: LoweringOf<'aten::sub.Tensor' | 'aten::sub.Scalar'> = (l, [self, other, alpha], call) =>
  elementwise(
    l,
    [self, other],
    call.dtype,
    (a, b) => l.ir.op('sub', [a, scaledBy(l, b, alpha)]),
    call.op,
  );

const rsub: LoweringOf<'aten::rsub.Tensor' | 'aten::rsub.Scalar'> = (
  l,
  [self, other, alpha],
  call,
) =>
  elementwise(
    l,
    [self, other],
    call.dtype,
    (a, b) => l.ir.op('sub', [b, scaledBy(l, a, alpha)]),
    call.op,
  );

const mul: LoweringOf<'aten::mul.Tensor' | 'aten::mul.Scalar'> = (l, [self, other], call) =>
  elementwiseByFactor(l, [self, other], call.dtype, (a, b) => product(l, a, b), call.op);

const div: LoweringOf<
  'aten::div.Tensor' | 'aten::div.Scalar' | 'aten::true_divide.Tensor' | 'aten::true_divide.Scalar'
> = (l, [self, other], call) =>
  elementwiseByFactor(l, [self, other], call.dtype, (a, b) => l.ir.op('div', [a, b]), call.op);

const divMode: LoweringOf<'aten::div.Tensor_mode' | 'aten::div.Scalar_mode'> = (l, args, call) => {
  const [self, other, mode] = args;
  if (mode === null || mode === undefined) return div(l, [self, other], call);
  return rounded('div', mode === 'floor' ? 'floordiv' : 'truncdiv', elementwiseByFactor)(
    l,
    args,
    call,
  );
};

/** A rounded quotient or remainder in the recorded dtype, by the rule for its operands. */
function rounded(
  name: string,
  op: ScalarOp,
  combined: typeof elementwiseByFactor | typeof elementwise,
): LoweringFn {
  return (l, [self, other], call) =>
    combined(
      l,
      [operandArg(self!, call.op), operandArg(other!, call.op)],
      call.dtype,
      (a, b) => l.ir.op(op, [a, checkedDivisor(l, name, b)]),
      call.op,
    );
}

/** A binary operation in the recorded dtype. */
export function binary(op: ScalarOp): LoweringFn {
  return (l, [self, other], call) =>
    scalarOp(l, op, [operandArg(self!, call.op), operandArg(other!, call.op)], call.dtype);
}

/** maximum and minimum; logic for bool. */
function extreme(op: 'maximum' | 'minimum'): LoweringFn {
  return (l, [self, other], call) => {
    const boolOp = op === 'maximum' ? 'or' : 'and';
    return scalarOp(
      l,
      call.dtype === 'bool' ? boolOp : op,
      [operandArg(self!, call.op), operandArg(other!, call.op)],
      call.dtype,
    );
  };
}

/** A unary operation in the recorded dtype (integers become floats where the op says so). */
function unary(op: ScalarOp): LoweringFn {
  return (l, [self], call) => scalarOp(l, op, [tensorArg(self!, call.op)], call.dtype);
}

/** A unary operation that leaves integers as they are. */
function rounding(op: ScalarOp): LoweringFn {
  return (l, [self], call) =>
    isFloatingPoint(call.dtype)
      ? scalarOp(l, op, [tensorArg(self!, call.op)], call.dtype)
      : tensorArg(self!, call.op);
}

/** A formula over the operands, in the recorded dtype. */
export function formula(combine: (m: ExprMath, ...args: Expr[]) => Expr): LoweringFn {
  return (l, args, call) =>
    elementwise(
      l,
      args.filter(isOperand),
      call.dtype,
      (...exprs) => combine(new ExprMath(l.ir), ...exprs),
      call.op,
    );
}

const pow: LoweringOf<
  'aten::pow.Tensor_Scalar' | 'aten::pow.Tensor_Tensor' | 'aten::pow.Scalar'
> = (l, [self, exponent], call) => {
  const operands: Operand[] = [self, exponent];
  const special = typeof exponent === 'number' ? EXACT_POWERS[exponent] : undefined;
  if (
    special !== undefined &&
    (isFloatingPoint(call.dtype) || exponent === 1 || exponent === 2 || exponent === 3)
  ) {
    return elementwise(
      l,
      [operands[0]!],
      call.dtype,
      (x) => special(new ExprMath(l.ir), x),
      call.op,
    );
  }
  if (!(exponent instanceof RuntimeScalar) || !isFloatingPoint(call.dtype))
    return scalarOp(l, 'pow', operands, call.dtype);
  // One exponent of ±½ is a root, which has the sign of -0 and none of -∞; those of a tensor are not.
  const m = new ExprMath(l.ir);
  const half = (x: Expr, e: Expr): Expr => m.where(m.lt(e, 0), m.rsqrt(x), m.sqrt(x));
  return elementwise(
    l,
    operands,
    call.dtype,
    (x, e) => m.where(m.eq(m.abs(e), 0.5), half(x, e), m.pow(x, e)),
    call.op,
  );
};

/** Exponents with a cheaper form of the same value. */
export const EXACT_POWERS: Readonly<Record<number, (m: ExprMath, x: Expr) => Expr>> = {
  0.5: (m, x) => m.sqrt(x),
  1: (_, x) => x,
  2: (m, x) => m.square(x),
  3: (m, x) => m.mul(m.square(x), x),
  '-0.5': (m, x) => m.rsqrt(x),
  '-1': (m, x) => m.ir.op('reciprocal', [x]),
  '-2': (m, x) => m.ir.op('reciprocal', [m.square(x)]),
};

/** clamp with either bound missing; NaN stays NaN. */
const clamp: LoweringOf<'aten::clamp' | 'aten::clamp.Tensor'> = (l, [self, min, max], call) => {
  const bounds: [ScalarOp, Operand][] = [];
  if (isOperand(min)) bounds.push(['maximum', min]);
  if (isOperand(max)) bounds.push(['minimum', max]);
  return elementwise(
    l,
    [self, ...bounds.map(([, bound]) => bound)],
    call.dtype,
    (x, ...limits) => limits.reduce((value, limit, i) => l.ir.op(bounds[i]![0], [value, limit]), x),
    call.op,
  );
};

const clampMin: LoweringOf<'aten::clamp_min' | 'aten::clamp_min.Tensor'> = (l, [self, min], call) =>
  clamp(l, [self, min, null], call);

const clampMax: LoweringOf<'aten::clamp_max' | 'aten::clamp_max.Tensor'> = (l, [self, max], call) =>
  clamp(l, [self, null, max], call);

const lerp: LoweringOf<'aten::lerp.Scalar' | 'aten::lerp.Tensor'> = (
  l,
  [self, end, weight],
  call,
) =>
  elementwiseWithNumbers(
    l,
    [self, end, weight],
    call.dtype,
    (a, b, w) => {
      const m = new ExprMath(l.ir);
      const distance = m.sub(b, a);
      const near = m.add(a, m.mul(w, distance));
      const far = m.sub(b, m.mul(distance, m.sub(1, w)));
      return m.where(m.lt(m.abs(w), 0.5), near, far);
    },
    call.op,
  );

function addc(divide: boolean): LoweringOf<'aten::addcmul' | 'aten::addcdiv'> {
  return (l, [self, t1, t2, value], call) => {
    return elementwiseWithNumbers(
      l,
      [self, t1, t2],
      call.dtype,
      (x, a, b) =>
        sum(
          l,
          x,
          divide
            ? l.ir.op('div', [scaledBy(l, a, value), b])
            : product(l, scaledBy(l, a, value), b),
        ),
      call.op,
      [value],
    );
  };
}

const abs: LoweringOf<'aten::abs'> = (l, [self], call) =>
  call.dtype === 'bool' || call.dtype === 'uint8'
    ? tensorArg(self, call.op)
    : scalarOp(l, 'abs', [tensorArg(self, call.op)], call.dtype);

const toDtype: LoweringOf<'aten::_to_copy' | 'aten::to.dtype'> = (l, [self], call) =>
  castTensor(l, self, call.dtype);

/** A value of its own; the layout is the recorded one. */
const clone: LoweringOf<'aten::clone' | 'aten::contiguous' | 'aten::lift_fresh_copy'> = (
  l,
  [self],
) => l.pointwise(self.shape, self.expr);

const copy: LoweringOf<'aten::copy'> = (l, [self, src], call) => {
  const { shape } = tensorArg(self, call.op);
  return l.pointwise(shape, operandExpr(l, src, shape, call.dtype));
};

/** The same lowering under several overload suffixes. */
export function overloads<Name extends string, Suffix extends string>(
  name: Name,
  fn: LoweringOf<`aten::${Name}${Suffix}`>,
  suffixes: readonly Suffix[],
): LoweringTable {
  return lowerings(Object.fromEntries(suffixes.map((suffix) => [`aten::${name}${suffix}`, fn])));
}

function table(
  names: Readonly<Record<string, ScalarOp>>,
  make: (op: ScalarOp) => LoweringFn,
): Table {
  return Object.fromEntries(Object.entries(names).map(([name, op]) => [`aten::${name}`, make(op)]));
}

/** With a tensor and with a number. */
export const BOTH = ['.Tensor', '.Scalar'] as const;
/** Overloads of shifts. */
const SHIFTS = ['.Tensor', '.Tensor_Scalar', '.Scalar_Tensor'] as const;

/** Operators whose lowerings take symbolic sizes as operands. */
export const SIZED_ARITHMETIC: readonly string[] = [
  'add',
  'sub',
  'rsub',
  'mul',
  'div',
  'true_divide',
].flatMap((name) => [`aten::${name}.Tensor`, `aten::${name}.Scalar`]);

/** Lowerings by overload name. */
export const pointwiseLowerings: LoweringTable = lowerings({
  ...overloads('add', add, BOTH),
  ...overloads('sub', sub, BOTH),
  ...overloads('rsub', rsub, BOTH),
  ...overloads('mul', mul, BOTH),
  ...overloads('div', div, BOTH),
  ...overloads('true_divide', div, BOTH),
  ...overloads('div', divMode, ['.Tensor_mode', '.Scalar_mode']),
  ...overloads('floor_divide', rounded('floor_divide', 'floordiv', elementwiseByFactor), ['']),
  ...overloads('remainder', rounded('remainder', 'remainder', elementwise), BOTH),
  ...overloads('fmod', rounded('fmod', 'fmod', elementwise), BOTH),
  ...overloads('pow', pow, ['.Tensor_Scalar', '.Tensor_Tensor', '.Scalar']),
  ...table({ atan2: 'atan2' }, binary),
  'aten::maximum': extreme('maximum'),
  'aten::minimum': extreme('minimum'),
  'aten::max.other': extreme('maximum'),
  'aten::min.other': extreme('minimum'),
  ...table(
    {
      neg: 'neg',
      exp: 'exp',
      exp2: 'exp2',
      expm1: 'expm1',
      log: 'log',
      log2: 'log2',
      log1p: 'log1p',
      sqrt: 'sqrt',
      rsqrt: 'rsqrt',
      reciprocal: 'reciprocal',
      square: 'square',
      sin: 'sin',
      cos: 'cos',
      tan: 'tan',
      asin: 'asin',
      acos: 'acos',
      atan: 'atan',
      sinh: 'sinh',
      cosh: 'cosh',
      tanh: 'tanh',
      sigmoid: 'sigmoid',
      erf: 'erf',
    },
    unary,
  ),
  ...table({ floor: 'floor', ceil: 'ceil', round: 'round', trunc: 'trunc' }, rounding),
  'aten::abs': abs,
  'aten::log10': formula((m, x) => m.mul(m.ir.op('log2', [x]), Math.log10(2))),
  'aten::frac': formula((m, x) => m.sub(x, m.ir.op('trunc', [x]))),
  'aten::erfc': formula((m, x) => m.sub(1, m.erf(x))),
  ...overloads('bitwise_and', binary('and'), BOTH),
  ...overloads('bitwise_or', binary('or'), BOTH),
  ...overloads('bitwise_xor', binary('xor'), BOTH),
  ...overloads('bitwise_left_shift', binary('shl'), SHIFTS),
  ...overloads('bitwise_right_shift', binary('shr'), SHIFTS),
  'aten::bitwise_not': unary('not'),
  ...overloads('clamp', clamp, ['', '.Tensor']),
  ...overloads('clamp_min', clampMin, ['', '.Tensor']),
  ...overloads('clamp_max', clampMax, ['', '.Tensor']),
  ...overloads('lerp', lerp, BOTH),
  'aten::addcmul': addc(false),
  'aten::addcdiv': addc(true),
  'aten::_to_copy': toDtype,
  'aten::to.dtype': toDtype,
  'aten::clone': clone,
  'aten::contiguous': clone,
  'aten::lift_fresh_copy': clone,
  'aten::copy': copy,
});
