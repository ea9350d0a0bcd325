/**
 * @file Operators of each element by itself: arithmetic, comparisons, logic, bits, functions of one number.
 */
import {
  type Tensor,
  bitwiseLeftShift,
  bitwiseRightShift,
  isFloatingPoint,
  maximum,
  minimum,
  where,
  zerosLike,
} from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OnnxOperator, OperatorTable } from '../registry.js';
import { inDType, inFloat32 } from './like.js';

function unary(compute: (x: Tensor) => Tensor): OnnxOperator {
  return (call) => {
    const x = call.tensor(0);
    return inDType(compute(x), x.dtype);
  };
}

function binary(compute: (a: Tensor, b: Tensor | number) => Tensor): OnnxOperator {
  return (call) => compute(call.tensor(0), call.operand(1, 0));
}

function logical(compute: (a: Tensor, b: Tensor) => Tensor): OnnxOperator {
  return (call) => compute(call.tensor(0), call.tensor(1));
}

/** Any number of operands, two at a time. */
function variadic(combine: (a: Tensor, b: Tensor) => Tensor): OnnxOperator {
  return (call) => {
    if (call.inputs.length === 0) call.fail('it has no inputs');
    const [first, ...rest] = call.tensors();
    return rest.reduce((a, b) => inDType(combine(a, b), first.dtype), first);
  };
}

function divide(call: NodeCall): Tensor {
  const a = call.tensor(0);
  const b = call.operand(1, 0);
  return isFloatingPoint(a.dtype)
    ? a.div(b)
    : inDType(a.div(b, { roundingMode: 'trunc' }), a.dtype);
}

/** The sign of the remainder is the divisor's, that of zero too, or with fmod the dividend's. */
function modulo(call: NodeCall): Tensor {
  const [a, b] = [call.tensor(0), call.operand(1, 0)];
  if (call.flag('fmod')) return a.fmod(b);
  const rest = a.remainder(b);
  return isFloatingPoint(a.dtype) ? where(rest.eq(0), rest.copysign(b), rest) : rest;
}

/** Result in the dtype of the base, computed in float32 unless both are whole. */
function power(call: NodeCall): Tensor {
  const [base, exponent] = [call.tensor(0), call.tensor(1)];
  if (base.dtype === exponent.dtype) return base.pow(exponent);
  if (isFloatingPoint(base.dtype)) return base.pow(exponent.to(base.dtype));
  const wide = isFloatingPoint(exponent.dtype) ? base.to(exponent.dtype) : base.to('int64');
  const raised = wide.pow(isFloatingPoint(exponent.dtype) ? exponent : exponent.to('int64'));
  return inDType(raised, base.dtype);
}

/** Shifts; to the right, bits of an unsigned value come in as zeros. */
function shift(call: NodeCall): Tensor {
  const [a, b] = [call.tensor(0), call.tensor(1)];
  return call.choice('direction', ['LEFT', 'RIGHT']) === 'LEFT'
    ? bitwiseLeftShift(a, b)
    : bitwiseRightShift(a, b);
}

function clip(call: NodeCall): Tensor {
  const x = call.tensor(0);
  if (call.opset < 11) {
    const bound = (name: string): number | null =>
      call.hasAttribute(name) ? call.float(name) : null;
    const [low, high] = [bound('min'), bound('max')];
    return low === null && high === null ? x : x.clamp(low, high);
  }
  let result = x;
  if (call.has(1)) {
    const low = call.operand(1, 0);
    result = typeof low === 'number' ? result.clamp(low, null) : maximum(result, low);
  }
  if (call.has(2)) {
    const high = call.operand(2, 0);
    result = typeof high === 'number' ? result.clamp(null, high) : minimum(result, high);
  }
  return result;
}

function isInfinite(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const [positive, negative] = [
    call.flag('detect_positive', true),
    call.flag('detect_negative', true),
  ];
  if (positive && negative) return x.isinf();
  if (positive) return x.eq(Infinity);
  return negative ? x.eq(-Infinity) : zerosLike(x).to('bool');
}

/** Operators of the standard domain. */
export const elementwise: OperatorTable = {
  Abs: unary((x) => x.abs()),
  Acos: unary((x) => x.acos()),
  Acosh: unary((x) => x.acosh()),
  Asin: unary((x) => x.asin()),
  Asinh: unary((x) => x.asinh()),
  Atan: unary((x) => x.atan()),
  Atanh: unary((x) => x.atanh()),
  Ceil: unary((x) => x.ceil()),
  Cos: unary((x) => x.cos()),
  Cosh: unary((x) => x.cosh()),
  Erf: unary((x) => x.erf()),
  Exp: unary((x) => x.exp()),
  Floor: unary((x) => x.floor()),
  Log: unary((x) => x.log()),
  Neg: unary((x) => x.neg()),
  Reciprocal: unary((x) => x.reciprocal()),
  Round: unary((x) => x.round()),
  Sign: unary((x) => x.sign()),
  Sin: unary((x) => x.sin()),
  Sinh: unary((x) => x.sinh()),
  Sqrt: unary((x) => x.sqrt()),
  Tan: unary((x) => x.tan()),
  Tanh: unary((x) => x.tanh()),
  Sigmoid: unary((x) => inFloat32(x, (wide) => wide.sigmoid())),
  IsNaN: (call) => call.tensor(0).isnan(),
  IsInf: isInfinite,
  Not: (call) => call.tensor(0).logicalNot(),
  BitwiseNot: (call) => call.tensor(0).bitwiseNot(),

  Add: binary((a, b) => a.add(b)),
  Sub: binary((a, b) => a.sub(b)),
  Mul: binary((a, b) => a.mul(b)),
  Div: divide,
  Mod: modulo,
  Pow: power,
  Equal: binary((a, b) => a.eq(b)),
  Greater: binary((a, b) => a.gt(b)),
  GreaterOrEqual: binary((a, b) => a.ge(b)),
  Less: binary((a, b) => a.lt(b)),
  LessOrEqual: binary((a, b) => a.le(b)),
  And: logical((a, b) => a.logicalAnd(b)),
  Or: logical((a, b) => a.logicalOr(b)),
  Xor: logical((a, b) => a.logicalXor(b)),
  BitwiseAnd: logical((a, b) => a.bitwiseAnd(b)),
  BitwiseOr: logical((a, b) => a.bitwiseOr(b)),
  BitwiseXor: logical((a, b) => a.bitwiseXor(b)),
  BitShift: shift,

  Max: variadic((a, b) => maximum(a, b)),
  Min: variadic((a, b) => minimum(a, b)),
  Sum: variadic((a, b) => a.add(b)),
  Mean: (call) => {
    const parts = call.tensors();
    return parts
      .slice(1)
      .reduce((a, b) => a.add(b), parts[0]!)
      .div(parts.length);
  },
  Clip: clip,
  Where: (call) => where(call.tensor(0), call.tensor(1), call.tensor(2)),
};
