/**
 * @file What is known about the symbols of one capture: ranges, equalities, inequalities.
 *
 * Facts come from symbol declarations and recorded guards, so they hold in every call that the
 * guards admit. Three stores: an interval per primitive expression (a symbol, or a difference such
 * as `s0 - s1`), replacements that solved equalities (`s0` is `2 * s1`), and values an expression
 * does not have.
 */
import type { Relation } from './relation.js';
import { decideByRange } from './relation.js';
import { freeSymbols, rebuildSize } from './rewrite.js';
import {
  addScaled,
  addScaledSize,
  constantPolynomial,
  fromPolynomial,
  linearFormOf,
  monomialOf,
  multiplySizes,
  polynomialOf,
} from './polynomial.js';
import { monomialFactors } from './order.js';
import type { Size } from './size.js';
import type { SymInt, SymIntOwner } from './sym-int.js';
import {
  ANY_INTEGER,
  addRanges,
  exactly,
  floorDivRanges,
  intersectRanges,
  maxRanges,
  minRanges,
  modRanges,
  multiplyRanges,
  scaleRange,
} from './value-range.js';
import type { ValueRange } from './value-range.js';

/** The facts of one environment. */
export class Facts {
  readonly #env: SymIntOwner;
  /** Known interval of primitive expressions, beyond what follows from their operands. */
  readonly #bounds = new Map<SymInt, ValueRange>();
  readonly #unequal = new Map<SymInt, Set<number>>();
  readonly #replacements = new Map<SymInt, Size>();
  /** Ranges and simplified forms computed since the last new fact. */
  readonly #ranges = new Map<SymInt, ValueRange>();
  readonly #simplified = new Map<SymInt, Size>();

  constructor(env: SymIntOwner) {
    this.#env = env;
  }

  /** Records that a symbol was declared with this range. */
  declare(symbol: SymInt, range: ValueRange): void {
    this.#narrow(symbol, range);
  }

  /** The values an expression can take. */
  rangeOf(size: Size): ValueRange {
    if (typeof size === 'number') return exactly(size);
    const cached = this.#ranges.get(size);
    if (cached !== undefined) return cached;
    for (const node of nodesWithout(size, this.#ranges))
      this.#ranges.set(node, this.#computeRange(node));
    return this.#ranges.get(size)!;
  }

  /** Whether the relation certainly holds, certainly fails, or neither. */
  decide(relation: Relation): boolean | undefined {
    const byRange = decideByRange(relation, this.rangeOf(relation.base));
    if (byRange !== undefined) return byRange;
    const unequal = this.#unequal.get(relation.base)?.has(relation.bound) === true;
    if (unequal && relation.op === '==') return false;
    if (unequal && relation.op === '!=') return true;
    return undefined;
  }

  /** Records that a relation holds. */
  learn({ base, op, bound }: Relation): void {
    switch (op) {
      case '==':
        this.#narrow(base, exactly(bound));
        this.#solve(base, bound);
        break;
      case '!=':
        this.#exclude(base, bound);
        break;
      case '<=':
        this.#narrow(base, { lo: -Infinity, hi: bound });
        break;
      case '>=':
        this.#narrow(base, { lo: bound, hi: Infinity });
        break;
    }
  }

  /** The expression with everything that is known applied to it. */
  simplify(size: Size): Size {
    if (typeof size === 'number') return size;
    const cached = this.#simplified.get(size);
    if (cached !== undefined) return cached;
    let current: Size = size;
    // Each round applies one level of replacements; they are acyclic, so there are finitely many.
    for (let round = 0; round <= this.#replacements.size + 1; round++) {
      const next = rebuildSize(current, (node) => this.#simplifyNode(node));
      if (next === current) break;
      current = next;
    }
    this.#simplified.set(size, current);
    return current;
  }

  #simplifyNode(node: SymInt): Size {
    const replacement = this.#replacements.get(node);
    if (replacement !== undefined) return replacement;
    const range = this.rangeOf(node);
    if (range.lo === range.hi) return range.lo;
    return this.#multiplyQuotientsBack(node);
  }

  /** `d * floordiv(x, d)` is `x` where `d` is known to divide `x`. */
  #multiplyQuotientsBack(node: SymInt): Size {
    if (node.kind !== 'sum' && node.kind !== 'product') return node;
    const source = polynomialOf(node);
    let result: Size = source.constant;
    let changed = false;
    for (const [monomial, coeff] of source.terms) {
      const whole = this.#wholeTerm(monomial, coeff);
      if (whole !== undefined) changed = true;
      result = addScaledSize(
        this.#env,
        result,
        whole ?? multiplySizes(this.#env, monomial, coeff),
        1,
      );
    }
    return changed ? result : node;
  }

  #wholeTerm(monomial: SymInt, coeff: number): Size | undefined {
    const factors = monomialFactors(monomial);
    for (const quotient of factors) {
      if (quotient.kind !== 'floordiv') continue;
      const [x, d] = quotient.args;
      const remainder = this.#env.find('mod', quotient.args);
      if (
        remainder === undefined ||
        this.rangeOf(remainder).hi !== 0 ||
        this.rangeOf(remainder).lo !== 0
      )
        continue;
      const others = [...factors];
      others.splice(others.indexOf(quotient), 1);
      let left = coeff;
      if (typeof d === 'number') {
        if (coeff % d !== 0) continue;
        left = coeff / d;
      } else {
        const at = others.indexOf(d);
        if (at < 0) continue;
        others.splice(at, 1);
      }
      const rest = others.length === 0 ? 1 : monomialOf(this.#env, others);
      return multiplySizes(this.#env, multiplySizes(this.#env, x, rest), left);
    }
    return undefined;
  }

  #computeRange(node: SymInt): ValueRange {
    const fromOperands = this.#rangeFromOperands(node);
    const { scale, base, constant } = linearFormOf(this.#env, node);
    const known = this.#bounds.get(base);
    if (known === undefined) return fromOperands;
    return intersectRanges(fromOperands, addRanges(scaleRange(known, scale), exactly(constant)));
  }

  #rangeFromOperands(node: SymInt): ValueRange {
    const ranges = node.args.map((arg) =>
      typeof arg === 'number' ? exactly(arg) : this.#ranges.get(arg)!,
    );
    switch (node.kind) {
      case 'symbol':
        return ANY_INTEGER;
      case 'sum':
        return ranges.reduce(
          (total, range, i) => addRanges(total, scaleRange(range, node.coeffs[i])),
          exactly(node.constant),
        );
      case 'product':
        return ranges.reduce(multiplyRanges);
      case 'floordiv':
        return floorDivRanges(ranges[0], ranges[1]);
      case 'mod':
        return modRanges(ranges[0], ranges[1]);
      case 'min':
        return ranges.reduce(minRanges);
      case 'max':
        return ranges.reduce(maxRanges);
    }
  }

  #changed(): void {
    this.#ranges.clear();
    this.#simplified.clear();
  }

  #narrow(base: SymInt, range: ValueRange): void {
    const before = this.#bounds.get(base) ?? ANY_INTEGER;
    const after = intersectRanges(before, range);
    if (after.lo === before.lo && after.hi === before.hi) return;
    this.#bounds.set(base, after);
    this.#changed();
    for (const value of this.#unequal.get(base) ?? []) this.#trim(base, value);
  }

  #exclude(base: SymInt, value: number): void {
    let values = this.#unequal.get(base);
    if (values === undefined) this.#unequal.set(base, (values = new Set()));
    values.add(value);
    this.#trim(base, value);
  }

  /** An excluded value at the end of a range shortens the range. */
  #trim(base: SymInt, value: number): void {
    const range = this.rangeOf(base);
    if (range.lo === value) this.#narrow(base, { lo: value + 1, hi: Infinity });
    else if (range.hi === value) this.#narrow(base, { lo: -Infinity, hi: value - 1 });
  }

  /** Turns `base === bound` into a replacement of one symbol or atom, where that is possible. */
  #solve(base: SymInt, bound: number): void {
    const target = solvableTerm(base);
    if (target === undefined) return;
    const { monomial, coeff } = target;
    // coeff * monomial + others = bound, with coeff = ±1
    const others = polynomialOf(base);
    others.terms.delete(monomial);
    const solution = constantPolynomial(coeff * bound);
    addScaled(solution, fromPolynomial(this.#env, others), -coeff);
    const value = fromPolynomial(this.#env, solution);
    const range = this.rangeOf(monomial);
    this.#replacements.set(monomial, value);
    this.#changed();
    this.#restate();
    // What was known about the replaced symbol is now known about its value.
    if (typeof value !== 'number') this.#narrowTo(value, range);
  }

  /** Narrows the base of an expression so that the expression lies in `range`. */
  #narrowTo(expr: SymInt, range: ValueRange): void {
    const { scale, base, constant } = linearFormOf(this.#env, expr);
    const [lo, hi] = [(range.lo - constant) / scale, (range.hi - constant) / scale];
    this.#narrow(base, {
      lo: Math.ceil(Math.min(lo, hi)) + 0,
      hi: Math.floor(Math.max(lo, hi)) + 0,
    });
  }

  /** Says the facts about expressions with a replaced symbol again without it. */
  #restate(): void {
    for (const [base, range] of [...this.#bounds]) {
      const simplified = this.simplify(base);
      if (simplified !== base && typeof simplified !== 'number') this.#narrowTo(simplified, range);
    }
    for (const [base, values] of [...this.#unequal]) {
      const simplified = this.simplify(base);
      if (simplified === base || typeof simplified === 'number') continue;
      const { scale, base: newBase, constant } = linearFormOf(this.#env, simplified);
      for (const value of values) {
        const moved = (value - constant) / scale;
        if (Number.isInteger(moved)) this.#exclude(newBase, moved);
      }
    }
  }
}

/**
 * The term of a primitive expression to solve an equality for: the newest symbol with factor ±1
 * that occurs nowhere else in it, or the whole expression when it is a single atom.
 */
function solvableTerm(base: SymInt): { monomial: SymInt; coeff: number } | undefined {
  if (base.kind !== 'sum')
    return base.kind === 'product' ? undefined : { monomial: base, coeff: 1 };
  const monomials = base.args as readonly SymInt[];
  for (let best = monomials.length - 1, found = -1; ; best--) {
    if (best < 0)
      return found < 0 ? undefined : { monomial: monomials[found], coeff: base.coeffs[found] };
    const monomial = monomials[best];
    if (monomial.kind !== 'symbol' || Math.abs(base.coeffs[best]) !== 1) continue;
    const others = monomials.filter((arg) => arg !== monomial);
    if (freeSymbols(...others).includes(monomial)) continue;
    if (found < 0 || monomial.id > monomials[found].id) found = best;
  }
}

/** The nodes of an expression that are not in `known`, operands first. */
function nodesWithout(root: SymInt, known: ReadonlyMap<SymInt, unknown>): SymInt[] {
  const seen = new Set<SymInt>([root]);
  const pending = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    for (const arg of node.args) {
      if (typeof arg === 'number' || seen.has(arg) || known.has(arg)) continue;
      seen.add(arg);
      pending.push(arg);
    }
  }
  return [...seen].sort((a, b) => a.id - b.id);
}
