/**
 * @file Hash-consing constructors of index expressions.
 *
 * Every expression is kept in one canonical form: a constant plus a sum of `coefficient · atom`, where
 * an atom is a symbol, a run-time value, a product of atoms, or `(e div a) mod b`. Constants, coefficients and
 * divisors are sizes: numbers, or expressions of symbolic sizes, with the arithmetic of `symint`. Division and
 * remainder are simplified with the ranges of the symbols (a loop variable is in [0, size)), so that
 * index arithmetic of views cancels: `(x div 8) · 8 + x mod 8` is `x`. Equal expressions of one builder
 * are the same object. Modelled on inductor's sympy simplifications, with only the rules that views need.
 */
import {
  ANY_INTEGER,
  type Size,
  type SymInt,
  type ValueRange,
  sizeAdd,
  sizeFloorDiv,
  sizeMod,
  sizeMul,
} from '@tessera/shared';
import type { Expr } from './expr.js';
import { IndexBounds, divisorOf } from './index-bounds.js';
import type { IndexExpr } from './index-expr.js';
import { type Digit, digitOf } from './index-digit.js';
import type { LinearForm } from './linear-form.js';
import { commonUnit, isMultiple } from './size-units.js';

/** `constant + Σ coefficient · atom` under construction. */
interface Linear {
  constant: Size;
  readonly terms: Map<IndexExpr, Size>;
}

/** See the file header. One builder serves one compilation. */
export class IndexBuilder {
  private readonly table = new Map<string, IndexExpr>();
  private readonly ids = new Map<object, number>();
  private readonly sizes = new Map<string, Size>();
  private readonly intervals = new IndexBounds(
    (name) => this.sizes.get(name),
    (value) => this.boundsOfValue(value),
  );

  /** Interval of a value that is computed at run time. */
  protected boundsOfValue(_value: Expr): ValueRange {
    return ANY_INTEGER;
  }

  /** The number of an interned object, for structural keys. */
  idOf(object: object): number {
    let id = this.ids.get(object);
    if (id === undefined) {
      id = this.ids.size;
      this.ids.set(object, id);
    }
    return id;
  }

  private intern(key: string, make: () => IndexExpr): IndexExpr {
    let found = this.table.get(key);
    if (found === undefined) {
      found = make();
      this.table.set(key, found);
      this.idOf(found);
    }
    return found;
  }

  int(value: number): IndexExpr {
    const whole = value === 0 ? 0 : value;
    return this.intern(`${whole}`, () => ({ kind: 'int', value: whole }));
  }

  /** A size as an index. */
  size(size: Size): IndexExpr {
    if (typeof size === 'number') return this.int(size);
    return this.intern(`s${this.idOf(size)}`, () => ({ kind: 'size', size }));
  }

  /** A loop variable; `size` (exclusive upper bound) is remembered by name. */
  sym(name: string, size?: Size): IndexExpr {
    if (size !== undefined && this.sizes.get(name) !== size) {
      if (this.sizes.has(name)) this.intervals.forget();
      this.sizes.set(name, size);
    }
    return this.intern(`$${name}`, () => ({ kind: 'sym', name }));
  }

  /** Trip count under which a variable was declared, if any. */
  sizeOf(name: string): Size | undefined {
    return this.sizes.get(name);
  }

  /** A run-time integer as part of an index. Constants and loop indices fold. */
  value(value: Expr): IndexExpr {
    if (value.kind === 'const') return this.int(Math.trunc(value.value));
    if (value.kind === 'index') return value.index;
    return this.intern(`@${this.idOf(value)}`, () => ({ kind: 'value', value }));
  }

  add(...terms: readonly IndexExpr[]): IndexExpr {
    const sum: Linear = { constant: 0, terms: new Map() };
    for (const term of terms) this.accumulate(sum, term, 1);
    return this.finish(sum);
  }

  sub(a: IndexExpr, b: IndexExpr): IndexExpr {
    return this.add(a, this.scale(b, -1));
  }

  /** `e · factor`. */
  scale(e: IndexExpr, factor: Size): IndexExpr {
    const sum: Linear = { constant: 0, terms: new Map() };
    this.accumulate(sum, e, factor);
    return this.finish(sum);
  }

  mul(a: IndexExpr, b: IndexExpr): IndexExpr {
    const [left, right] = [divisorOf(a), divisorOf(b)];
    if (left !== null) return this.scale(b, left);
    if (right !== null) return this.scale(a, right);
    const factors = [...productFactors(a), ...productFactors(b)];
    let constant: Size = 1;
    for (const f of factors) constant = sizeMul(constant, divisorOf(f) ?? 1);
    const rest = factors
      .filter((f) => divisorOf(f) === null)
      .sort((x, y) => this.idOf(x) - this.idOf(y));
    const product = this.intern(`*${rest.map((f) => this.idOf(f)).join(',')}`, () => ({
      kind: 'mul',
      factors: rest,
    }));
    return this.scale(product, constant);
  }

  /** Floor division by a positive size. */
  div(e: IndexExpr, by: Size): IndexExpr {
    if (by === 1) return e;
    // Where something is of size 0, there is no point to compute this at.
    if (by === 0) return this.int(0);
    const known = divisorOf(e);
    if (known !== null) return this.size(sizeFloorDiv(known, by));
    const whole: Linear = { constant: 0, terms: new Map() };
    const rest = this.splitMultiples(e, by, whole);
    if (this.intervals.isDigit(rest, by)) return this.finish(whole);
    if (this.intervals.ofSum(rest).lo < 0) return this.rawDiv(e, by);
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
    if (this.intervals.ofSum(rest).lo < 0) return this.rawMod(e, by);
    const unwrapped = this.unwrap(rest, by);
    if (unwrapped !== null) return this.mod(unwrapped, by);
    const coarse = this.coarsen(rest, by);
    if (coarse === null) return this.modAtom(this.finish(rest), by);
    const high = this.mod(coarse.high, sizeFloorDiv(by, coarse.unit));
    return this.add(this.scale(high, coarse.unit), coarse.low);
  }

  /** `rest` without inner remainders that make no difference modulo `by`, or null if it has none. */
  private unwrap(rest: Linear, by: Size): IndexExpr | null {
    let found = false;
    const sum: Linear = { constant: rest.constant, terms: new Map() };
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

  /** An index, in which `symbol` may replace variables, as a constant and multiples of its parts. */
  linear(e: IndexExpr, symbol?: (name: string) => IndexExpr | undefined): LinearForm {
    const sum: Linear = { constant: 0, terms: new Map() };
    if (symbol === undefined) this.accumulate(sum, e, 1);
    else {
      for (const term of e.kind === 'add' ? e.terms : [e])
        this.accumulate(sum, this.substituteIndex(term, symbol), 1);
      this.rejoin(sum);
    }
    return sum;
  }

  /** The index that a form stands for. */
  sum({ constant, terms }: LinearForm): IndexExpr {
    return this.finish({ constant, terms: new Map(terms) });
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
        return this.value(mapValue === undefined ? e.value : mapValue(e.value));
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
        return this.intern(`${e.kind}${this.idOf(num)},${this.idOf(den)}`, () => ({
          kind: e.kind,
          num,
          den,
        }));
      }
    }
  }

  private accumulate(sum: Linear, e: IndexExpr, factor: Size): void {
    if (factor === 0) return;
    const known = divisorOf(e);
    const first = e.kind === 'mul' ? divisorOf(e.factors[0]!) : null;
    if (known !== null) {
      sum.constant = sizeAdd(sum.constant, sizeMul(known, factor));
    } else if (e.kind === 'add') {
      for (const term of e.terms) this.accumulate(sum, term, factor);
    } else if (e.kind === 'mul' && first !== null) {
      const rest = e.factors.slice(1);
      const atom =
        rest.length === 1
          ? rest[0]!
          : this.intern(`*${rest.map((f) => this.idOf(f)).join(',')}`, () => ({
              kind: 'mul',
              factors: rest,
            }));
      this.accumulate(sum, atom, sizeMul(factor, first));
    } else {
      const total = sizeAdd(sum.terms.get(e) ?? 0, factor);
      if (total === 0) sum.terms.delete(e);
      else sum.terms.set(e, total);
    }
  }

  /** Interned canonical expression of a sum, after rejoining split digits. */
  private finish(sum: Linear): IndexExpr {
    this.rejoin(sum);
    if (sum.terms.size === 0) return this.size(sum.constant);
    const terms: IndexExpr[] = [];
    for (const [atom, coefficient] of sum.terms)
      terms.push(coefficient === 1 ? atom : this.scaled(atom, coefficient));
    terms.sort((x, y) => this.idOf(x) - this.idOf(y));
    if (sum.constant !== 0) terms.push(this.size(sum.constant));
    if (terms.length === 1) return terms[0]!;
    return this.intern(`+${terms.map((t) => this.idOf(t)).join(',')}`, () => ({
      kind: 'add',
      terms: this.displayOrder(terms),
    }));
  }

  /** Largest coefficient first, so that printed indices read like strides; the constant stays last. */
  private displayOrder(terms: readonly IndexExpr[]): IndexExpr[] {
    const weight = (t: IndexExpr): number => {
      if (divisorOf(t) !== null) return -1;
      const factor = t.kind === 'mul' ? divisorOf(t.factors[0]!) : null;
      return factor === null ? 1 : typeof factor === 'number' ? Math.abs(factor) : Infinity;
    };
    return [...terms].sort((a, b) => Math.sign(weight(b) - weight(a)) || 0);
  }

  private scaled(atom: IndexExpr, coefficient: Size): IndexExpr {
    const factors = [this.size(coefficient), ...(atom.kind === 'mul' ? atom.factors : [atom])];
    return this.intern(`*${factors.map((f) => this.idOf(f)).join(',')}`, () => ({
      kind: 'mul',
      factors,
    }));
  }

  /** Joins `c·((x div a) mod b) + c·b·((x div a·b) …)` back into one digit, until nothing changes. */
  private rejoin(sum: Linear): void {
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
    sum: Linear,
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
  private splitMultiples(e: IndexExpr, by: Size, whole: Linear): Linear {
    const all: Linear = { constant: 0, terms: new Map() };
    this.accumulate(all, e, 1);
    const high = sizeFloorDiv(all.constant, by);
    const rest: Linear = { constant: sizeMod(all.constant, by), terms: new Map() };
    whole.constant = sizeAdd(whole.constant, high);
    for (const [atom, coefficient] of all.terms) {
      if (isMultiple(coefficient, by)) this.accumulate(whole, atom, sizeFloorDiv(coefficient, by));
      else rest.terms.set(atom, coefficient);
    }
    return rest;
  }

  /** `rest = unit · high + low` with 0 ≤ low < unit and unit a divisor of `by`, or null. */
  private coarsen(
    rest: Linear,
    by: Size,
  ): { readonly unit: Size; readonly high: IndexExpr; readonly low: IndexExpr } | null {
    const units = new Set<Size>();
    for (const coefficient of rest.terms.values()) units.add(commonUnit(coefficient, by));
    for (const unit of [...units].sort(byValue)) {
      if (unit === 1) continue;
      const low: Linear = { constant: sizeMod(rest.constant, unit), terms: new Map() };
      const high: Linear = { constant: sizeFloorDiv(rest.constant, unit), terms: new Map() };
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
    return this.rawDiv(num, by);
  }

  private modAtom(num: IndexExpr, by: Size): IndexExpr {
    const den = num.kind === 'mod' ? divisorOf(num.den) : null;
    if (num.kind === 'mod' && den !== null && isMultiple(den, by)) return this.mod(num.num, by);
    return this.rawMod(num, by);
  }

  private rawDiv(num: IndexExpr, by: Size): IndexExpr {
    const den = this.size(by);
    return this.intern(`/${this.idOf(num)},${this.idOf(den)}`, () => ({ kind: 'div', num, den }));
  }

  private rawMod(num: IndexExpr, by: Size): IndexExpr {
    const den = this.size(by);
    return this.intern(`%${this.idOf(num)},${this.idOf(den)}`, () => ({ kind: 'mod', num, den }));
  }
}

/** Symbolic sizes first, then numbers from the largest. */
function byValue(a: Size, b: Size): number {
  if (typeof a === 'number' && typeof b === 'number') return b - a;
  return Number(typeof a === 'number') - Number(typeof b === 'number');
}

function productFactors(e: IndexExpr): readonly IndexExpr[] {
  return e.kind === 'mul' ? e.factors : [e];
}
