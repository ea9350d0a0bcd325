/**
 * @file The greatest value and Σ exp(x - greatest) in one pass.
 *
 * Both forms keep a maximum and a sum relative to it. With lanes that skip what none of them needs, the sum is
 * rescaled where some lane meets a greater value, which soon is nearly never: one exponential for each value. There
 * the maximum starts at the lowest finite number, so that values of -∞ add exp(-∞) = 0, and a row of nothing else is
 * known by its sum of 0. NaN is in the sum alone. Threads that cannot skip take one exponential of the distance between value and maximum, with
 * which either is scaled.
 *
 * @see Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018
 */
import type { DType } from '@tessera/tensor';
import type { IrBuilder } from '../ir/build.js';
import type { Expr } from '../ir/expr.js';
import { type Reduction, type Register, readAll, SETTLE_EVERY, unsettled } from './reduction.js';
import type { TargetDescription } from './target-description.js';

const LOWEST = -3.4028234663852886e38;

type Pair = readonly [max: Expr, sum: Expr];

/** `online_softmax` of the float `x`; `settles` where a lane takes in many. */
export function onlineSoftmax(
  ir: IrBuilder,
  x: Expr,
  target: TargetDescription,
  settles: boolean,
): Reduction {
  const isLong = settles && x.dtype !== 'float64';
  return target.skipsIdleLanes ? rescaled(ir, x, isLong) : selected(ir, x, isLong);
}

function registers(dtype: DType, lowest: number, prefix: string): readonly [Register, Register] {
  return [
    { name: `${prefix}max`, dtype, identity: lowest },
    { name: `${prefix}sum`, dtype, identity: 0 },
  ];
}

/** The greater one; NaN in b is not taken. */
function greater(ir: IrBuilder, a: Expr, b: Expr): Expr {
  return ir.op('where', [ir.op('lt', [a, b]), b, a]);
}

function rescaled(ir: IrBuilder, x: Expr, settles: boolean): Reduction {
  const { dtype } = x;
  const part = registers(dtype, LOWEST, '');
  const [max, sum] = readAll(ir, part);
  const wide: Register = { name: 'wide', dtype: 'float64', identity: 0 };
  const [total] = readAll(ir, [wide]);
  const decay = (from: Expr, to: Expr): Expr => ir.op('exp', [ir.op('sub', [from, to])]);
  const top = greater(ir, max, x);
  const scale = decay(max, top);
  const scaled = (value: Expr, factor: Expr): Expr => ir.op('mul', [value, factor]);
  const merge = ([m, s]: Pair, [otherM, otherS]: Pair): Expr[] => {
    const both = greater(ir, m, otherM);
    return [both, ir.op('add', [scaled(s, decay(m, both)), scaled(otherS, decay(otherM, both))])];
  };
  const isEmpty = ir.op('eq', [sum, ir.const(dtype, 0)]);
  return {
    op: 'online_softmax',
    dtype,
    state: settles ? [...part, wide] : part,
    update: [
      {
        where: ir.op('gt', [x, max]),
        set: [
          ['sum', scaled(sum, scale)],
          ...(settles ? [[wide.name, scaled(total, ir.cast(scale, 'float64'))] as const] : []),
          ['max', top],
        ],
      },
      { set: [['sum', ir.op('add', [sum, decay(x, max)])]] },
    ],
    neutral: -Infinity,
    ...(settles && {
      settling: {
        every: SETTLE_EVERY,
        set: [
          [wide.name, ir.op('add', [total, ir.cast(sum, 'float64')])],
          ['sum', ir.const(dtype, 0)],
        ],
      },
    }),
    part,
    handOver: settles ? [max, ir.cast(total, dtype)] : [max, sum],
    merge: merge([max, sum], readAll(ir, part, 'other.')),
    commutes: true,
    finish: [
      ir.op('where', [isEmpty, ir.const(dtype, -Infinity), max]),
      ir.op('where', [isEmpty, ir.const(dtype, NaN), sum]),
    ],
    decays: true,
  };
}

function selected(ir: IrBuilder, x: Expr, settles: boolean): Reduction {
  const { dtype } = x;
  const part = registers(dtype, -Infinity, '');
  const whole = registers(dtype, -Infinity, 'whole_');
  const own = readAll(ir, part);
  const settled = readAll(ir, whole);
  const [max, sum] = own;
  const one = ir.const(dtype, 1);
  // Equal values are exactly one apart from nothing: a difference of infinities would be NaN.
  const decay = (a: Expr, b: Expr): Expr =>
    ir.op('where', [
      ir.op('eq', [a, b]),
      one,
      ir.op('exp', [ir.op('neg', [ir.op('abs', [ir.op('sub', [a, b])])])]),
    ]);
  const merge = ([m, s]: Pair, [otherM, otherS]: Pair): [Expr, Expr] => {
    const e = decay(m, otherM);
    return [
      ir.op('maximum', [m, otherM]),
      ir.op('where', [
        ir.op('gt', [m, otherM]),
        ir.op('add', [s, ir.op('mul', [otherS, e])]),
        ir.op('add', [ir.op('mul', [s, e]), otherS]),
      ]),
    ];
  };
  const e = decay(x, max);
  const taken = ir.op('where', [
    ir.op('gt', [x, max]),
    ir.op('add', [ir.op('mul', [sum, e]), one]),
    ir.op('add', [sum, e]),
  ]);
  const joined = merge(settled, own);
  // exp(x - m) is NaN for x = m infinite, and with it the sum.
  const isLost = ir.op('or', [ir.op('isinf', [max]), ir.op('isnan', [max])]);
  const base = unsettled(ir, {
    op: 'online_softmax',
    dtype,
    state: part,
    update: [
      {
        set: [
          ['sum', taken],
          ['max', ir.op('maximum', [max, x])],
        ],
      },
    ],
    neutral: -Infinity,
    merge: merge(own, readAll(ir, part, 'other.')),
    commutes: false,
    finish: [max, ir.op('where', [isLost, ir.const(dtype, NaN), sum])],
    decays: true,
  });
  if (!settles) return base;
  return {
    ...base,
    state: [...part, ...whole],
    settling: {
      set: [
        [whole[0].name, joined[0]],
        [whole[1].name, joined[1]],
        ...part.map(({ name, identity }) => [name, ir.const(dtype, identity)] as const),
      ],
    },
    handOver: settled,
  };
}
