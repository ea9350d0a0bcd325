/**
 * @file Intervals that contain the values of index expressions.
 *
 * The ends are sizes: that of a loop over a symbolic size is an expression of it, so that what cancels does
 * (`i < s0` holds for a variable below s0 whatever s0 is).
 */
import {
  type Size,
  sizeAdd,
  sizeFloorDiv,
  sizeKnown,
  sizeMax,
  sizeMul,
  sizeSub,
} from '@tessera/shared';
import type { Expr } from './expr.js';
import type { IndexExpr } from './index-expr.js';
import { type Bounds, product, times } from './interval.js';

/** A closed interval whose ends may be symbolic; infinite where nothing is known. */
export interface Ends {
  readonly low: Size;
  readonly high: Size;
}

const ANYTHING: Ends = { low: -Infinity, high: Infinity };

function isEndless(end: Size): boolean {
  return end === Infinity || end === -Infinity;
}

/** What a size can be. */
export function sizeBounds(size: Size): Bounds {
  if (typeof size === 'number') return { min: size, max: size };
  const { lo, hi } = size.env.rangeOf(size);
  return { min: lo, max: hi };
}

/** -1 for a size that is never positive, 1 for one that is never negative; null where that is not known. */
function signOf(size: Size): -1 | 1 | null {
  if (typeof size === 'number') return size < 0 ? -1 : 1;
  const { lo, hi } = size.env.rangeOf(size);
  return lo >= 0 ? 1 : hi <= 0 ? -1 : null;
}

function plus(a: Size, b: Size): Size {
  if (isEndless(a)) return a;
  return isEndless(b) ? b : sizeAdd(a, b);
}

/** `factor · end`, for a factor that is not negative. */
function scaledEnd(end: Size, factor: Size): Size {
  if (typeof end === 'number' && typeof factor === 'number') return times(factor, end);
  if (isEndless(end)) return end;
  return sizeMul(end, factor);
}

/** Computes bounds once per expression; `sizeOf` gives the trip count of a variable. */
export class IndexBounds {
  private readonly known = new Map<IndexExpr, Ends>();

  constructor(
    private readonly sizeOf: (name: string) => Size | undefined,
    private readonly valueOf: (value: Expr) => Bounds,
  ) {}

  /** Forgets what was computed from other trip counts. */
  forget(): void {
    this.known.clear();
  }

  /** The interval in numbers. */
  of(e: IndexExpr): Bounds {
    return this.inNumbers(this.ends(e));
  }

  /** Interval of `constant + Σ coefficient · atom`, in numbers. */
  ofSum(constant: Size, terms: ReadonlyMap<IndexExpr, Size>): Bounds {
    return this.inNumbers(this.endsOfSum(constant, terms));
  }

  private inNumbers({ low, high }: Ends): Bounds {
    return { min: sizeBounds(low).min, max: sizeBounds(high).max };
  }

  /** Whether `0 <= constant + Σ coefficient · atom < limit`, whatever the sizes. */
  isDigit(constant: Size, terms: ReadonlyMap<IndexExpr, Size>, limit: Size): boolean {
    const { low, high } = this.endsOfSum(constant, terms);
    if (typeof low === 'number' && typeof high === 'number' && typeof limit === 'number')
      return low >= 0 && high < limit;
    if (isEndless(low) || isEndless(high)) return false;
    return sizeKnown(low, '>=', 0) === true && sizeKnown(high, '<', limit) === true;
  }

  private ends(e: IndexExpr): Ends {
    let found = this.known.get(e);
    if (found === undefined) {
      found = this.compute(e);
      this.known.set(e, found);
    }
    return found;
  }

  private endsOfSum(constant: Size, terms: ReadonlyMap<IndexExpr, Size>): Ends {
    let [low, high] = [constant, constant];
    for (const [atom, coefficient] of terms) {
      const ends = this.ends(atom);
      const sign = signOf(coefficient);
      if (sign === null) return ANYTHING;
      if (sign > 0) {
        low = plus(low, scaledEnd(ends.low, coefficient));
        high = plus(high, scaledEnd(ends.high, coefficient));
      } else {
        const factor = sizeSub(0, coefficient);
        low = plus(low, negated(scaledEnd(ends.high, factor)));
        high = plus(high, negated(scaledEnd(ends.low, factor)));
      }
    }
    return { low, high };
  }

  private compute(e: IndexExpr): Ends {
    switch (e.kind) {
      case 'int':
        return { low: e.value, high: e.value };
      case 'size':
        return { low: e.size, high: e.size };
      case 'sym': {
        const size = this.sizeOf(e.name);
        if (size === undefined) return ANYTHING;
        if (typeof size === 'number') return { low: 0, high: Math.max(size - 1, 0) };
        return { low: 0, high: sizeMax(sizeSub(size, 1), 0) };
      }
      case 'add':
        return e.terms.reduce<Ends>(
          (sum, term) => {
            const { low, high } = this.ends(term);
            return { low: plus(sum.low, low), high: plus(sum.high, high) };
          },
          { low: 0, high: 0 },
        );
      case 'mul':
        return this.ofProduct(e);
      case 'div':
        return this.ofQuotient(e);
      case 'mod': {
        const den = divisorOf(e.den);
        return den === null ? ANYTHING : { low: 0, high: sizeSub(den, 1) };
      }
      case 'value': {
        const { min, max } = this.valueOf(e.value);
        return { low: min, high: max };
      }
    }
  }

  private ofProduct({ factors }: Extract<IndexExpr, { kind: 'mul' }>): Ends {
    const [first, ...rest] = factors as [IndexExpr, ...IndexExpr[]];
    const factor = divisorOf(first);
    if (factor !== null && rest.length === 1)
      return this.endsOfSum(0, new Map([[rest[0]!, factor]]));
    const { min, max } = factors.map((each) => this.of(each)).reduce(product);
    return { low: min, high: max };
  }

  private ofQuotient({ num, den }: Extract<IndexExpr, { kind: 'div' }>): Ends {
    const by = divisorOf(den);
    if (by === null) return ANYTHING;
    const { low, high } = this.ends(num);
    const end = (size: Size): Size => (isEndless(size) ? size : sizeFloorDiv(size, by));
    return { low: end(low), high: end(high) };
  }
}

function negated(end: Size): Size {
  return typeof end === 'number' ? 0 - end : sizeMul(end, -1);
}

/** A constant or symbolic size as one; null for what varies within a kernel. */
export function divisorOf(e: IndexExpr): Size | null {
  return e.kind === 'int' ? e.value : e.kind === 'size' ? e.size : null;
}
