/**
 * @file Sums.
 *
 * A float32 sum that takes in values without end loses what they have below its last bit, and of equal values the same
 * each time. So where a lane takes in many, its sum is emptied now and then: into float64 where the target has it,
 * else into a sum of sums that carries the rounding error of every addition along.
 *
 * @see Knuth, "The Art of Computer Programming" 2, 4.2.2 (the error of a sum)
 */
import type { DType } from '@tessera/tensor';
import type { IrBuilder } from '../ir/build.js';
import type { Expr } from '../ir/expr.js';
import {
  type Reduction,
  type Register,
  type Settling,
  readAll,
  SETTLE_EVERY,
  unsettled,
} from './reduction.js';
import type { TargetDescription } from './target-description.js';

/** A sum of `x`; `settles` where a lane takes in many values. */
export function sum(
  ir: IrBuilder,
  x: Expr,
  target: TargetDescription,
  settles: boolean,
): Reduction {
  const { dtype } = x;
  const register: Register = { name: 'sum', dtype, identity: 0 };
  const [total, other] = [ir.scalar(dtype, 'sum'), ir.scalar(dtype, 'other.sum')];
  const plain = unsettled(ir, {
    op: 'sum',
    dtype,
    state: [register],
    update: [{ set: [['sum', ir.op('add', [total, x])]] }],
    neutral: 0,
    merge: [ir.op('add', [total, other])],
    commutes: true,
    finish: [total],
  });
  if (!settles || dtype !== 'float32') return plain;
  return target.widestFloat === 'float64' ? widened(ir, plain) : compensated(ir, plain);
}

function emptied(ir: IrBuilder, set: Settling['set']): Settling {
  return { every: SETTLE_EVERY, set: [...set, ['sum', ir.const('float32', 0)]] };
}

function widened(ir: IrBuilder, plain: Reduction): Reduction {
  const wide: Register = { name: 'wide', dtype: 'float64', identity: 0 };
  const [sum, total] = readAll(ir, [...plain.state, wide]);
  return {
    ...plain,
    state: [...plain.state, wide],
    settling: emptied(ir, [['wide', ir.op('add', [total, ir.cast(sum, 'float64')])]]),
    part: [wide],
    handOver: [total],
    merge: [ir.op('add', [total, ir.scalar('float64', 'other.wide')])],
    finish: [ir.cast(total, 'float32')],
  };
}

function compensated(ir: IrBuilder, plain: Reduction): Reduction {
  const registers: readonly Register[] = [
    { name: 'whole', dtype: 'float32', identity: 0 },
    { name: 'error', dtype: 'float32', identity: 0 },
  ];
  const [sum, whole, error] = readAll(ir, [...plain.state, ...registers]);
  const sub = (a: Expr, b: Expr): Expr => ir.op('sub', [a, b]);
  const next = ir.op('add', [whole, sum]);
  const part = sub(next, whole);
  const lost = ir.op('add', [sub(whole, sub(next, part)), sub(sum, part)]);
  return {
    ...plain,
    state: [...plain.state, ...registers],
    settling: emptied(ir, [
      ['error', ir.op('add', [error, lost])],
      ['whole', next],
    ]),
    // The error of an infinite sum is NaN.
    handOver: [ir.op('where', [ir.op('isnan', [error]), whole, ir.op('add', [whole, error])])],
  };
}

/**
 * A sum of int64 on a target that computes it in 32 bits: low word, high word, and whether a value was lost before.
 * So only the result has to fit.
 */
export function sumOfWords(ir: IrBuilder, x: Expr): Reduction {
  const word = (name: string): Register => ({ name, dtype: 'int32', identity: 0 });
  const state = [
    word('low'),
    word('high'),
    { name: 'lost', dtype: 'bool', identity: 0 },
  ] as const satisfies readonly Register[];
  const [low, high, lost] = readAll(ir, state);
  const [otherLow, otherHigh, otherLost] = readAll(ir, state, 'other.');
  const constant = (value: number, dtype: DType = 'int32'): Expr => ir.const(dtype, value);
  const add = (a: Expr, b: Expr): Expr => ir.op('add', [a, b]);
  const signOf = (a: Expr): Expr =>
    ir.op('where', [ir.op('lt', [a, constant(0)]), constant(-1), constant(0)]);
  // As unsigned numbers: with the sign bits turned over, the order of signed ones is theirs.
  const turned = (a: Expr): Expr => ir.op('xor', [a, constant(-(2 ** 31))]);
  /** A carry shows in a sum below what was added. */
  const added = (lower: Expr, upper: Expr): readonly [low: Expr, high: Expr] => {
    const sum = add(low, lower);
    const carries = ir.op('lt', [turned(sum), turned(lower)]);
    return [sum, add(add(high, upper), ir.op('where', [carries, constant(1), constant(0)]))];
  };
  const value = ir.cast(x, 'int32');
  const isLost = ir.op('eq', [value, constant(-(2 ** 31))]);
  const [nextLow, nextHigh] = added(value, signOf(value));
  const outside = ir.op('ne', [high, signOf(low)]);
  return unsettled(ir, {
    op: 'sum',
    dtype: 'int64',
    state,
    update: [
      {
        set: [
          ['lost', ir.op('or', [lost, isLost])],
          ['high', nextHigh],
          ['low', nextLow],
        ],
      },
    ],
    neutral: 0,
    merge: [...added(otherLow, otherHigh), ir.op('or', [lost, otherLost])],
    commutes: true,
    finish: [
      ir.op('where', [
        ir.op('or', [lost, outside]),
        ir.const('int64', -(2 ** 31)),
        ir.cast(low, 'int64'),
      ]),
    ],
  });
}
