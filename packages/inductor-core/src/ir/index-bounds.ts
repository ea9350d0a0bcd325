/**
 * @file Bounds of index expressions.
 *
 * Those of a symbolic size, or of a loop over one, are expressions of it, so that what cancels does (`i < s0` holds for a
 * variable below s0 whatever s0 is). Numbers have the interval arithmetic of `symint`.
 */
import {
  ANY_INTEGER,
  type Size,
  type ValueRange,
  addRanges,
  exactly,
  floorDivRanges,
  modRanges,
  multiplyRanges,
  scaleRange,
  sizeAdd,
  sizeFloorDiv,
  sizeKnown,
  sizeMax,
  sizeMul,
  sizeSub,
} from '@tessera/shared';
import type { Expr } from './expr.js';
import type { IndexExpr } from './index-expr.js';
import type { LinearForm } from './linear-form.js';

/** A closed interval whose ends may be symbolic; infinite where nothing is known. */
export interface SizeRange {
  readonly lo: Size;
  readonly hi: Size;
}

function isNumeric(range: SizeRange): range is ValueRange {
  return typeof range.lo === 'number' && typeof range.hi === 'number';
}

function isEndless(end: Size): boolean {
  return end === Infinity || end === -Infinity;
}

/** What a size can be. */
export function rangeOfSize(size: Size): ValueRange {
  return typeof size === 'number' ? exactly(size) : size.env.rangeOf(size);
}

function inNumbers({ lo, hi }: SizeRange): ValueRange {
  return { lo: rangeOfSize(lo).lo, hi: rangeOfSize(hi).hi };
}

/** `end + factor · other`. */
function addEnd(end: Size, other: Size, factor: Size): Size {
  if (factor === 0 || isEndless(end)) return end;
  if (isEndless(other)) return rangeOfSize(factor).lo < 0 ? -other : other;
  return sizeAdd(end, sizeMul(other, factor));
}

/** `sum + factor · range`. */
function addScaled(sum: SizeRange, range: SizeRange, factor: Size): SizeRange {
  if (isNumeric(sum) && isNumeric(range) && typeof factor === 'number')
    return addRanges(sum, scaleRange(range, factor));
  const { lo, hi } = rangeOfSize(factor);
  if (lo < 0 && hi > 0) return ANY_INTEGER;
  const [least, most] = lo >= 0 ? [range.lo, range.hi] : [range.hi, range.lo];
  return { lo: addEnd(sum.lo, least, factor), hi: addEnd(sum.hi, most, factor) };
}

/** Computes bounds once per expression. */
export class IndexBounds {
  private readonly known = new Map<IndexExpr, SizeRange>();

  /** `sizeOf` gives the trip count of a variable. */
  constructor(
    private readonly sizeOf: (name: string) => Size | undefined,
    private readonly valueOf: (value: Expr) => ValueRange,
  ) {}

  /** Forgets what was computed from other trip counts. */
  forget(): void {
    this.known.clear();
  }

  /** The interval in numbers. */
  of(e: IndexExpr): ValueRange {
    return inNumbers(this.find(e));
  }

  /** Interval of a form, in numbers. */
  ofSum(form: LinearForm): ValueRange {
    return inNumbers(this.sum(form));
  }

  /** Whether a form is in [0, limit), whatever the sizes. */
  isDigit(form: LinearForm, limit: Size): boolean {
    const { lo, hi } = this.sum(form);
    if (typeof lo === 'number' && typeof hi === 'number' && typeof limit === 'number')
      return lo >= 0 && hi < limit;
    if (isEndless(lo) || isEndless(hi)) return false;
    return sizeKnown(lo, '>=', 0) === true && sizeKnown(hi, '<', limit) === true;
  }

  private find(e: IndexExpr): SizeRange {
    let found = this.known.get(e);
    if (found === undefined) this.known.set(e, (found = this.compute(e)));
    return found;
  }

  private sum({ constant, terms }: LinearForm): SizeRange {
    let sum: SizeRange = { lo: constant, hi: constant };
    for (const [part, coefficient] of terms) sum = addScaled(sum, this.find(part), coefficient);
    return sum;
  }

  private compute(e: IndexExpr): SizeRange {
    switch (e.kind) {
      case 'int':
        return exactly(e.value);
      case 'size':
        return { lo: e.size, hi: e.size };
      case 'sym': {
        const size = this.sizeOf(e.name);
        return size === undefined ? ANY_INTEGER : { lo: 0, hi: sizeMax(sizeSub(size, 1), 0) };
      }
      case 'add':
        return this.sum({ constant: 0, terms: new Map(e.terms.map((term) => [term, 1])) });
      case 'mul': {
        const [first, second, ...rest] = e.factors;
        const factor = divisorOf(first);
        if (factor !== null && rest.length === 0)
          return this.sum({ constant: 0, terms: new Map([[second, factor]]) });
        return e.factors.map((each) => this.of(each)).reduce(multiplyRanges);
      }
      case 'div':
      case 'mod': {
        const by = divisorOf(e.den);
        return by === null ? ANY_INTEGER : dividedBySize(e.kind, this.find(e.num), by);
      }
      case 'value':
        return this.valueOf(e.value);
    }
  }
}

/** Range of a quotient or remainder by a positive number. */
export function divided(kind: 'div' | 'mod', num: ValueRange, by: number): ValueRange {
  return (kind === 'div' ? floorDivRanges : modRanges)(num, exactly(by));
}

function dividedBySize(kind: 'div' | 'mod', num: SizeRange, by: Size): SizeRange {
  if (isNumeric(num) && typeof by === 'number') return divided(kind, num, by);
  if (kind === 'mod') return { lo: 0, hi: sizeSub(by, 1) };
  const end = (size: Size): Size => (isEndless(size) ? size : sizeFloorDiv(size, by));
  return { lo: end(num.lo), hi: end(num.hi) };
}

/** A constant or symbolic size as one; null for what varies within a kernel. */
export function divisorOf(e: IndexExpr): Size | null {
  return e.kind === 'int' ? e.value : e.kind === 'size' ? e.size : null;
}
