/**
 * @file Mean and sum of squared deviations in one pass.
 *
 * Distances from an infinite mean are infinite or NaN, so the recurrence ends in NaN where a value is infinite. The mean
 * of such values is their plain sum by their number, as two passes have it, and that sum is carried along for them.
 *
 * @see Chan, Golub, LeVeque, "Algorithms for computing the sample variance: analysis and recommendations", 1983
 */
import type { DType } from '@tessera/tensor';
import type { IrBuilder } from '../ir/build.js';
import type { Expr } from '../ir/expr.js';
import { type Reduction, type Register, readAll, SETTLE_EVERY, unsettled } from './reduction.js';
import type { TargetDescription } from './target-description.js';

type Moments = readonly [count: Expr, mean: Expr, m2: Expr, sum: Expr];

function registers(
  dtype: DType,
  prefix: string,
): readonly [Register, Register, Register, Register] {
  return [
    { name: `${prefix}count`, dtype, identity: 0, isAlike: true },
    { name: `${prefix}mean`, dtype, identity: 0 },
    { name: `${prefix}m2_`, dtype, identity: 0 },
    { name: `${prefix}sum`, dtype, identity: 0 },
  ];
}

/** Moments of the values of both sides. */
function merged(
  ir: IrBuilder,
  [n, mean, m2, sum]: Moments,
  [otherN, otherMean, otherM2, otherSum]: Moments,
): Expr[] {
  const add = (a: Expr, b: Expr): Expr => ir.op('add', [a, b]);
  const mul = (a: Expr, b: Expr): Expr => ir.op('mul', [a, b]);
  const count = add(n, otherN);
  const delta = ir.op('sub', [otherMean, mean]);
  // Of two parts without values it is 0.
  const share = ir.op('div', [otherN, ir.op('maximum', [count, ir.const(count.dtype, 1)])]);
  return [
    count,
    add(mean, mul(delta, share)),
    add(add(m2, otherM2), mul(mul(delta, delta), mul(n, share))),
    add(sum, otherSum),
  ];
}

/** Mean and squared deviations, after the last value. */
function results(ir: IrBuilder, [count, mean, m2, sum]: Moments): readonly Expr[] {
  const whole = ir.op('div', [sum, count]);
  return [ir.op('where', [ir.op('isnan', [mean]), whole, mean]), m2];
}

/**
 * `welford`: the mean, and the sum of squared deviations from it. Where a lane takes in many values (`settles`), the
 * moments of the last few are merged now and then with those of all before them, in the widest float.
 */
export function welford(
  ir: IrBuilder,
  x: Expr,
  target: TargetDescription,
  settles: boolean,
): Reduction {
  const { dtype } = x;
  const state = registers(dtype, '');
  const moments = readAll(ir, state);
  const [count, mean, m2, sum] = moments;
  const next = ir.op('add', [count, ir.const(dtype, 1)]);
  const delta = ir.op('sub', [x, mean]);
  const moved = ir.op('add', [mean, ir.op('mul', [delta, ir.op('reciprocal', [next])])]);
  const base = unsettled(ir, {
    op: 'welford',
    dtype,
    state,
    update: [
      {
        set: [
          ['count', next],
          ['mean', moved],
          ['m2_', ir.op('add', [m2, ir.op('mul', [delta, ir.op('sub', [x, moved])])])],
          ['sum', ir.op('add', [sum, x])],
        ],
      },
    ],
    merge: merged(ir, moments, readAll(ir, state, 'other.')),
    commutes: false,
    finish: results(ir, moments),
  });
  if (!settles || dtype === 'float64') return base;
  const isWider = target.widestFloat !== dtype;
  const whole = registers(target.widestFloat, 'whole_');
  const before = readAll(ir, whole);
  const recent = moments.map((each) => ir.cast(each, target.widestFloat));
  const joined = merged(ir, before, recent as [Expr, Expr, Expr, Expr]);
  return {
    ...base,
    state: [...state, ...whole],
    settling: {
      ...(isWider && { every: SETTLE_EVERY }),
      set: [
        ...whole.map(({ name }, i) => [name, joined[i]!] as const),
        ...state.map(({ name, identity }) => [name, ir.const(dtype, identity)] as const),
      ],
    },
    part: whole,
    handOver: before,
    merge: merged(ir, before, readAll(ir, whole, 'other.')),
    finish: results(ir, before).map((each) => ir.cast(each, dtype)),
  };
}
