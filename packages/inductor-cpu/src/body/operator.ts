/**
 * @file `Operator`: emits one operation for one element kind, and ways to make them.
 */
import type { Expr, ScalarOp } from '@tessera/inductor-core';
import { lane, op } from '../emit/code.js';
import type { BinaryVectorOp, UnaryVectorOp } from '../emit/instructions.js';
import type { Code } from '../emit/types.js';
import { SHAPES, type ElementKind } from './element-kind.js';
import type { Value } from './value.js';
import type { Reg, Regs, VectorBuilder } from './vector-builder.js';

/** An operation as the IR has it. */
export type OpExpr = Extract<Expr, { kind: 'op' }>;

/** Registers of the result, given the operands' values. */
export type Operator = (vb: VectorBuilder, args: readonly Value[], expr: OpExpr) => Regs;

/** Operators by IR operation name. */
export type Operators = Readonly<Partial<Record<ScalarOp, Operator>>>;

/** One instruction on two vectors. */
export function binary(name: BinaryVectorOp): Operator {
  return (vb, [a, b]) => vb.bin(name, (a as Value).regs, (b as Value).regs);
}

/** One instruction on one vector. */
export function unary(name: UnaryVectorOp): Operator {
  return (vb, [a]) => vb.un(name, (a as Value).regs);
}

/** Lane by lane: `make(k, …)` gives lane k as a scalar. */
export function eachLane(
  vb: VectorBuilder,
  kind: ElementKind,
  args: readonly Value[],
  make: (k: number, ...regs: Reg[]) => Code,
): Regs {
  const shape = SHAPES[kind];
  const lanes = shape === 'f32x4' || shape === 'i32x4' ? 4 : 2;
  const loose = {
    splat: op as unknown as (name: string, x: Code) => Code<'v128'>,
    replace: lane as unknown as (name: string, k: number, v: Code<'v128'>, x: Code) => Code<'v128'>,
  };
  return vb.map(
    args.map((arg) => arg.regs),
    (...regs) => {
      let vector = loose.splat(`${shape}.splat`, make(0, ...regs));
      const uniform = args.every((arg) => arg.uniform);
      for (let k = 1; k < lanes && !uniform; k++)
        vector = loose.replace(`${shape}.replace_lane`, k, vector, make(k, ...regs));
      return vector;
    },
  );
}
