/**
 * @file The greatest and the smallest value, and where they are.
 */
import type { DType } from '@tessera/tensor';
import type { IrBuilder } from '../ir/build.js';
import type { Expr } from '../ir/expr.js';
import { highest, lowest } from '../ir/integer-ranges.js';
import { isFloat } from '../ir/scalar-eval.js';
import { type Reduction, type Register, readAll, unsettled } from './reduction.js';
import type { TargetDescription } from './target-description.js';

/** What any value of a type is at least (at most) as good as. */
function worst(dtype: DType, larger: boolean): number {
  if (isFloat(dtype)) return larger ? -Infinity : Infinity;
  return larger ? lowest(dtype) : highest(dtype);
}

/** The better of two numbers; a where b is NaN. */
function plain(ir: IrBuilder, a: Expr, b: Expr, larger: boolean): Expr {
  return ir.op('where', [ir.op('lt', larger ? [a, b] : [b, a]), b, a]);
}

/** `max` and `min`, where NaN wins. */
export function extreme(
  ir: IrBuilder,
  op: 'max' | 'min',
  x: Expr,
  target: TargetDescription,
): Reduction {
  if (isFloat(x.dtype) && target.separateNan) return besideNan(ir, op, x);
  const pick = op === 'max' ? 'maximum' : 'minimum';
  return ofOne(ir, op, x, (a, b) => ir.op(pick, [a, b]));
}

/** `peak`: a maximum which may skip NaN where that is cheaper. */
export function peak(ir: IrBuilder, x: Expr, target: TargetDescription): Reduction {
  if (!isFloat(x.dtype) || !target.separateNan)
    return { ...extreme(ir, 'max', x, target), op: 'peak' };
  return { ...ofOne(ir, 'max', x, (a, b) => plain(ir, a, b, true)), op: 'peak' };
}

function ofOne(
  ir: IrBuilder,
  op: 'max' | 'min',
  x: Expr,
  better: (a: Expr, b: Expr) => Expr,
): Reduction {
  const { dtype } = x;
  const none = worst(dtype, op === 'max');
  const [best, other] = [ir.scalar(dtype, op), ir.scalar(dtype, `other.${op}`)];
  return unsettled(ir, {
    op,
    dtype,
    state: [{ name: op, dtype, identity: none }],
    update: [{ set: [[op, better(best, x)]] }],
    neutral: none,
    merge: [better(best, other)],
    commutes: true,
    finish: [best],
  });
}

/** The extreme of the numbers, and whether there was NaN: two cheap registers instead of a costly one. */
function besideNan(ir: IrBuilder, op: 'max' | 'min', x: Expr): Reduction {
  const { dtype } = x;
  const larger = op === 'max';
  const none = worst(dtype, larger);
  const state = [
    { name: op, dtype, identity: none },
    { name: 'nan', dtype: 'bool', identity: 0 },
  ] as const satisfies readonly Register[];
  const [best, nan] = readAll(ir, state);
  const [otherBest, otherNan] = readAll(ir, state, 'other.');
  return unsettled(ir, {
    op,
    dtype,
    state,
    update: [
      {
        set: [
          [op, plain(ir, best, x, larger)],
          ['nan', ir.op('or', [nan, ir.op('isnan', [x])])],
        ],
      },
    ],
    neutral: none,
    merge: [plain(ir, best, otherBest, larger), ir.op('or', [nan, otherNan])],
    commutes: true,
    finish: [ir.op('where', [nan, ir.const(dtype, NaN), best])],
  });
}

/**
 * `argmax` and `argmin`: the first place of the extreme; NaN wins. A lane meets its values in the order of their
 * places, so only what is better moves it; parts come in any order, and of equals the earlier place counts. The
 * worst value (of type `from`) at place 0 stands for nothing: where nothing is better, all values are it, and the first
 * place is 0.
 */
export function place(
  ir: IrBuilder,
  op: 'argmax' | 'argmin',
  x: Expr,
  from: DType,
  target: TargetDescription,
): Reduction {
  const { dtype } = x;
  const larger = op === 'argmax';
  const none = worst(from, larger);
  const state = [
    { name: 'best', dtype, identity: none },
    { name: 'place', dtype: 'int32', identity: 0 },
  ] as const satisfies readonly Register[];
  const [best, index] = readAll(ir, state);
  const [otherBest, otherIndex] = readAll(ir, state, 'other.');
  const isNan = (a: Expr): Expr => ir.op('isnan', [a]);
  const beats = (a: Expr, b: Expr): Expr => {
    const exceeds = ir.op(larger ? 'gt' : 'lt', [a, b]);
    if (!isFloat(dtype)) return exceeds;
    const isNumber = ir.op('not', [isNan(b)]);
    // Where comparisons can be trusted, the test of b's NaN need not wait for that with a.
    return target.comparesNan
      ? ir.op('or', [exceeds, ir.op('and', [isNan(a), isNumber])])
      : ir.op('and', [ir.op('or', [exceeds, isNan(a)]), isNumber]);
  };
  const isBetter = beats(x, best);
  const isEarlier = ir.op('lt', [otherIndex, index]);
  const takesOther = ir.op('or', [
    beats(otherBest, best),
    ir.op('and', [isEarlier, ir.op('not', [beats(best, otherBest)])]),
  ]);
  return unsettled(ir, {
    op,
    dtype,
    state,
    update: [
      {
        set: [
          ['best', ir.op('where', [isBetter, x, best])],
          ['place', ir.op('where', [isBetter, ir.scalar('int32', 'at'), index])],
        ],
      },
    ],
    neutral: none,
    merge: [
      ir.op('where', [takesOther, otherBest, best]),
      ir.op('where', [takesOther, otherIndex, index]),
    ],
    commutes: true,
    finish: [ir.cast(index, 'int64')],
  });
}
