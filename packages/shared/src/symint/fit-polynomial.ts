/**
 * @file Fitting a polynomial of symbols through the values that an integer had.
 */
import { sizeAdd, sizeFloorDiv, sizeMul } from './size.js';
import type { Size } from './size.js';
import type { FitTerm } from './fit-size.js';

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
  if (wanted.length < basis.length + SPARE_RUNS) return null;
  const solution = leastRows(basis, wanted);
  if (solution === null) return null;
  for (const scale of [1, 2]) {
    const coeffs = solution.map((value) => Math.round(value * scale) + 0);
    const exact = wanted.every(
      (value, row) =>
        basis.reduce((total, term, i) => total + coeffs[i]! * term.at[row]!, 0) === value * scale,
    );
    if (!exact) continue;
    const sum = basis.reduce(
      (total: Size, term, i) => sizeAdd(total, sizeMul(term.size, coeffs[i]!)),
      0,
    );
    return scale === 1 ? sum : sizeFloorDiv(sum, scale);
  }
  return null;
}

/** The coefficients that satisfy as many rows as there are coefficients, chosen by pivoting. */
function leastRows(basis: readonly FitTerm[], wanted: readonly number[]): number[] | null {
  const width = basis.length;
  const rows = wanted.map((value, row) => [...basis.map((term) => term.at[row]!), value]);
  for (let column = 0; column < width; column++) {
    let pivot = column;
    for (let row = column + 1; row < rows.length; row++)
      if (Math.abs(rows[row]![column]!) > Math.abs(rows[pivot]![column]!)) pivot = row;
    if (Math.abs(rows[pivot]![column]!) < 1e-9) return null;
    [rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!];
    for (let row = 0; row < rows.length; row++) {
      if (row === column) continue;
      const factor = rows[row]![column]! / rows[column]![column]!;
      if (factor === 0) continue;
      for (let i = column; i <= width; i++) rows[row]![i]! -= factor * rows[column]![i]!;
    }
  }
  return basis.map((_, i) => rows[i]![width]! / rows[i]![i]!);
}
