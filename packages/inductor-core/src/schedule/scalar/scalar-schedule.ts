/**
 * @file What schedules of a machine that does one thing after another are made of: loops and accumulators.
 */
import { type Size, sizeProduct } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { IrBuilder } from '../../ir/build.js';
import type { Expr, ReduceOp, Stmt } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { type GeneratedKernel, kernelLoops } from '../../ir/kernel-parts.js';
import { isFloat } from '../../ir/scalar-eval.js';
import type { Accumulator, ScratchArray } from '../kernel/scheduled-kernel.js';
import { mustSettle, SETTLE_EVERY } from '../reduction.js';
import { reductionOf } from '../reductions.js';
import type {
  AccumulatorStmt,
  ScalarBody,
  ScalarKernel,
  ScalarLoop,
  ScalarStmt,
  ScalarTarget,
} from './scalar-kernel.js';

/** A store. */
export type StoreStmt = Extract<Stmt, { kind: 'store' }>;

/** What is reduced. */
export interface Reduced {
  readonly op: ReduceOp;
  readonly ids: readonly number[];
  /** Type of the results. */
  readonly dtype: DType;
  readonly value: Expr;
  readonly running?: true;
}

/** The statements of one reduction: before its loops, at each point, and after. */
export interface ReductionStmts {
  readonly before: ScalarBody;
  readonly inside: ScalarBody;
  readonly after: ScalarBody;
}

/** Reductions whose results rounding shows in. */
const ROUNDING: ReadonlySet<ReduceOp> = new Set<ReduceOp>([
  'sum',
  'prod',
  'mean',
  'welford',
  'online_softmax',
]);

/** The stores of a body that has nothing else. */
export function storesOf(body: readonly Stmt[]): readonly StoreStmt[] {
  return body as readonly StoreStmt[];
}

/** One schedule in the making. */
export class ScalarSchedule {
  readonly ir: IrBuilder = new IrBuilder();
  private readonly accumulators: Accumulator[] = [];

  constructor(
    private readonly kernel: GeneratedKernel<Size>,
    private readonly target: ScalarTarget,
  ) {
    for (const { name, size } of kernelLoops(kernel)) this.ir.sym(name, size);
  }

  /** The widest float of the target for floats, other types as they are. */
  wide(dtype: DType): DType {
    if (!isFloat(dtype) || dtype === 'float64') return dtype;
    return this.target.widestFloat;
  }

  /** A value in the widest float. */
  widened(value: Expr): Expr {
    return this.ir.cast(value, this.wide(value.dtype));
  }

  /** A body inside loops, the first of which is the outermost. */
  nest(loops: readonly SizedLoop[], body: ScalarBody): ScalarBody {
    return loops.reduceRight<ScalarBody>(
      (inner, loop) => [this.loop(loop, [this.ir.size(loop.size)], inner)],
      body,
    );
  }

  /** One loop, from `begin` (0) to below all `ends`. */
  loop(
    { name }: SizedLoop,
    ends: readonly IndexExpr[],
    body: ScalarBody,
    begin: IndexExpr = this.ir.int(0),
  ): ScalarLoop {
    return { kind: 'loop', name, begin, ends, pace: 1, body };
  }

  /** The place of a point in loops that are taken as one. */
  place(loops: readonly SizedLoop[]): IndexExpr {
    const { ir } = this;
    return loops.reduce<IndexExpr>(
      (at, { name, size }) => ir.add(ir.scale(at, size), ir.sym(name, size)),
      ir.int(0),
    );
  }

  /** Declares an accumulator for what is reduced over loops. Floats lose nothing in it that a wider float keeps. */
  reduce(reduced: Reduced, loops: readonly SizedLoop[]): ReductionStmts {
    const { op, ids, dtype, running } = reduced;
    const value = ROUNDING.has(op) ? this.widened(reduced.value) : reduced.value;
    const count = sizeProduct(loops.map(({ size }) => size));
    const settles = running !== true && (typeof count !== 'number' || mustSettle(count));
    const reduction = reductionOf({ op, dtype: value.dtype, target: this.target, settles });
    const name = `${op}${ids[0]}`;
    this.accumulators.push({ name, reduction, ids, dtype, ...(running && { running }) });
    const at = this.place(loops);
    const inside: ScalarStmt[] = [{ kind: 'update', of: name, value, at }];
    if (reduction.settling?.every !== undefined)
      inside.push({
        kind: 'when',
        all: [{ kind: 'first', index: this.ir.mod(at, SETTLE_EVERY) }],
        body: [{ kind: 'settle', of: [name] }],
      });
    const all = (kind: AccumulatorStmt['kind']): ScalarStmt => ({ kind, of: [name] });
    return {
      before: [all('start')],
      inside,
      after: running === true ? [] : [all('part'), all('finish')],
    };
  }

  /** What happens during some loops (`around`), with the beginning and the end of the reductions over them. */
  during(
    reductions: readonly ReductionStmts[],
    around: (inside: ScalarBody) => ScalarBody,
  ): ScalarBody {
    return [
      ...reductions.flatMap(({ before }) => before),
      ...around(reductions.flatMap(({ inside }) => inside)),
      ...reductions.flatMap(({ after }) => after),
    ];
  }

  /** The sum of a·b over loops, as result `id`. */
  sumOfProducts(
    { id, a, b, dtype }: { id: number; a: Expr; b: Expr; dtype: DType },
    loops: readonly SizedLoop[],
  ): ReductionStmts {
    const [left, right] = [a, b].map((each) => this.ir.cast(each, this.wide(dtype)));
    const value = this.ir.op('mul', [left, right]);
    return this.reduce({ op: 'sum', ids: [id], dtype, value }, loops);
  }

  /** The whole: the outermost of the parallel loops is the grid. */
  done(
    [outermost, ...parallel]: readonly SizedLoop[],
    body: ScalarBody,
    scratch: readonly ScratchArray[] = [],
  ): ScalarKernel {
    return {
      kernel: this.kernel,
      grid:
        outermost === undefined
          ? { name: 'once', extent: 1 }
          : { name: outermost.name, extent: outermost.size },
      shared: [],
      ...(scratch.length > 0 && { scratch }),
      accumulators: this.accumulators,
      body: this.nest(parallel, body),
    };
  }
}
