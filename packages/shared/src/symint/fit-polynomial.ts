/**
 * @file Fitting a polynomial of symbols through the values that an integer had.
 */
import { sizeAdd, sizeFloorDiv, sizeMul } from './size.js';
import type { Size } from './size.js';
import type { FitTerm } from './fit-size.js';
import { interpolate } from './interpolate.js';

/** Runs beyond the number of coefficients that must agree too. */
const SPARE_RUNS = 2;

/** Sum of integer (or halved) multiples of the terms and their products of two; null if there is none. */
export function fitPolynomial(terms: readonly FitTerm[], wanted: readonly number[]): Size | null {
  const ones: FitTerm = { size: 1, at: wanted.map(() => 1) };
  const linear = [ones, ...terms];
  const quadratic = terms.flatMap((a, i) =>
    terms.slice(i).map((b): FitTerm => ({
      size: sizeMul(a.size, b.size),
      at: a.at.map((value, n) => value * b.at[n]!),
    })),
  );
  return solve(linear, wanted) ?? solve([...linear, ...quadratic], wanted);
}

function solve(basis: readonly FitTerm[], wanted: readonly number[]): Size | null {
  if (wanted.length < basis.length + SPARE_RUNS || !wanted.every(Number.isSafeInteger)) return null;
  const rows = wanted.map((_, run) => basis.map((term) => term.at[run]!));
  const found = interpolate(
    rows,
    wanted.map((value) => [value]),
  )?.[0];
  if (found === undefined || found.divisor > 2) return null;
  const { terms } = found;
  let sum: Size = 0;
  for (let i = 0; i < terms.length; i += 2)
    sum = sizeAdd(sum, sizeMul(basis[terms[i]!]!.size, terms[i + 1]!));
  return found.divisor === 1 ? sum : sizeFloorDiv(sum, found.divisor);
}
