/**
 * @file `online_softmax` as two reductions, for kernels that keep a row in registers.
 *
 * The online form reads its values once but computes two exponentials for each. Values that are in
 * registers cost nothing to read again: first the maximum, then the sum of exp(x - m), whose terms are
 * just what a softmax stores afterwards and so are computed once.
 */
import {
  postorder,
  stmtRoots,
  type Expr,
  type LoopKernel,
  type Stage,
  type Stmt,
} from '@tessera/inductor-core';

type Reduce = Extract<Stmt, { kind: 'reduce' }>;

/** The kernel without `online_softmax`; the same object when it has none. */
export function splitOnlineSoftmax(kernel: LoopKernel): LoopKernel {
  const isOnline = (stmt: Stmt): stmt is Reduce =>
    stmt.kind === 'reduce' && stmt.op === 'online_softmax';
  if (!kernel.stages.some((stage) => stage.body.some(isOnline))) return kernel;
  const known = postorder(kernel.stages.flatMap((stage) => stage.body).flatMap(stmtRoots));
  const stages = kernel.stages.flatMap((stage): Stage[] => {
    const online = stage.body.filter(isOnline);
    if (online.length === 0) return [stage];
    const first = stage.body.map((stmt): Stmt =>
      isOnline(stmt) ? { ...stmt, op: 'max', ids: [stmt.ids[0]] } : stmt,
    );
    const second = online.map((stmt): Stmt => ({
      ...stmt,
      op: 'sum',
      ids: [stmt.ids[1]],
      value: exponential(known, stmt.value, stmt.ids[0]),
    }));
    return [
      { kind: 'inner', body: first },
      { kind: 'inner', body: second },
    ];
  });
  return { ...kernel, stages };
}

/** `exp(value - acc id)`: the kernel's own expression if it has one. */
function exponential(known: readonly Expr[], value: Expr, id: number): Expr {
  const isDifference = (expr: Expr): boolean =>
    expr.kind === 'op' &&
    expr.op === 'sub' &&
    expr.args[0] === value &&
    expr.args[1].kind === 'acc' &&
    expr.args[1].id === id;
  const found = known.find(
    (expr) => expr.kind === 'op' && expr.op === 'exp' && isDifference(expr.args[0]),
  );
  if (found !== undefined) return found;
  const { dtype } = value;
  const difference: Expr = {
    kind: 'op',
    op: 'sub',
    dtype,
    args: [value, { kind: 'acc', dtype, id }],
  };
  return { kind: 'op', op: 'exp', dtype, args: [difference] };
}
