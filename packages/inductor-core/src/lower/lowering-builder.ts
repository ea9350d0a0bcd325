/**
 * @file `LoweringBuilder`: the builder of a lowering, which keeps the coordinates of loads whose index it changes.
 */
import { type ConditionRule, IrBuilder } from '../ir/build.js';
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import type { Lowering } from './lowering.js';

const NO_SYMBOLS: ReadonlyMap<string, IndexExpr> = new Map();

/** See the file header. */
export class LoweringBuilder extends IrBuilder {
  constructor(private readonly lowering: Lowering) {
    super();
  }

  protected override get keepsRoundings(): boolean {
    return this.lowering.emulatesPrecisionCasts;
  }

  protected override withChecks(body: Expr, check: ConditionRule): Expr {
    return this.lowering.substitute(body, NO_SYMBOLS, new Map(), check);
  }
}
