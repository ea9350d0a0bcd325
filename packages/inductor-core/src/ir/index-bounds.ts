/**
 * @file Intervals that contain the values of index expressions.
 */
import type { Expr } from './expr.js';
import type { IndexExpr } from './index-expr.js';
import { type Bounds, UNKNOWN, product, times } from './interval.js';

/** Computes bounds once per expression; `sizeOf` gives the trip count of a symbol. */
export class IndexBounds {
  private readonly known = new Map<IndexExpr, Bounds>();

  constructor(
    private readonly sizeOf: (name: string) => number | undefined,
    private readonly valueOf: (value: Expr) => Bounds,
  ) {}

  of(e: IndexExpr): Bounds {
    let found = this.known.get(e);
    if (found === undefined) {
      found = this.compute(e);
      this.known.set(e, found);
    }
    return found;
  }

  /** Interval of `constant + Σ coefficient · atom`. */
  ofSum(constant: number, terms: ReadonlyMap<IndexExpr, number>): Bounds {
    let min = constant;
    let max = constant;
    for (const [atom, coefficient] of terms) {
      const b = this.of(atom);
      min += times(coefficient, coefficient > 0 ? b.min : b.max);
      max += times(coefficient, coefficient > 0 ? b.max : b.min);
    }
    return { min, max };
  }

  private compute(e: IndexExpr): Bounds {
    switch (e.kind) {
      case 'int':
        return { min: e.value, max: e.value };
      case 'sym': {
        const size = this.sizeOf(e.name);
        return size === undefined ? UNKNOWN : { min: 0, max: Math.max(size - 1, 0) };
      }
      case 'add': {
        const parts = e.terms.map((term) => this.of(term));
        return {
          min: parts.reduce((sum, part) => sum + part.min, 0),
          max: parts.reduce((sum, part) => sum + part.max, 0),
        };
      }
      case 'mul':
        return e.factors.map((factor) => this.of(factor)).reduce(product);
      case 'div': {
        if (e.den.kind !== 'int') return UNKNOWN;
        const b = this.of(e.num);
        return { min: Math.floor(b.min / e.den.value), max: Math.floor(b.max / e.den.value) };
      }
      case 'mod':
        return e.den.kind === 'int' ? { min: 0, max: e.den.value - 1 } : UNKNOWN;
      case 'value':
        return this.valueOf(e.value);
    }
  }
}
