/**
 * @file `IndexBuilder`: the one algebra of indices, with quotients and remainders.
 *
 * Division and remainder are simplified with the ranges of the variables (a loop variable is in [0, size)), so that
 * index arithmetic of views cancels: `(x div 8) · 8 + x mod 8` is `x`. Whoever asks for strides, digits or bounds of an
 * index asks here: where kernels are made and fused, where they are scheduled, and where plans are proven. Modelled on
 * inductor's sympy simplifications, with only the rules that views need.
 */
import {
  ANY_INTEGER,
  type Size,
  type SymInt,
  type ValueRange,
  commonUnit,
  isMultiple,
  sizeAdd,
  sizeFloorDiv,
  sizeMod,
  sizeMul,
} from '@tessera/shared';
import type { Expr } from './expr.js';
import { IndexBounds, divisorOf } from './index-bounds.js';
import type { IndexExpr } from './index-expr.js';
import { IndexSums, type Sum } from './index-sums.js';
import type { LinearForm } from './linear-form.js';

/** `(base div by) mod modulus`: what flattening and cutting make of a coordinate. */
interface Digit {
  readonly base: IndexExpr;
  readonly by: Size;
  readonly modulus: Size;
}

/** See the file header. One builder serves one compilation. */
export class IndexBuilder extends IndexSums {
  private readonly intervals = new IndexBounds(
    (name) => this.sizeOf(name),
    (value) => this.boundsOfValue(value),
  );

  /** Interval of a value that is computed at run time. */
  protected boundsOfValue(_value: Expr): ValueRange {
    return ANY_INTEGER;
  }

  protected override resized(): void {
    this.intervals.forget();
  }

  /** Floor division by a positive size. */
  div(e: IndexExpr, by: Size): IndexExpr {
    if (by === 1) return e;
    // Where something is of size 0, there is no point to compute this at.
    if (by === 0) return this.int(0);
    const known = divisorOf(e);
    if (known !== null) return this.size(sizeFloorDiv(known, by));
    const whole: Sum = { constant: 0, terms: new Map() };
    const rest = this.splitMultiples(e, by, whole);
    if (this.intervals.isDigit(rest, by)) return this.finish(whole);
    if (this.intervals.ofSum(rest).lo < 0) return this.division('div', e, this.size(by));
    const coarse = this.coarsen(rest, by);
    if (coarse !== null)
      this.accumulate(whole, this.div(coarse.high, sizeFloorDiv(by, coarse.unit)), 1);
    else this.accumulate(whole, this.divAtom(this.finish(rest), by), 1);
    return this.finish(whole);
  }

  /** Remainder by a positive size, in [0, by). */
  mod(e: IndexExpr, by: Size): IndexExpr {
    if (by === 1 || by === 0) return this.int(0);
    const known = divisorOf(e);
    if (known !== null) return this.size(sizeMod(known, by));
    const rest = this.splitMultiples(e, by, { constant: 0, terms: new Map() });
    if (this.intervals.isDigit(rest, by)) return this.finish(rest);
    if (this.intervals.ofSum(rest).lo < 0) return this.division('mod', e, this.size(by));
    const unwrapped = this.unwrap(rest, by);
    if (unwrapped !== null) return this.mod(unwrapped, by);
    const coarse = this.coarsen(rest, by);
    if (coarse === null) return this.modAtom(this.finish(rest), by);
    const high = this.mod(coarse.high, sizeFloorDiv(by, coarse.unit));
    return this.add(this.scale(high, coarse.unit), coarse.low);
  }

  /** `rest` without inner remainders that make no difference modulo `by`, or null if it has none. */
  private unwrap(rest: Sum, by: Size): IndexExpr | null {
    let found = false;
    const sum: Sum = { constant: rest.constant, terms: new Map() };
    for (const [atom, coefficient] of rest.terms) {
      const den = atom.kind === 'mod' ? divisorOf(atom.den) : null;
      const inner = den !== null && isMultiple(sizeMul(coefficient, den), by);
      found ||= inner;
      this.accumulate(sum, inner && atom.kind === 'mod' ? atom.num : atom, coefficient);
    }
    return found && this.intervals.ofSum(sum).lo >= 0 ? this.finish(sum) : null;
  }

  /** Interval that contains every value of the expression. */
  bounds(e: IndexExpr): ValueRange {
    return this.intervals.of(e);
  }

  /** Whether `0 <= e < limit` is certain. */
  isWithin(e: IndexExpr, limit: Size): boolean {
    return this.intervals.isDigit(this.linear(e), limit);
  }

  /** `linear` of an index in which variables are replaced. */
  linearAt(e: IndexExpr, symbol: (name: string) => IndexExpr | undefined): LinearForm {
    const sum: Sum = { constant: 0, terms: new Map() };
    for (const term of e.kind === 'add' ? e.terms : [e])
      this.accumulate(sum, this.substituteIndex(term, symbol), 1);
    this.rejoin(sum);
    return sum;
  }

  /** Replaces variables (and run-time values and symbolic sizes, if asked to) and simplifies again. */
  substituteIndex(
    e: IndexExpr,
    symbol: (name: string) => IndexExpr | undefined,
    mapValue?: (value: Expr) => Expr,
    mapSize?: (size: SymInt) => Size,
  ): IndexExpr {
    const inside = (part: IndexExpr): IndexExpr =>
      this.substituteIndex(part, symbol, mapValue, mapSize);
    switch (e.kind) {
      case 'int':
        return this.int(e.value);
      case 'size':
        return this.size(mapSize?.(e.size) ?? e.size);
      case 'sym':
        return symbol(e.name) ?? this.sym(e.name);
      case 'value':
        // A loop index that is written as a value is an index of the same variables.
        if (mapValue === undefined && e.value.kind === 'index') return inside(e.value.index);
        return this.value(mapValue?.(e.value) ?? e.value);
      case 'add':
        return this.add(...e.terms.map(inside));
      case 'mul': {
        let product = this.int(1);
        for (const factor of e.factors) product = this.mul(product, inside(factor));
        return product;
      }
      case 'div':
      case 'mod': {
        const [num, den] = [inside(e.num), inside(e.den)];
        const by = divisorOf(den);
        if (by !== null) return e.kind === 'div' ? this.div(num, by) : this.mod(num, by);
        return this.division(e.kind, num, den);
      }
    }
  }

  /** Joins `c·((x div a) mod b) + c·b·((x div a·b) …)` back into one digit, until nothing changes. */
  protected override rejoin(sum: Sum): void {
    for (let changed = true; changed && sum.terms.size > 1;) {
      changed = false;
      for (const [atom, coefficient] of sum.terms) {
        const low = digitOf(atom);
        const partner = low === null ? null : this.findPartner(sum, low, coefficient);
        if (low === null || partner === null) continue;
        sum.terms.delete(atom);
        sum.terms.delete(partner.atom);
        const { modulus } = partner;
        const divided = this.div(low.base, low.by);
        this.accumulate(
          sum,
          modulus === null ? divided : this.mod(divided, sizeMul(low.modulus, modulus)),
          coefficient,
        );
        changed = true;
        break;
      }
    }
  }

  private findPartner(
    sum: Sum,
    low: Digit,
    coefficient: Size,
  ): { readonly atom: IndexExpr; readonly modulus: Size | null } | null {
    const wanted = this.div(low.base, sizeMul(low.by, low.modulus));
    const weight = sizeMul(coefficient, low.modulus);
    for (const [atom, other] of sum.terms) {
      if (other !== weight) continue;
      if (atom === wanted) return { atom, modulus: null };
      const modulus = atom.kind === 'mod' ? divisorOf(atom.den) : null;
      if (modulus !== null && atom.kind === 'mod' && atom.num === wanted) return { atom, modulus };
    }
    return null;
  }

  /** Moves the terms that are multiples of `by` into `whole` (divided) and returns the others. */
  private splitMultiples(e: IndexExpr, by: Size, whole: Sum): Sum {
    const all: Sum = { constant: 0, terms: new Map() };
    this.accumulate(all, e, 1);
    const high = sizeFloorDiv(all.constant, by);
    const rest: Sum = { constant: sizeMod(all.constant, by), terms: new Map() };
    whole.constant = sizeAdd(whole.constant, high);
    for (const [atom, coefficient] of all.terms) {
      if (isMultiple(coefficient, by)) this.accumulate(whole, atom, sizeFloorDiv(coefficient, by));
      else rest.terms.set(atom, coefficient);
    }
    return rest;
  }

  /** `rest = unit · high + low` with 0 ≤ low < unit and unit a divisor of `by`, or null. */
  private coarsen(
    rest: Sum,
    by: Size,
  ): { readonly unit: Size; readonly high: IndexExpr; readonly low: IndexExpr } | null {
    const units = new Set<Size>();
    for (const coefficient of rest.terms.values()) units.add(commonUnit(coefficient, by));
    for (const unit of [...units].sort(byValue)) {
      if (unit === 1) continue;
      const low: Sum = { constant: sizeMod(rest.constant, unit), terms: new Map() };
      const high: Sum = { constant: sizeFloorDiv(rest.constant, unit), terms: new Map() };
      for (const [atom, coefficient] of rest.terms) {
        if (isMultiple(coefficient, unit)) high.terms.set(atom, sizeFloorDiv(coefficient, unit));
        else low.terms.set(atom, coefficient);
      }
      if (this.intervals.isDigit(low, unit))
        return { unit, high: this.finish(high), low: this.finish(low) };
    }
    return null;
  }

  private divAtom(num: IndexExpr, by: Size): IndexExpr {
    const den = num.kind === 'div' || num.kind === 'mod' ? divisorOf(num.den) : null;
    if (num.kind === 'div' && den !== null) return this.div(num.num, sizeMul(den, by));
    if (num.kind === 'mod' && den !== null && isMultiple(den, by))
      return this.mod(this.div(num.num, by), sizeFloorDiv(den, by));
    return this.division('div', num, this.size(by));
  }

  private modAtom(num: IndexExpr, by: Size): IndexExpr {
    const den = num.kind === 'mod' ? divisorOf(num.den) : null;
    if (num.kind === 'mod' && den !== null && isMultiple(den, by)) return this.mod(num.num, by);
    return this.division('mod', num, this.size(by));
  }

  /** A quotient or remainder that is a part. */
  private division(kind: 'div' | 'mod', num: IndexExpr, den: IndexExpr): IndexExpr {
    return this.intern(`${kind}${this.idOf(num)},${this.idOf(den)}`, () => ({ kind, num, den }));
  }
}

/** Symbolic sizes first, then numbers from the largest. */
function byValue(a: Size, b: Size): number {
  if (typeof a === 'number' && typeof b === 'number') return b - a;
  return Number(typeof a === 'number') - Number(typeof b === 'number');
}

/** Reads `(base div by) mod modulus`. */
function digitOf(atom: IndexExpr): Digit | null {
  const modulus = atom.kind === 'mod' ? divisorOf(atom.den) : null;
  if (atom.kind !== 'mod' || modulus === null) return null;
  const { num } = atom;
  const by = num.kind === 'div' ? divisorOf(num.den) : null;
  if (num.kind === 'div' && by !== null) return { base: num.num, by, modulus };
  return { base: num, by: 1, modulus };
}
