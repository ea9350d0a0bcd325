/**
 * @file Hash-consing constructors of index expressions.
 *
 * Every expression is kept in one canonical form: a constant plus a sum of `coefficient · atom`, where
 * an atom is a symbol, a run-time value, a product of atoms, or `(e div a) mod b`. Division and
 * remainder are simplified with the ranges of the symbols (a loop variable is in [0, size)), so that
 * index arithmetic of views cancels: `(x div 8) · 8 + x mod 8` is `x`. Equal expressions of one builder
 * are the same object. Modelled on inductor's sympy simplifications, with only the rules that views need.
 */
import type { Expr } from './expr.js';
import { IndexBounds } from './index-bounds.js';
import { type Bounds, UNKNOWN } from './interval.js';
import type { IndexExpr } from './index-expr.js';

/** `constant + Σ coefficient · atom` under construction. */
interface Linear {
  constant: number;
  readonly terms: Map<IndexExpr, number>;
}

function gcd(a: number, b: number): number {
  let x = Math.abs(a);
  let y = Math.abs(b);
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}

function modulo(a: number, b: number): number {
  return a - Math.floor(a / b) * b;
}

/** See the file header. One builder serves one compilation. */
export class IndexBuilder {
  private readonly table = new Map<string, IndexExpr>();
  private readonly ids = new Map<object, number>();
  private readonly sizes = new Map<string, number>();
  private readonly intervals = new IndexBounds(
    (name) => this.sizes.get(name),
    (value) => this.boundsOfValue(value),
  );

  /** Interval of a value that is computed at run time. */
  protected boundsOfValue(_value: Expr): Bounds {
    return UNKNOWN;
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

  /** A loop variable or size symbol; `size` (exclusive upper bound) is remembered by name. */
  sym(name: string, size?: number): IndexExpr {
    if (size !== undefined) this.sizes.set(name, size);
    return this.intern(`$${name}`, () => ({ kind: 'sym', name }));
  }

  /** Trip count under which a symbol was declared, if any. */
  sizeOf(name: string): number | undefined {
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

  /** `e · factor` for a constant factor. */
  scale(e: IndexExpr, factor: number): IndexExpr {
    const sum: Linear = { constant: 0, terms: new Map() };
    this.accumulate(sum, e, factor);
    return this.finish(sum);
  }

  mul(a: IndexExpr, b: IndexExpr): IndexExpr {
    if (a.kind === 'int') return this.scale(b, a.value);
    if (b.kind === 'int') return this.scale(a, b.value);
    const factors = [...productFactors(a), ...productFactors(b)];
    const constant = factors.reduce((acc, f) => (f.kind === 'int' ? acc * f.value : acc), 1);
    const rest = factors
      .filter((f) => f.kind !== 'int')
      .sort((x, y) => this.idOf(x) - this.idOf(y));
    const product = this.intern(`*${rest.map((f) => this.idOf(f)).join(',')}`, () => ({
      kind: 'mul',
      factors: rest,
    }));
    return this.scale(product, constant);
  }

  /** Floor division by a positive constant. */
  div(e: IndexExpr, by: number): IndexExpr {
    if (by === 1) return e;
    if (e.kind === 'int') return this.int(Math.floor(e.value / by));
    const whole: Linear = { constant: 0, terms: new Map() };
    const rest = this.splitMultiples(e, by, whole);
    const { min, max } = this.intervals.ofSum(rest.constant, rest.terms);
    if (min >= 0 && max < by) return this.finish(whole);
    if (min < 0) return this.rawDiv(e, by);
    const coarse = this.coarsen(rest, by);
    if (coarse !== null) this.accumulate(whole, this.div(coarse.high, by / coarse.unit), 1);
    else this.accumulate(whole, this.divAtom(this.finish(rest), by), 1);
    return this.finish(whole);
  }

  /** Remainder by a positive constant, in [0, by). */
  mod(e: IndexExpr, by: number): IndexExpr {
    if (by === 1) return this.int(0);
    if (e.kind === 'int') return this.int(modulo(e.value, by));
    const rest = this.splitMultiples(e, by, { constant: 0, terms: new Map() });
    const { min, max } = this.intervals.ofSum(rest.constant, rest.terms);
    if (min >= 0 && max < by) return this.finish(rest);
    if (min < 0) return this.rawMod(e, by);
    const unwrapped = this.unwrap(rest, by);
    if (unwrapped !== null) return this.mod(unwrapped, by);
    const coarse = this.coarsen(rest, by);
    if (coarse === null) return this.modAtom(this.finish(rest), by);
    return this.add(this.scale(this.mod(coarse.high, by / coarse.unit), coarse.unit), coarse.low);
  }

  /** `rest` without inner remainders that make no difference modulo `by`, or null if it has none. */
  private unwrap(rest: Linear, by: number): IndexExpr | null {
    let found = false;
    const sum: Linear = { constant: rest.constant, terms: new Map() };
    for (const [atom, coefficient] of rest.terms) {
      const inner =
        atom.kind === 'mod' && atom.den.kind === 'int' && (coefficient * atom.den.value) % by === 0;
      found ||= inner;
      this.accumulate(sum, inner ? atom.num : atom, coefficient);
    }
    return found && this.intervals.ofSum(sum.constant, sum.terms).min >= 0
      ? this.finish(sum)
      : null;
  }

  /** Interval that contains every value of the expression. */
  bounds(e: IndexExpr): Bounds {
    return this.intervals.of(e);
  }

  /** The expression as `constant + Σ coefficient · atom`. */
  linear(e: IndexExpr): {
    readonly constant: number;
    readonly terms: ReadonlyMap<IndexExpr, number>;
  } {
    const sum: Linear = { constant: 0, terms: new Map() };
    this.accumulate(sum, e, 1);
    return sum;
  }

  /** Replaces symbols (and run-time values, if `mapValue` is given) and simplifies again. */
  substituteIndex(
    e: IndexExpr,
    symbol: (name: string) => IndexExpr | undefined,
    mapValue?: (value: Expr) => Expr,
  ): IndexExpr {
    switch (e.kind) {
      case 'int':
        return this.int(e.value);
      case 'sym':
        return symbol(e.name) ?? this.sym(e.name);
      case 'value':
        return this.value(mapValue === undefined ? e.value : mapValue(e.value));
      case 'add':
        return this.add(...e.terms.map((term) => this.substituteIndex(term, symbol, mapValue)));
      case 'mul': {
        let product = this.int(1);
        for (const factor of e.factors)
          product = this.mul(product, this.substituteIndex(factor, symbol, mapValue));
        return product;
      }
      case 'div':
      case 'mod': {
        const num = this.substituteIndex(e.num, symbol, mapValue);
        const den = this.substituteIndex(e.den, symbol, mapValue);
        if (den.kind === 'int')
          return e.kind === 'div' ? this.div(num, den.value) : this.mod(num, den.value);
        return this.intern(`${e.kind}${this.idOf(num)},${this.idOf(den)}`, () => ({
          kind: e.kind,
          num,
          den,
        }));
      }
    }
  }

  private accumulate(sum: Linear, e: IndexExpr, factor: number): void {
    if (factor === 0) return;
    if (e.kind === 'int') {
      sum.constant += e.value * factor;
    } else if (e.kind === 'add') {
      for (const term of e.terms) this.accumulate(sum, term, factor);
    } else if (e.kind === 'mul' && e.factors[0]!.kind === 'int') {
      const rest = e.factors.slice(1);
      const atom =
        rest.length === 1
          ? rest[0]!
          : this.intern(`*${rest.map((f) => this.idOf(f)).join(',')}`, () => ({
              kind: 'mul',
              factors: rest,
            }));
      this.accumulate(sum, atom, factor * e.factors[0]!.value);
    } else {
      const total = (sum.terms.get(e) ?? 0) + factor;
      if (total === 0) sum.terms.delete(e);
      else sum.terms.set(e, total);
    }
  }

  /** Interned canonical expression of a sum, after rejoining split digits. */
  private finish(sum: Linear): IndexExpr {
    this.rejoin(sum);
    if (sum.terms.size === 0) return this.int(sum.constant);
    const terms: IndexExpr[] = [];
    for (const [atom, coefficient] of sum.terms)
      terms.push(coefficient === 1 ? atom : this.scaled(atom, coefficient));
    terms.sort((x, y) => this.idOf(x) - this.idOf(y));
    if (sum.constant !== 0) terms.push(this.int(sum.constant));
    if (terms.length === 1) return terms[0]!;
    return this.intern(`+${terms.map((t) => this.idOf(t)).join(',')}`, () => ({
      kind: 'add',
      terms: this.displayOrder(terms),
    }));
  }

  /** Largest coefficient first, so that printed indices read like strides; the constant stays last. */
  private displayOrder(terms: readonly IndexExpr[]): IndexExpr[] {
    const weight = (t: IndexExpr): number =>
      t.kind === 'int'
        ? -1
        : t.kind === 'mul' && t.factors[0]!.kind === 'int'
          ? Math.abs(t.factors[0]!.value)
          : 1;
    return [...terms].sort((a, b) => weight(b) - weight(a));
  }

  private scaled(atom: IndexExpr, coefficient: number): IndexExpr {
    const factors = [this.int(coefficient), ...(atom.kind === 'mul' ? atom.factors : [atom])];
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
        if (atom.kind !== 'mod' || atom.den.kind !== 'int') continue;
        const low = digit(atom);
        const partner = this.findPartner(sum, low, coefficient);
        if (partner === null) continue;
        sum.terms.delete(atom);
        sum.terms.delete(partner.atom);
        const { modulus } = partner;
        const divided = this.div(low.base, low.by);
        this.accumulate(
          sum,
          modulus === null ? divided : this.mod(divided, low.modulus * modulus),
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
    coefficient: number,
  ): { readonly atom: IndexExpr; readonly modulus: number | null } | null {
    const wanted = this.div(low.base, low.by * low.modulus);
    for (const [atom, other] of sum.terms) {
      if (other !== coefficient * low.modulus) continue;
      if (atom === wanted) return { atom, modulus: null };
      if (atom.kind === 'mod' && atom.den.kind === 'int' && atom.num === wanted)
        return { atom, modulus: atom.den.value };
    }
    return null;
  }

  /** Moves the terms that are multiples of `by` into `whole` (divided) and returns the others. */
  private splitMultiples(e: IndexExpr, by: number, whole: Linear): Linear {
    const all: Linear = { constant: 0, terms: new Map() };
    this.accumulate(all, e, 1);
    const rest: Linear = { constant: modulo(all.constant, by), terms: new Map() };
    whole.constant += Math.floor(all.constant / by);
    for (const [atom, coefficient] of all.terms) {
      if (coefficient % by === 0) this.accumulate(whole, atom, coefficient / by);
      else rest.terms.set(atom, coefficient);
    }
    return rest;
  }

  /** `rest = unit · high + low` with 0 ≤ low < unit and unit a divisor of `by`, or null. */
  private coarsen(
    rest: Linear,
    by: number,
  ): { readonly unit: number; readonly high: IndexExpr; readonly low: IndexExpr } | null {
    const units = new Set<number>();
    for (const coefficient of rest.terms.values()) units.add(gcd(coefficient, by));
    for (const unit of [...units].sort((a, b) => b - a)) {
      if (unit === 1) continue;
      const low: Linear = { constant: modulo(rest.constant, unit), terms: new Map() };
      const high: Linear = { constant: Math.floor(rest.constant / unit), terms: new Map() };
      for (const [atom, coefficient] of rest.terms) {
        if (coefficient % unit === 0) high.terms.set(atom, coefficient / unit);
        else low.terms.set(atom, coefficient);
      }
      const { min, max } = this.intervals.ofSum(low.constant, low.terms);
      if (min >= 0 && max < unit) return { unit, high: this.finish(high), low: this.finish(low) };
    }
    return null;
  }

  private divAtom(num: IndexExpr, by: number): IndexExpr {
    if (num.kind === 'div' && num.den.kind === 'int') return this.div(num.num, num.den.value * by);
    if (num.kind === 'mod' && num.den.kind === 'int' && num.den.value % by === 0)
      return this.mod(this.div(num.num, by), num.den.value / by);
    return this.rawDiv(num, by);
  }

  private modAtom(num: IndexExpr, by: number): IndexExpr {
    if (num.kind === 'mod' && num.den.kind === 'int' && num.den.value % by === 0)
      return this.mod(num.num, by);
    return this.rawMod(num, by);
  }

  private rawDiv(num: IndexExpr, by: number): IndexExpr {
    const den = this.int(by);
    return this.intern(`/${this.idOf(num)},${by}`, () => ({ kind: 'div', num, den }));
  }

  private rawMod(num: IndexExpr, by: number): IndexExpr {
    const den = this.int(by);
    return this.intern(`%${this.idOf(num)},${by}`, () => ({ kind: 'mod', num, den }));
  }
}

interface Digit {
  readonly base: IndexExpr;
  readonly by: number;
  readonly modulus: number;
}

/** Reads `(base div by) mod modulus`. */
function digit(atom: Extract<IndexExpr, { kind: 'mod' }>): Digit {
  const modulus = atom.den.kind === 'int' ? atom.den.value : 1;
  const { num } = atom;
  if (num.kind === 'div' && num.den.kind === 'int')
    return { base: num.num, by: num.den.value, modulus };
  return { base: num, by: 1, modulus };
}

function productFactors(e: IndexExpr): readonly IndexExpr[] {
  return e.kind === 'mul' ? e.factors : [e];
}
