/**
 * @file The table of reductions: the one place that knows what each of them does.
 *
 * A new reduction is a row of `REDUCTIONS` (and its name and number of results in the IR), with its test against plain
 * loops in `test/reductions.test.ts`; every target then has it.
 */
import type { DType } from '@tessera/tensor';
import { IrBuilder } from '../ir/build.js';
import type { Expr, ReduceOp } from '../ir/expr.js';
import { isFloat } from '../ir/scalar-eval.js';
import { NARROW_INTEGERS } from '../ir/scalar-ops.js';
import { extreme, peak, place } from './extremes.js';
import { welford } from './moments.js';
import { onlineSoftmax } from './online-softmax.js';
import { type Reduction, unsettled } from './reduction.js';
import { sum, sumOfWords } from './sums.js';
import type { TargetDescription } from './target-description.js';

/** What a reduction is made for. */
export interface ReductionOptions {
  readonly op: ReduceOp;
  /** Type of the values. */
  readonly dtype: DType;
  readonly target: TargetDescription;
  /** Whether lanes take in so many values that float32 sums lose bits. */
  readonly settles?: boolean;
}

interface Site {
  readonly ir: IrBuilder;
  /** The value in the type in which it is reduced. */
  readonly x: Expr;
  /** The type that it comes in. */
  readonly from: DType;
  readonly target: TargetDescription;
  readonly settles: boolean;
}

function product({ ir, x }: Site): Reduction {
  const { dtype } = x;
  const [all, other] = [ir.scalar(dtype, 'prod'), ir.scalar(dtype, 'other.prod')];
  return unsettled(ir, {
    op: 'prod',
    dtype,
    state: [{ name: 'prod', dtype, identity: 1 }],
    update: [{ set: [['prod', ir.op('mul', [all, x])]] }],
    neutral: 1,
    merge: [ir.op('mul', [all, other])],
    commutes: true,
    finish: [all],
  });
}

/** `any` and `all`: values count as true that are not zero. */
function logical({ ir, x }: Site, op: 'any' | 'all'): Reduction {
  const [truth, other] = [ir.scalar('bool', op), ir.scalar('bool', `other.${op}`)];
  const join = op === 'any' ? 'or' : 'and';
  const identity = op === 'any' ? 0 : 1;
  return unsettled(ir, {
    op,
    dtype: x.dtype,
    state: [{ name: op, dtype: 'bool', identity }],
    update: [{ set: [[op, ir.op(join, [truth, ir.cast(x, 'bool')])]] }],
    neutral: identity,
    merge: [ir.op(join, [truth, other])],
    commutes: true,
    finish: [ir.cast(truth, x.dtype)],
  });
}

/** The sum as an average: `welford`'s first result where a second pass finds the other. */
function mean({ ir, x, target, settles }: Site): Reduction {
  const total = sum(ir, x, target, settles);
  const size = ir.scalar(x.dtype, 'size');
  return {
    ...total,
    op: 'mean',
    finish: total.finish.map((each) => ir.op('div', [each, size])),
  };
}

const REDUCTIONS: Readonly<Record<ReduceOp, (site: Site) => Reduction>> = {
  sum: ({ ir, x, target, settles }) =>
    x.dtype === 'int64' && target.int64 === 'i32' ? sumOfWords(ir, x) : sum(ir, x, target, settles),
  prod: product,
  max: ({ ir, x, target }) => extreme(ir, 'max', x, target),
  min: ({ ir, x, target }) => extreme(ir, 'min', x, target),
  any: (site) => logical(site, 'any'),
  all: (site) => logical(site, 'all'),
  argmax: ({ ir, x, from, target }) => place(ir, 'argmax', x, from, target),
  argmin: ({ ir, x, from, target }) => place(ir, 'argmin', x, from, target),
  welford: ({ ir, x, target, settles }) => welford(ir, x, target, settles),
  online_softmax: ({ ir, x, target, settles }) => onlineSoftmax(ir, x, target, settles),
  mean,
  peak: ({ ir, x, target }) => peak(ir, x, target),
};

/** Reductions whose result may leave the range of their values. */
const GROWING: ReadonlySet<ReduceOp> = new Set<ReduceOp>(['sum', 'prod', 'mean']);

/** Type in which values are reduced. */
function heldAs(op: ReduceOp, dtype: DType): DType {
  if (dtype === 'float16' || dtype === 'bfloat16') return 'float32';
  if (GROWING.has(op) && NARROW_INTEGERS.has(dtype)) return 'int32';
  return dtype === 'bool' && (op === 'argmax' || op === 'argmin') ? 'int32' : dtype;
}

const known = new WeakMap<TargetDescription, Map<string, Reduction>>();

/** How a reduction is done on a target. Equal options give the same object. */
export function reductionOf({ op, dtype, target, settles = false }: ReductionOptions): Reduction {
  let ofTarget = known.get(target);
  if (ofTarget === undefined) known.set(target, (ofTarget = new Map()));
  const key = `${op} ${dtype} ${settles}`;
  let found = ofTarget.get(key);
  if (found === undefined) {
    const ir = new IrBuilder();
    const x = ir.cast(ir.scalar(dtype, 'x'), heldAs(op, dtype));
    const made = REDUCTIONS[op]({ ir, x, from: dtype, target, settles });
    const isPlace = op === 'argmax' || op === 'argmin';
    const finish =
      isPlace || isFloat(dtype) ? made.finish : made.finish.map((each) => ir.cast(each, dtype));
    ofTarget.set(key, (found = { ...made, dtype, finish }));
  }
  return found;
}
