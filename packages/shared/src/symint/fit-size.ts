/**
 * @file Fitting: which expression of symbols explains the values that an integer had.
 *
 * Programs compute with plain numbers, so nothing says that 32 was `4 * x.shape[0]`; but runs that had
 * 32 where `x.shape[0]` was 8 and 20 where it was 5 do. Candidates are tried from the simplest on and
 * must agree with every run. Expressions that were found are terms of later ones, so the size behind
 * three convolutions is found as the third step of a chain. A result is a guess that fits the runs that
 * were made: whoever uses it must compare it with what really happens.
 */
import { sizeAdd, sizeFloorDiv, sizeMax, sizeMin, sizeMod, sizeMul, sizeSub } from './size.js';
import type { Size } from './size.js';
import { fitPolynomial } from './fit-polynomial.js';

/** A symbolic value together with what it was in each run. */
export interface FitTerm {
  readonly size: Size;
  readonly at: readonly number[];
}

/** Divisors tried for `floor(s / k)`; what strides, patches and heads divide by is small. */
const LARGEST_DIVISOR = 64;
/** Products and sums are searched among this many terms. */
const COMBINED_TERMS = 8;
/** Expressions found that become terms. */
const TERMS_KEPT = 24;
/** Runs from which on expressions with several free constants are tried. */
const RUNS_FOR_GENERAL = 6;

/** See the file header. */
export class SizeFitter {
  private readonly terms: FitTerm[];
  private readonly known = new Map<string, Size | null>();

  constructor(private readonly symbols: readonly FitTerm[]) {
    this.terms = [...symbols];
  }

  /** The simplest expression that has these values; null if none is found. */
  fit(wanted: readonly number[]): Size | null {
    if (wanted.every((value) => value === wanted[0])) return wanted[0]!;
    const key = wanted.join();
    let found = this.known.get(key);
    if (found === undefined) {
      found = this.search(wanted);
      this.known.set(key, found);
      this.keep(found, wanted);
    }
    return found;
  }

  /**
   * What a few runs are enough to tell: a multiple or a part of a term or of a product of terms, a term and a constant, or
   * a quotient of the only term; null if there is none. A line goes through any two, and a quotient of one of many terms
   * often.
   */
  near(wanted: readonly number[]): Size | null {
    const { terms, products } = this;
    return (
      firstOf([...terms, ...products], (term) => multiple(term, wanted)) ??
      firstOf(terms, (term) => shifted(term, wanted)) ??
      firstOf([...terms, ...products], (term) => part(term, wanted)) ??
      (terms.length === 1 ? rounded(terms[0]!, wanted) : null)
    );
  }

  private get products(): FitTerm[] {
    return productsOf(this.terms.slice(0, COMBINED_TERMS));
  }

  /** What later values may be multiples or quotients of: polynomials of symbols are covered anyway. */
  private keep(found: Size | null, at: readonly number[]): void {
    if (found === null || typeof found === 'number' || this.terms.length >= TERMS_KEPT) return;
    if (found.kind === 'product') return;
    this.terms.push({ size: found, at });
  }

  private search(wanted: readonly number[]): Size | null {
    const { terms, products } = this;
    const sums = sumsOf(terms.slice(0, COMBINED_TERMS));
    // Through two runs there is a line over every symbol. Sizes that grow together differ by a constant.
    return (
      firstOf([...terms, ...products], (term) => multiple(term, wanted)) ??
      firstOf(terms, (term) => shifted(term, wanted)) ??
      firstOf(terms, (term) => linear(term, wanted)) ??
      firstOf(sums, (term) => linear(term, wanted)) ??
      firstOf(terms, (term) => quotient(term, wanted) ?? inverse(term, wanted)) ??
      firstOf(products, (term) => linear(term, wanted) ?? quotient(term, wanted)) ??
      (wanted.length < RUNS_FOR_GENERAL
        ? null
        : (firstOf(terms, (term) => bounded(term, wanted)) ??
          firstOf(terms, (term) => slanted(term, wanted)) ??
          fitPolynomial(this.symbols, wanted) ??
          firstOf(sums, (term) => slanted(term, wanted)) ??
          fitPolynomial(terms.slice(0, COMBINED_TERMS), wanted)))
    );
  }
}

function firstOf(terms: readonly FitTerm[], fit: (term: FitTerm) => Size | null): Size | null {
  for (const term of terms) {
    const found = fit(term);
    if (found !== null) return found;
  }
  return null;
}

/** `k * term`. */
function multiple(term: FitTerm, wanted: readonly number[]): Size | null {
  if (term.at[0] === 0) return null;
  const k = wanted[0]! / term.at[0]!;
  if (!Number.isInteger(k) || k === 0) return null;
  return wanted.every((value, i) => value === k * term.at[i]!) ? sizeMul(term.size, k) : null;
}

/** `k * term / d` that leaves nothing. */
function part({ at, size }: FitTerm, wanted: readonly number[]): Size | null {
  const [k, d] = [wanted[0]!, at[0]!];
  if (d === 0 || !wanted.every((value, i) => value * d === k * at[i]!)) return null;
  return sizeFloorDiv(sizeMul(size, k), d);
}

/** `term + c`. */
function shifted(term: FitTerm, wanted: readonly number[]): Size | null {
  const c = wanted[0]! - term.at[0]!;
  return wanted.every((value, i) => value === term.at[i]! + c) ? sizeAdd(term.size, c) : null;
}

/** `k * term + c`. */
function linear(term: FitTerm, wanted: readonly number[]): Size | null {
  const other = term.at.findIndex((value) => value !== term.at[0]);
  if (other < 0) return null;
  const k = (wanted[other]! - wanted[0]!) / (term.at[other]! - term.at[0]!);
  if (!Number.isInteger(k) || k === 0) return null;
  const c = wanted[0]! - k * term.at[0]!;
  return wanted.every((value, i) => value === k * term.at[i]! + c)
    ? sizeAdd(sizeMul(term.size, k), c)
    : null;
}

/** `floor((term + c) / k) + d`, rounding down or up, or `term mod k`. */
function quotient(term: FitTerm, wanted: readonly number[]): Size | null {
  for (let k = 2; k <= LARGEST_DIVISOR; k++) {
    for (const c of [0, k - 1]) {
      const d = wanted[0]! - Math.floor((term.at[0]! + c) / k);
      if (Math.abs(d) > 1) continue;
      if (wanted.every((value, i) => value === Math.floor((term.at[i]! + c) / k) + d))
        return sizeAdd(sizeFloorDiv(sizeAdd(term.size, c), k), d);
    }
    if (wanted.every((value, i) => value === term.at[i]! % k)) return sizeMod(term.size, k);
  }
  return null;
}

/** `floor(term / k)` or `ceil(term / k)`. */
function rounded(term: FitTerm, wanted: readonly number[]): Size | null {
  for (let k = 2; k <= LARGEST_DIVISOR; k++)
    for (const c of [0, k - 1])
      if (wanted.every((value, i) => value === Math.floor((term.at[i]! + c) / k)))
        return sizeFloorDiv(sizeAdd(term.size, c), k);
  return null;
}

/** `floor(k / term)`. */
function inverse(term: FitTerm, wanted: readonly number[]): Size | null {
  if (term.at.some((value) => value < 1)) return null;
  const least = wanted.reduce((k, value, i) => Math.max(k, value * term.at[i]!), 0);
  return wanted.every((value, i) => value === Math.floor(least / term.at[i]!))
    ? sizeFloorDiv(least, term.size)
    : null;
}

/** `min(term, c)` or `max(term, c)`, met on both sides. */
function bounded(term: FitTerm, wanted: readonly number[]): Size | null {
  const equal = wanted.filter((value, i) => value === term.at[i]!).length;
  if (equal < 2 || wanted.length - equal < 2) return null;
  const top = wanted.reduce((a, b) => Math.max(a, b));
  if (wanted.every((value, i) => value === Math.min(term.at[i]!, top)))
    return sizeMin(term.size, top);
  const bottom = wanted.reduce((a, b) => Math.min(a, b));
  return wanted.every((value, i) => value === Math.max(term.at[i]!, bottom))
    ? sizeMax(term.size, bottom)
    : null;
}

/** `floor((n * term + c) / k) + d` for any integers, found by the slope between the furthest runs. */
function slanted(term: FitTerm, wanted: readonly number[]): Size | null {
  const low = term.at.reduce((best, value, i) => (value < term.at[best]! ? i : best), 0);
  const high = term.at.reduce((best, value, i) => (value > term.at[best]! ? i : best), 0);
  const run = term.at[high]! - term.at[low]!;
  if (run === 0) return null;
  const slope = (wanted[high]! - wanted[low]!) / run;
  for (let k = 2; k <= LARGEST_DIVISOR; k++) {
    // Rounding moves each end by less than one.
    for (let n = Math.ceil((slope - 1 / run) * k); n <= (slope + 1 / run) * k; n++) {
      if (n === 0) continue;
      const found = withOffset(term, wanted, n, k);
      if (found !== null) return found;
    }
  }
  return null;
}

function withOffset(term: FitTerm, wanted: readonly number[], n: number, k: number): Size | null {
  // wanted * k <= n * term + c < wanted * k + k bounds c from both sides.
  let least = -Infinity;
  let most = Infinity;
  for (let i = 0; i < wanted.length; i++) {
    const c = wanted[i]! * k - n * term.at[i]!;
    least = Math.max(least, c);
    most = Math.min(most, c + k - 1);
  }
  if (least > most) return null;
  // Programs write small offsets, and 0 most of all.
  const c = least <= 0 && most >= 0 ? 0 : least > 0 ? least : most;
  return sizeFloorDiv(sizeAdd(sizeMul(term.size, n), c), k);
}

function productsOf(terms: readonly FitTerm[]): FitTerm[] {
  const pairs = terms.flatMap((a, i) => terms.slice(i).map((b) => times(a, b)));
  const triples = terms.flatMap((a, i) =>
    terms.slice(i + 1).flatMap((b, j) => terms.slice(i + j + 2).map((c) => times(times(a, b), c))),
  );
  return [...pairs, ...triples];
}

/** A term of others, whose expression is made when it is the one that fits: one of a hundred does. */
function combined(
  a: FitTerm,
  b: FitTerm,
  op: (x: number, y: number) => number,
  make: (x: Size, y: Size) => Size,
): FitTerm {
  return {
    at: a.at.map((value, i) => op(value, b.at[i]!)),
    get size() {
      return make(a.size, b.size);
    },
  };
}

function times(a: FitTerm, b: FitTerm): FitTerm {
  return combined(a, b, (x, y) => x * y, sizeMul);
}

function sumsOf(terms: readonly FitTerm[]): FitTerm[] {
  return terms.flatMap((a, i) =>
    terms
      .slice(i + 1)
      .flatMap((b) => [
        combined(a, b, (x, y) => x + y, sizeAdd),
        combined(a, b, (x, y) => x - y, sizeSub),
      ]),
  );
}
