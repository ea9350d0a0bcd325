/**
 * @file `Operator`: emits one operation for one element kind, and ways to make them.
 */
import type { Expr, ScalarOp } from '@tessera/inductor-core';
import type { BinaryVectorOp, UnaryVectorOp } from '../emit/instructions.js';
import type { Value } from './value.js';
import type { Regs, VectorBuilder } from './vector-builder.js';

/** An operation as the IR has it. */
export type OpExpr = Extract<Expr, { kind: 'op' }>;

/** Registers of the result, given the operands' values. */
export type Operator = (vb: VectorBuilder, args: readonly Value[], expr: OpExpr) => Regs;

/** Operators by IR operation name. */
export type Operators = Readonly<Partial<Record<ScalarOp, Operator>>>;

/** One instruction on two vectors. */
export function binary(name: BinaryVectorOp): Operator {
  return (vb, [a, b]) => vb.bin(name, a.regs, b.regs);
}

/** One instruction on one vector. */
export function unary(name: UnaryVectorOp): Operator {
  return (vb, [a]) => vb.un(name, a.regs);
}
