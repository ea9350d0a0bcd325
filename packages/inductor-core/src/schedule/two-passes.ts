/**
 * @file `inTwoPasses`: Welford and online softmax as two plain reductions each.
 *
 * Where reading a value again costs little, because its row is in the cache or in registers, the mean (the maximum)
 * first and then the squared deviations (the exponentials) from it is less arithmetic for each value than the one-pass
 * recurrence, and more exact; and the exponentials are just what a softmax stores afterwards, so they can be kept.
 */
import type { Size } from '@tessera/shared';
import type { Expr, Stmt } from '../ir/expr.js';
import type { LoopKernel, Stage } from '../ir/kernel.js';
import { postorder, stmtRoots } from '../ir/walk.js';

/** A reduce statement. */
export type ReduceStmt = Extract<Stmt, { kind: 'reduce' }>;

/** The kernel with the chosen reductions in two passes; the same object if there are none. */
export function inTwoPasses<S extends Size>(
  kernel: LoopKernel<S>,
  isChosen: (stmt: ReduceStmt) => boolean,
): LoopKernel<S> {
  const splits = (stmt: Stmt): stmt is ReduceStmt =>
    stmt.kind === 'reduce' &&
    (stmt.op === 'welford' || stmt.op === 'online_softmax') &&
    isChosen(stmt);
  if (!kernel.stages.some(({ body }) => body.some(splits))) return kernel;
  const known = postorder(kernel.stages.flatMap(({ body }) => body).flatMap(stmtRoots));
  const stages = kernel.stages.flatMap((stage): Stage[] => {
    const split = stage.body.filter(splits);
    if (split.length === 0) return [stage];
    const first = stage.body.map((stmt): Stmt => (splits(stmt) ? centre(stmt) : stmt));
    // Running results are known in their own stage alone, so values that read them need them again.
    const running = stage.body.filter((stmt) => stmt.kind === 'reduce' && stmt.running === true);
    const second = split.map((stmt) => distances(stmt, known));
    return [
      { ...stage, body: first },
      { ...stage, body: [...running, ...second] },
    ];
  });
  return { ...kernel, stages };
}

function centre(stmt: ReduceStmt): ReduceStmt {
  return { ...stmt, op: stmt.op === 'welford' ? 'mean' : 'peak', ids: [stmt.ids[0]!] };
}

function distances(stmt: ReduceStmt, known: readonly Expr[]): ReduceStmt {
  const { op, ids, value } = stmt;
  const { dtype } = value;
  const [id, second] = ids;
  const found = known.find((expr) => op === 'online_softmax' && isShifted(expr, value, id));
  const made = (): Expr => {
    const difference: Expr = {
      kind: 'op',
      op: 'sub',
      dtype,
      args: [value, { kind: 'acc', dtype, id }],
    };
    return { kind: 'op', op: op === 'welford' ? 'square' : 'exp', dtype, args: [difference] };
  };
  return { ...stmt, op: 'sum', ids: [second], value: found ?? made() };
}

/** Whether an expression is `exp(value - acc id)`. */
function isShifted(expr: Expr, value: Expr, id: number): boolean {
  if (expr.kind !== 'op' || expr.op !== 'exp') return false;
  const [difference] = expr.args;
  if (difference?.kind !== 'op' || difference.op !== 'sub' || difference.args[0] !== value)
    return false;
  const subtrahend = difference.args[1];
  return subtrahend?.kind === 'acc' && subtrahend.id === id;
}

/** Expressions exp(x - the greatest x), whose argument is never above zero. */
export function decayingExponentials(kernel: LoopKernel<Size>): ReadonlySet<Expr> {
  const body = kernel.stages.flatMap((stage) => stage.body);
  const greatest = body.filter(
    (stmt): stmt is ReduceStmt =>
      stmt.kind === 'reduce' &&
      stmt.running !== true &&
      (stmt.op === 'max' || stmt.op === 'peak' || stmt.op === 'online_softmax'),
  );
  if (greatest.length === 0) return new Set();
  const isDecaying = (expr: Expr): boolean =>
    greatest.some(({ value, ids }) => isShifted(expr, value, ids[0]!));
  return new Set(postorder(body.flatMap(stmtRoots)).filter(isDecaying));
}
