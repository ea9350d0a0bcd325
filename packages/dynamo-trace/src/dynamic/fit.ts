/**
 * @file Fitting: which expression of the symbols explains the values that an integer had.
 *
 * The program computes with plain numbers, so nothing says that 32 was `4 * x.shape[0]`; but two calls
 * that had 32 where `x.shape[0]` was 8 and 20 where it was 5 do. Candidates are tried from the simplest
 * on, and must agree with every call in which both sides are known. A wrong guess costs a capture, never
 * a result: replays compare the argument with the expression.
 */
import { type Size, sizeAdd, sizeFloorDiv, sizeMod, sizeMul, sizeSub } from '@tessera/shared';
import type { SymbolEntry } from './symbol-table.js';

/** Values by number of the capture. */
export type Observations = ReadonlyMap<number, number>;

/** A symbolic value together with what it was in the calls that count. */
interface Term {
  readonly size: Size;
  readonly at: readonly number[];
}

/** Divisors tried for `floor(s / k)`; what strides, patches and heads divide by is small. */
const LARGEST_DIVISOR = 64;
/** Products of more symbols than this are not searched. */
const PRODUCT_SYMBOLS = 8;

/** The simplest expression through all observations; null if none is found. */
export function fitExpression(target: Observations, symbols: readonly SymbolEntry[]): Size | null {
  const calls = [...target.keys()];
  const usable = symbols.filter((entry) => calls.every((call) => entry.values.has(call)));
  const wanted = calls.map((call) => target.get(call)!);
  if (wanted.length < 2 || usable.length === 0) return null;
  const terms = usable.map((entry): Term => ({
    size: entry.symbol,
    at: calls.map((call) => entry.values.get(call)!),
  }));
  const products = productsOf(terms.slice(0, PRODUCT_SYMBOLS));
  return (
    firstOf([...terms, ...products], (term) => multiple(term, wanted)) ??
    firstOf(terms, (term) => linear(term, wanted)) ??
    firstOf(sumsOf(terms), (term) => linear(term, wanted)) ??
    firstOf(terms, (term) => quotient(term, wanted)) ??
    firstOf(products, (term) => linear(term, wanted) ?? quotient(term, wanted))
  );
}

function firstOf(terms: readonly Term[], fit: (term: Term) => Size | null): Size | null {
  for (const term of terms) {
    const found = fit(term);
    if (found !== null) return found;
  }
  return null;
}

/** `k * term`. */
function multiple(term: Term, wanted: readonly number[]): Size | null {
  if (term.at[0] === 0) return null;
  const k = wanted[0]! / term.at[0]!;
  if (!Number.isInteger(k) || k === 0) return null;
  return wanted.every((value, i) => value === k * term.at[i]!) ? sizeMul(term.size, k) : null;
}

/** `k * term + c`. */
function linear(term: Term, wanted: readonly number[]): Size | null {
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
function quotient(term: Term, wanted: readonly number[]): Size | null {
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

function productsOf(terms: readonly Term[]): Term[] {
  const pairs = terms.flatMap((a, i) => terms.slice(i).map((b) => times(a, b)));
  const triples = terms.flatMap((a, i) =>
    terms.slice(i + 1).flatMap((b, j) => terms.slice(i + j + 2).map((c) => times(times(a, b), c))),
  );
  return [...pairs, ...triples];
}

function times(a: Term, b: Term): Term {
  return { size: sizeMul(a.size, b.size), at: a.at.map((value, i) => value * b.at[i]!) };
}

function sumsOf(terms: readonly Term[]): Term[] {
  return terms.flatMap((a, i) =>
    terms.slice(i + 1).flatMap((b) => [
      { size: sizeAdd(a.size, b.size), at: a.at.map((value, n) => value + b.at[n]!) },
      { size: sizeSub(a.size, b.size), at: a.at.map((value, n) => value - b.at[n]!) },
    ]),
  );
}
