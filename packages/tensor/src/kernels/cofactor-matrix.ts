/**
 * @file The matrix of cofactors, which is the derivative of the determinant, of singular matrices too.
 */
import { invertMatrices, luFactor, swapSign, transposed } from './dense-matrix.js';
import { singularValues } from './singular-values.js';

/** A diagonal of U below this share of its largest element is taken for that of a singular matrix. */
const SINGULAR = 1e-9;

function determinant(values: Float64Array, n: number): number {
  const lu = values.slice();
  let product = swapSign(luFactor(lu, 1, n).pivots, 0, n);
  for (let i = 0; i < n; i++) product *= lu[i * n + i]!;
  return product;
}

/** Cofactors of a square row-major matrix: det(A) · A⁻ᵀ where A has an inverse, NaN where an element is not finite. */
export function cofactorMatrix(values: Float64Array, n: number): Float64Array {
  if (!values.every(Number.isFinite)) return new Float64Array(n * n).fill(NaN);
  const lu = values.slice();
  luFactor(lu, 1, n);
  const diagonal = Array.from({ length: n }, (_, i) => Math.abs(lu[i * n + i]!));
  if (Math.min(...diagonal) > SINGULAR * Math.max(...diagonal)) {
    const scale = determinant(values, n);
    const inverse = values.slice();
    invertMatrices(inverse, 1, n);
    return transposed(inverse, n, n).map((value) => value * scale);
  }
  // Σ u[k] v[k]ᵀ · (the product of all other singular values) · det(u) det(v).
  const { u, s, v } = singularValues(values, n, n, 'full');
  const rows = (columns: readonly Float64Array[]): Float64Array =>
    Float64Array.from({ length: n * n }, (_, i) => columns[Math.floor(i / n)]![i % n]!);
  const sign = Math.round(determinant(rows(u), n) * determinant(rows(v), n));
  const out = new Float64Array(n * n);
  for (let k = 0; k < n; k++) {
    const others = s.reduce((product, value, i) => (i === k ? product : product * value), sign);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) out[i * n + j]! += others * u[k]![i]! * v[k]![j]!;
  }
  return out;
}
