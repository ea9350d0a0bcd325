/**
 * @file Passes: the sweeps over the inner loops that a kernel's stages turn into.
 *
 * A stage is one pass, but Welford and online softmax over a row that fits the cache become two: the
 * mean (maximum) first, then the squared deviations (exponentials) with it. That is less arithmetic per
 * element than their one-pass recurrences, more exact, and the exponentials of the second pass can be
 * kept for the store that follows (see `row-cache.ts`).
 */
import {
  postorder,
  stmtRoots,
  type Expr,
  type LoopKernel,
  type Stmt,
} from '@tessera/inductor-core';
import type { BodyEmitter } from '../body/body-emitter.js';
import { convert } from '../body/convert.js';
import { kindOf } from '../body/element-kind.js';
import type { Value } from '../body/value.js';
import { emitExpNonPositive } from '../math/exponential.js';
import { ArgmaxReducer } from './argmax-reducer.js';
import { ExtremeReducer } from './extreme-reducer.js';
import { OnlineSoftmaxReducer } from './online-softmax-reducer.js';
import { SimpleReducer, type Reducer, type ReducerContext, type ReduceStmt } from './reducer.js';
import { WelfordReducer } from './welford-reducer.js';

/** One reduction of a pass. */
export interface PassReduction {
  readonly reducer: (context: ReducerContext) => Reducer;
  /** What is reduced, for one vector iteration. */
  readonly value: (body: BodyEmitter) => Value;
  /** Makes the results known. */
  readonly bind: (body: BodyEmitter, results: readonly Value[]) => void;
}

/** See the file header. */
export interface Pass {
  readonly kind: 'outer' | 'inner';
  readonly stores: readonly Extract<Stmt, { kind: 'store' }>[];
  /** Running reductions, which what follows them in the pass may use. */
  readonly scans: readonly ReduceStmt[];
  readonly reductions: readonly PassReduction[];
  /** Every expression evaluated in the pass. */
  readonly roots: readonly Expr[];
}

/** The passes of a kernel; `split` allows two for Welford and online softmax. `count` is the inner trip count. */
export function passesOf(kernel: LoopKernel, split: boolean, count: number): readonly Pass[] {
  return kernel.stages.flatMap((stage): Pass[] => {
    const stores = stage.body.filter((stmt) => stmt.kind === 'store');
    const all = stage.body.filter((stmt) => stmt.kind === 'reduce');
    const reduces = all.filter((stmt) => stmt.running !== true);
    const scans = all.filter((stmt) => stmt.running === true);
    const roots = stage.body.flatMap(stmtRoots);
    const parts = reduces.map((stmt) => reductionsOf(kernel, stmt, split, count));
    const first: Pass = {
      kind: stage.kind,
      stores,
      scans,
      reductions: parts.map((part) => part.first),
      roots,
    };
    const seconds = parts.flatMap((part) => (part.second === undefined ? [] : [part.second]));
    if (seconds.length === 0) return [first];
    return [
      first,
      {
        kind: stage.kind,
        stores: [],
        scans,
        reductions: seconds,
        roots: [...scans.map(({ value }) => value), ...parts.flatMap((part) => part.secondRoots)],
      },
    ];
  });
}

interface Parts {
  readonly first: PassReduction;
  readonly second?: PassReduction;
  readonly secondRoots: readonly Expr[];
}

function reductionsOf(kernel: LoopKernel, stmt: ReduceStmt, split: boolean, count: number): Parts {
  const bindAll = (body: BodyEmitter, results: readonly Value[]): void =>
    results.forEach((result, i) => body.scope.bindAcc(stmt.ids[i] as number, result));
  const bindOne =
    (i: number) =>
    (body: BodyEmitter, results: readonly Value[]): void =>
      body.scope.bindAcc(stmt.ids[i] as number, results[0] as Value);
  const value = (body: BodyEmitter): Value => body.value(stmt.value);
  const sum = (context: ReducerContext): Reducer =>
    new SimpleReducer({ ...stmt, op: 'sum' }, context);
  // If there is NaN in the row, the sum of exponentials says so.
  const maximum = (context: ReducerContext): Reducer =>
    new ExtremeReducer({ ...stmt, op: 'max' }, context, true);
  const isWide = kindOf(stmt.dtype) === 'f64';
  if (stmt.op === 'welford' && split) {
    const arithmetic = isWide ? 'f64x2' : 'f32x4';
    const average = (body: BodyEmitter, [sum]: readonly Value[]): void => {
      const size = isWide ? body.vb.f64(count) : body.vb.f32(count);
      bindAll(body, [
        { ...(sum as Value), regs: body.vb.bin(`${arithmetic}.div`, (sum as Value).regs, size) },
      ]);
    };
    const squares = (body: BodyEmitter): Value => {
      const x = convert(body.vb, value(body), kindOf(stmt.dtype));
      const mean = body.scope.acc(stmt.ids[0] as number);
      const delta = body.vb.bin(`${arithmetic}.sub`, x.regs, mean.regs);
      return {
        kind: x.kind,
        uniform: x.uniform && mean.uniform,
        regs: body.vb.bin(`${arithmetic}.mul`, delta, delta),
      };
    };
    return {
      first: { reducer: sum, value, bind: average },
      second: { reducer: sum, value: squares, bind: bindOne(1) },
      secondRoots: [stmt.value],
    };
  }
  if (stmt.op === 'online_softmax' && (split || isWide)) {
    const exponential = findExponential(kernel, stmt);
    const exps = (body: BodyEmitter): Value =>
      exponential === undefined ? shiftedExp(body, stmt) : body.value(exponential);
    const root = exponential ?? stmt.value;
    return {
      first: { reducer: maximum, value, bind: bindOne(0) },
      second: { reducer: sum, value: exps, bind: bindOne(1) },
      secondRoots: [root],
    };
  }
  return {
    first: { reducer: (context) => makeReducer(stmt, context), value, bind: bindAll },
    secondRoots: [],
  };
}

function makeReducer(stmt: ReduceStmt, context: ReducerContext): Reducer {
  switch (stmt.op) {
    case 'argmax':
    case 'argmin':
      return new ArgmaxReducer(stmt, context);
    case 'welford':
      return new WelfordReducer(stmt, context);
    case 'online_softmax':
      return new OnlineSoftmaxReducer(stmt, context);
    default: {
      const isFloat = kindOf(stmt.dtype) === 'f32' || kindOf(stmt.dtype) === 'f64';
      return isFloat && (stmt.op === 'max' || stmt.op === 'min')
        ? new ExtremeReducer(stmt, context)
        : new SimpleReducer(stmt, context);
    }
  }
}

/** Whether an expression is exp(value - result 0 of the reduction). */
function isExponential(expr: Expr, stmt: ReduceStmt): boolean {
  if (expr.kind !== 'op' || expr.op !== 'exp') return false;
  const [difference] = expr.args;
  if (difference?.kind !== 'op' || difference.op !== 'sub' || difference.args[0] !== stmt.value)
    return false;
  const subtrahend = difference.args[1];
  return subtrahend?.kind === 'acc' && subtrahend.id === stmt.ids[0];
}

/** The kernel's own exp(value - maximum), which later stages use. */
function findExponential(kernel: LoopKernel, stmt: ReduceStmt): Expr | undefined {
  return postorder(kernel.stages.flatMap((stage) => stage.body.flatMap(stmtRoots))).find((expr) =>
    isExponential(expr, stmt),
  );
}

/** exp(value - maximum) where the kernel has no such expression. */
function shiftedExp(body: BodyEmitter, stmt: ReduceStmt): Value {
  const x = body.value(stmt.value);
  const max = body.scope.acc(stmt.ids[0] as number);
  const { vb } = body;
  const uniform = x.uniform && max.uniform;
  if (x.kind === 'f32')
    return { kind: 'f32', uniform, regs: emitExpNonPositive(vb, vb.sub(x.regs, max.regs)) };
  const regs = vb.bin('f64x2.sub', x.regs, max.regs);
  return body.apply('exp', stmt.dtype, [{ kind: 'f64', uniform, regs }]);
}

/**
 * Expressions exp(x - max of x): their argument is never positive, so the cheaper form of exp does.
 */
export function nonPositiveExponentials(kernel: LoopKernel): ReadonlySet<Expr> {
  const found = new Set<Expr>();
  const maxima = kernel.stages
    .flatMap((stage) => stage.body)
    .filter(
      (stmt) =>
        stmt.kind === 'reduce' &&
        stmt.running !== true &&
        (stmt.op === 'max' || stmt.op === 'online_softmax') &&
        kindOf(stmt.dtype) === 'f32',
    );
  if (maxima.length === 0) return found;
  for (const expr of postorder(kernel.stages.flatMap((stage) => stage.body.flatMap(stmtRoots)))) {
    if (maxima.some((stmt) => isExponential(expr, stmt as ReduceStmt))) found.add(expr);
  }
  return found;
}
