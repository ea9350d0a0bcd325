/**
 * @file Lowerings of arithmetic, comparisons, logic and conversions.
 */
import { isFloatingPoint } from '@tessera/tensor';
import type { Expr, ScalarOp } from '../../ir/expr.js';
import { checkedDivisor } from '../checked-value.js';
import {
  type Operand,
  castTensor,
  elementwise,
  isOperand,
  operandArg,
  operandExpr,
  scalarOp,
  tensorArg,
} from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { Lowering } from '../lowering.js';
import { type LoweredArg, type LoweringFn, RuntimeScalar } from '../registry.js';

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

const add: LoweringFn = (l, [self, other, alpha], call) =>
  elementwise(
    l,
    [operandArg(self!, call.op), operandArg(other!, call.op)],
    call.dtype,
    (a, b) => sum(l, a, scaledBy(l, b, alpha)),
    call.op,
  );

const sub: LoweringFn = (l, [self, other, alpha], call) =>
  elementwise(
    l,
    [operandArg(self!, call.op), operandArg(other!, call.op)],
    call.dtype,
    (a, b) => l.ir.op('sub', [a, scaledBy(l, b, alpha)]),
    call.op,
  );

const rsub: LoweringFn = (l, [self, other, alpha], call) =>
  elementwise(
    l,
    [operandArg(self!, call.op), operandArg(other!, call.op)],
    call.dtype,
    (a, b) => l.ir.op('sub', [b, scaledBy(l, a, alpha)]),
    call.op,
  );

const mul: LoweringFn = (l, [self, other], call) =>
  elementwise(
    l,
    [operandArg(self!, call.op), operandArg(other!, call.op)],
    call.dtype,
    (a, b) => product(l, a, b),
    call.op,
  );

const div: LoweringFn = (l, [self, other], call) =>
  elementwise(
    l,
    [operandArg(self!, call.op), operandArg(other!, call.op)],
    call.dtype,
    (a, b) => l.ir.op('div', [a, b]),
    call.op,
  );

const divMode: LoweringFn = (l, args, call) => {
  const mode = args[2];
  if (mode === null || mode === undefined) return div(l, args, call);
  return quotient('div', mode === 'floor' ? 'floordiv' : 'truncdiv')(l, args, call);
};

/** A rounded quotient or remainder in the recorded dtype. */
function quotient(name: string, op: ScalarOp): LoweringFn {
  return (l, [self, other], call) =>
    elementwise(
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

const pow: LoweringFn = (l, [self, exponent], call) => {
  const operands: Operand[] = [operandArg(self!, call.op), operandArg(exponent!, call.op)];
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
  return scalarOp(l, 'pow', operands, call.dtype);
};

/** Exponents with a cheaper form of the same value. */
const EXACT_POWERS: Readonly<Record<number, (m: ExprMath, x: Expr) => Expr>> = {
  0.5: (m, x) => m.sqrt(x),
  1: (_, x) => x,
  2: (m, x) => m.square(x),
  3: (m, x) => m.mul(m.square(x), x),
  '-0.5': (m, x) => m.rsqrt(x),
  '-1': (m, x) => m.ir.op('reciprocal', [x]),
  '-2': (m, x) => m.ir.op('reciprocal', [m.square(x)]),
};

/** clamp with either bound missing; NaN stays NaN. */
const clamp: LoweringFn = (l, [self, min, max], call) => {
  const bounds: [ScalarOp, Operand][] = [];
  if (isOperand(min)) bounds.push(['maximum', min]);
  if (isOperand(max)) bounds.push(['minimum', max]);
  return elementwise(
    l,
    [operandArg(self!, call.op), ...bounds.map(([, bound]) => bound)],
    call.dtype,
    (x, ...limits) => limits.reduce((value, limit, i) => l.ir.op(bounds[i]![0], [value, limit]), x),
    call.op,
  );
};

const clampMax: LoweringFn = (l, [self, max], call) => clamp(l, [self, null, max], call);

const lerp: LoweringFn = (l, [self, end, weight], call) =>
  elementwise(
    l,
    [operandArg(self!, call.op), operandArg(end!, call.op), operandArg(weight!, call.op)],
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

function addc(divide: boolean): LoweringFn {
  return (l, [self, t1, t2, value], call) => {
    const operands = [
      operandArg(self!, call.op),
      operandArg(t1!, call.op),
      operandArg(t2!, call.op),
    ];
    return elementwise(
      l,
      operands,
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
    );
  };
}

const abs: LoweringFn = (l, [self], call) =>
  call.dtype === 'bool' || call.dtype === 'uint8'
    ? tensorArg(self!, call.op)
    : scalarOp(l, 'abs', [tensorArg(self!, call.op)], call.dtype);

const toDtype: LoweringFn = (l, [self], call) =>
  castTensor(l, tensorArg(self!, call.op), call.dtype);

/** A value of its own; the layout is the recorded one. */
const clone: LoweringFn = (l, [self], call) =>
  l.pointwise(tensorArg(self!, call.op).shape, tensorArg(self!, call.op).expr);

const copy: LoweringFn = (l, [self, src], call) => {
  const { sizes } = tensorArg(self!, call.op);
  return l.pointwise(sizes, operandExpr(l, operandArg(src!, call.op), sizes, call.dtype));
};

/** The same lowering under several overload suffixes. */
export function overloads(
  name: string,
  fn: LoweringFn,
  suffixes: readonly string[] = ['.Tensor', '.Scalar'],
): Table {
  return Object.fromEntries(suffixes.map((suffix) => [`aten::${name}${suffix}`, fn]));
}

function table(
  names: Readonly<Record<string, ScalarOp>>,
  make: (op: ScalarOp) => LoweringFn,
): Table {
  return Object.fromEntries(Object.entries(names).map(([name, op]) => [`aten::${name}`, make(op)]));
}

const BIT_SUFFIXES = ['.Tensor', '.Scalar', '.Tensor_Scalar', '.Scalar_Tensor'];

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
export const pointwiseLowerings: Readonly<Table> = {
  ...overloads('add', add),
  ...overloads('sub', sub),
  ...overloads('rsub', rsub),
  ...overloads('mul', mul),
  ...overloads('div', div),
  ...overloads('true_divide', div),
  ...overloads('div', divMode, ['.Tensor_mode', '.Scalar_mode']),
  ...overloads('floor_divide', quotient('floor_divide', 'floordiv'), ['', '.Scalar']),
  ...overloads('remainder', quotient('remainder', 'remainder'), [
    '.Tensor',
    '.Scalar',
    '.Scalar_Tensor',
  ]),
  ...overloads('fmod', quotient('fmod', 'fmod')),
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
  ...overloads('bitwise_and', binary('and'), BIT_SUFFIXES),
  ...overloads('bitwise_or', binary('or'), BIT_SUFFIXES),
  ...overloads('bitwise_xor', binary('xor'), BIT_SUFFIXES),
  ...overloads('bitwise_left_shift', binary('shl'), BIT_SUFFIXES),
  ...overloads('bitwise_right_shift', binary('shr'), BIT_SUFFIXES),
  'aten::bitwise_not': unary('not'),
  ...overloads('clamp', clamp, ['', '.Tensor']),
  ...overloads('clamp_min', clamp, ['', '.Tensor']),
  ...overloads('clamp_max', clampMax, ['', '.Tensor']),
  ...overloads('lerp', lerp),
  'aten::addcmul': addc(false),
  'aten::addcdiv': addc(true),
  'aten::_to_copy': toDtype,
  'aten::to.dtype': toDtype,
  'aten::clone': clone,
  'aten::contiguous': clone,
  'aten::lift_fresh_copy': clone,
  'aten::copy': copy,
};
