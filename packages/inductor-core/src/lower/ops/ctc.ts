/**
 * @file The forward variables of CTC, and their gradients, as recurrence kernels.
 *
 * What a state gets from the one or two before it is a product with a matrix that has a one in each row: sums of one
 * number and zeros are that number.
 */
import type { DType } from '@tessera/tensor';
import { NEVER } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { readyOperand } from '../ready-operand.js';
import { accumulateDtype } from '../reduce.js';
import { type Shape, fixed } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Steps over states, in which a number of each goes to the next step. */
interface Walk {
  readonly acc: DType;
  readonly m: ExprMath;
  readonly row: IndexExpr;
  readonly unit: IndexExpr;
  readonly time: IndexExpr;
  /** The number of the present step, and the products. */
  readonly carried: Expr;
  readonly product: (p: number) => Expr;
  /** A value of […, T, N, S] at the present point. */
  readonly at: (x: LoweredTensor, ...before: IndexExpr[]) => Expr;
  /** A weight: one for the unit `by` places after. */
  readonly from: (by: number) => Expr;
  /** Adds the kernel; its result is `value` of all points. */
  readonly run: (parts: {
    readonly initial: Expr;
    readonly next: Expr;
    readonly vectors: readonly Expr[];
    readonly products: readonly (readonly { readonly vector: number; readonly weight: Expr }[])[];
    readonly value: Expr;
  }) => readonly [LoweredTensor];
}

/** A walk over [T, N, S]; null where the device has no kernel for it. */
function walk(l: Lowering, shape: Shape, dtype: DType, backward: boolean): Walk | null {
  if (l.capabilities.recurrences === undefined || shape.includes(0)) return null;
  const [steps, rows, last] = shape;
  const states = fixed(last);
  const { ir } = l;
  const m = new ExprMath(ir);
  const acc = accumulateDtype(dtype);
  const [row, step] = [l.freshVar('r', rows), l.freshVar('s', steps)];
  const [unit, other] = [l.freshVar('u', states), l.freshVar('v', states)];
  const end = ir.sub(ir.size(steps), ir.int(1));
  const time = backward ? ir.sub(end, step.index) : step.index;
  return {
    ...{ acc, m, time, row: row.index, unit: unit.index, carried: ir.acc(acc, 0) },
    product: (p) => ir.acc(acc, 1 + p),
    at: (x, ...before) => ir.cast(x.load([...before, time, row.index, unit.index]), acc),
    from: (by) => {
      const place = ir.index('int32', ir.add(unit.index, ir.int(by)));
      return m.where(m.eq(ir.index('int32', other.index), place), m.term(1, acc), 0);
    },
    run: ({ initial, next, vectors, products, value }) => {
      const out = l.newBuffer(dtype, shape, null);
      l.addRecurrence({
        ...{ batch: row.vars, step: step.vars, n: unit.vars, k: other.vars, accDtype: acc },
        ...{ states: [{ initial, next }], vectors, products, last: [] },
        results: [{ out, coords: [time, row.index, unit.index], value }],
      });
      return [l.fromBuffer(out)];
    },
  };
}

/** Arguments: log_probs, reach. */
const forward: LoweringOf<'tessera::ctc_alphas'> = (l, [logProbs, reach], call) => {
  const w = walk(l, call.shape, call.dtype, false);
  if (w === null) return null;
  const [given, back] = [readyOperand(l, logProbs), readyOperand(l, reach)];
  const { m, acc } = w;
  const never = m.term(NEVER, acc);
  const howFar = back.load([w.row, w.unit]);
  const others = [0, 1].map((p) => m.where(m.gt(howFar, p), w.product(p), never));
  const all = [w.carried, ...others];
  const most = all.reduce((a, b) => m.max(a, b));
  const sum = all.map((x) => m.exp(m.sub(x, most))).reduce((a, b) => m.add(a, b));
  const next = m.add(m.add(most, m.log(sum)), w.at(given));
  return w.run({
    initial: m.where(m.eq(l.ir.index('int32', w.unit), 0), m.term(0, acc), never),
    next,
    vectors: [w.carried],
    products: [-1, -2].map((by) => [{ vector: 0, weight: w.from(by) }]),
    value: next,
  });
};

/** Arguments: grad_output, shares. What is carried is the gradient that comes from the step after. */
const backward: LoweringOf<'tessera::ctc_alphas_backward'> = (l, [grad, shares], call) => {
  const w = walk(l, call.shape, call.dtype, true);
  if (w === null) return null;
  const [given, parts] = [readyOperand(l, grad), readyOperand(l, shares)];
  const { m } = w;
  const own = m.add(w.carried, w.at(given));
  const share = (back: number): Expr => m.mul(own, w.at(parts, l.ir.int(back)));
  return w.run({
    initial: m.term(0, w.acc),
    next: m.add(share(0), w.product(0)),
    vectors: [share(1), share(2)],
    products: [[1, 2].map((by) => ({ vector: by - 1, weight: w.from(by) }))],
    value: own,
  });
};

/** Lowerings by overload name. */
export const ctcLowerings: LoweringTable = lowerings({
  'tessera::ctc_alphas': forward,
  'tessera::ctc_alphas_backward': backward,
});
