/** @file Which vector instruction an operator of a scalar program is, by the type of its operands. */
import type { ScalarExpr, ScalarType } from '@tessera/inductor-core';
import type { ShiftOp } from '../body/vector-builder.js';
import type { BinaryVectorOp, UnaryVectorOp } from '../emit/instructions.js';
import { type Operator, OPERATORS } from './scalar-program.js';

const LOGIC: ReadonlySet<string> = new Set<Operator>(['&', '|', '^']);
const COMPARISONS: ReadonlySet<string> = new Set<Operator>(['==', '!=', '<', '<=', '>', '>=']);
const UNARY = {
  abs: 'abs',
  ceil: 'ceil',
  floor: 'floor',
  round: 'nearest',
  sqrt: 'sqrt',
  trunc: 'trunc',
} as const;

const SHAPES = {
  f32: 'f32x4',
  f64: 'f64x2',
  i32: 'i32x4',
  u32: 'i32x4',
  i64: 'i64x2',
  bool: 'i32x4',
} as const;

type Shape = (typeof SHAPES)[keyof typeof SHAPES];

/** Whether lanes of a type have 64 bits. */
export function isWide(type: ScalarType): boolean {
  return type === 'f64' || type === 'i64';
}

/** Whether an operator moves bits; its count is a constant. */
export function isShift(name: Operator): name is '<<' | '>>' {
  return name === '<<' || name === '>>';
}

export function shiftOf(name: '<<' | '>>', type: ScalarType): ShiftOp {
  const direction = name === '<<' ? 'shl' : `shr${signOf(type)}`;
  return `${shapeOf(type)}.${direction}` as ShiftOp;
}

/** Whether an operator combines bits. */
export function isLogic(name: Operator): name is '&' | '|' | '^' {
  return LOGIC.has(name);
}

export function logicOf(name: '&' | '|' | '^'): BinaryVectorOp {
  return `v128.${OPERATORS[name]}`;
}

/** Undefined: `name` does not compare. */
export function comparisonOf(name: Operator, type: ScalarType): BinaryVectorOp | undefined {
  if (!COMPARISONS.has(name)) return undefined;
  const order = isInteger(type) && name !== '==' && name !== '!=' ? signOf(type) : '';
  return `${shapeOf(type)}.${OPERATORS[name]}${order}` as BinaryVectorOp;
}

export function arithmeticOf(name: Operator, type: ScalarType): BinaryVectorOp {
  return `${shapeOf(type)}.${OPERATORS[name]}` as BinaryVectorOp;
}

/** Undefined: the builtin `name` is not one instruction of one operand. */
export function unaryOf(name: string, type: ScalarType): UnaryVectorOp | undefined {
  return Object.hasOwn(UNARY, name)
    ? (`${shapeOf(type)}.${UNARY[name as keyof typeof UNARY]}` as UnaryVectorOp)
    : undefined;
}

export function negationOf(type: ScalarType): UnaryVectorOp {
  return `${shapeOf(type)}.neg`;
}

/** From integers of 32 bits to f32. */
export function toFloatFrom(type: ScalarType): UnaryVectorOp {
  return `f32x4.convert_i32x4${signOf(type)}`;
}

/**
 * The lesser or greater of two values. Of a value and a `number`, the pseudo-minimum keeps NaN, in one instruction
 * instead of about six.
 */
export function extremeOf(which: 'min' | 'max', type: ScalarType, number: boolean): BinaryVectorOp {
  const word = isInteger(type) ? `${which}${signOf(type)}` : `${number ? 'p' : ''}${which}`;
  return `${shapeOf(type)}.${word}` as BinaryVectorOp;
}

/** The constant of `value & constant`. */
export function maskOf(expr: ScalarExpr): bigint | undefined {
  if (expr.kind !== 'binary' || expr.op !== '&' || expr.right.kind !== 'number') return undefined;
  const bits = BigInt(expr.right.text.replace(/u$/, ''));
  return isWide(expr.type) ? BigInt.asIntN(64, bits) : BigInt.asIntN(32, bits);
}

function shapeOf(type: ScalarType): Shape {
  return SHAPES[type as keyof typeof SHAPES];
}

function isInteger(type: ScalarType): boolean {
  return type !== 'f32' && type !== 'f64';
}

function signOf(type: ScalarType): '_s' | '_u' {
  return type === 'u32' ? '_u' : '_s';
}
