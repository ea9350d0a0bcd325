/**
 * @file `LaneContext`: which loop variables differ between the four lanes of a vector, and what that
 * means for each expression and index of a kernel.
 *
 * Either one variable is spread over the lanes (`lane`: value, +1, +2, +3 from a multiple of four), or
 * some variables have an arbitrary value on each lane (`scattered`), or values are single (width 1).
 */
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { indexOf, postorder } from '../../ir/walk.js';
import { laneAccess, type LaneAccess } from './lane-access.js';

/** What differs between lanes. */
export interface LaneSpec {
  readonly lane?: string;
  /** Distance between the lanes' values of that variable; 1 if absent. */
  readonly step?: number;
  readonly scattered?: ReadonlySet<string>;
  /** Whether results of reductions (or a matmul's product) are vectors. */
  readonly vectorAccs?: boolean;
  /** Known divisors (2 or 4) of loop variables. */
  readonly alignments?: ReadonlyMap<string, number>;
}

/** See the file header. */
export class LaneContext {
  readonly width: 1 | 4;
  private readonly varying = new Set<Expr>();
  private readonly scattered: ReadonlySet<string>;
  private readonly lane: string;

  constructor(
    private readonly spec: LaneSpec,
    roots: readonly Expr[],
  ) {
    this.lane = spec.lane ?? '';
    this.scattered = spec.scattered ?? new Set();
    this.width =
      spec.lane !== undefined || this.scattered.size > 0 || spec.vectorAccs === true ? 4 : 1;
    if (this.width === 4) this.extend(roots);
  }

  /** Adds expressions that were not among the roots. */
  extend(roots: readonly Expr[]): void {
    for (const expr of postorder(roots)) if (this.computeVaries(expr)) this.varying.add(expr);
  }

  /** Whether a value may differ between lanes. */
  varies(expr: Expr): boolean {
    return this.varying.has(expr);
  }

  /** Movement of an index over the lanes. */
  access(index: IndexExpr): LaneAccess {
    if (this.width === 1) return { stride: 0, alignment: 1 };
    return laneAccess(index, {
      lane: this.lane,
      step: this.spec.step ?? 1,
      scattered: this.scattered,
      alignments: this.spec.alignments ?? NO_ALIGNMENTS,
      isUniform: (value) => !this.varying.has(value),
    });
  }

  private computeVaries(expr: Expr): boolean {
    if (expr.kind === 'acc') return this.spec.vectorAccs === true;
    const index = indexOf(expr);
    if (index !== null && this.access(index).stride !== 0) return true;
    if (expr.kind === 'op') return expr.args.some((arg) => this.varying.has(arg));
    if (expr.kind === 'check')
      return [expr.subject, expr.ok, expr.value].some((part) => this.varying.has(part));
    if (expr.kind === 'masked') return this.varying.has(expr.mask) || this.varying.has(expr.body);
    if (expr.kind === 'random') return this.varying.has(expr.seed) || this.varying.has(expr.offset);
    return false;
  }
}

const NO_ALIGNMENTS: ReadonlyMap<string, number> = new Map();
