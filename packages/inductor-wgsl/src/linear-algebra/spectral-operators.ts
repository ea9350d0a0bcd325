/**
 * @file Operators of linear algebra on WebGPU that are made of singular values: decompositions, inverses and solutions
 * of what has none, and cofactors.
 */
import {
  type Tensor,
  cat,
  cumprod,
  flip,
  matmul,
  maximum,
  narrow,
  ones,
  where,
} from '@tessera/tensor';
import { determinants, matrixSizes, mirrored, turned } from './factorizations.js';
import type { MatrixOperator } from './matrix-operator.js';
import { singularValues, symmetricEigen } from './singular-values.js';

/** Precision of float32. */
const EPSILON = 2 ** -23;

/** det(A) · A⁻ᵀ of any matrix: with A = U S Vᵀ, U (products of all singular values but one) Vᵀ, and both signs. */
export const cofactor: MatrixOperator<{ A: Tensor }> = (runtime, { A }, [out]) => {
  const [u, s, v] = singularValues(runtime, A, 'reduced');
  const first = ones([...s.sizes.slice(0, -1), 1], { device: 'wgpu' });
  const k = s.sizes.at(-1)!;
  const before = (x: Tensor): Tensor => cat([first, narrow(cumprod(x, -1), -1, 0, k - 1)], -1);
  const others = before(s).mul(flip(before(flip(s, [-1])), [-1]));
  const signs = determinants(runtime, u!)
    .mul(determinants(runtime, v!))
    .unsqueeze(-1)
    .unsqueeze(-1);
  out.copy_(matmul(u!.mul(others.unsqueeze(-2)), turned(v!)).mul(signs));
};

export const eigh: MatrixOperator<{ A: Tensor; UPLO: string; compute_v: boolean }> = (
  runtime,
  { A, UPLO, compute_v },
  [values, vectors],
) => {
  const [found, along] = symmetricEigen(runtime, mirrored(A, UPLO.toUpperCase() === 'U'));
  values.copy_(found);
  if (compute_v) vectors.copy_(along);
};

export const svd: MatrixOperator<{ A: Tensor; full_matrices: boolean; compute_uv: boolean }> = (
  runtime,
  { A, full_matrices, compute_uv },
  [uOut, sOut, vhOut],
) => {
  const wanted = !compute_uv ? 'none' : full_matrices ? 'full' : 'reduced';
  const [u, s, v] = singularValues(runtime, A, wanted);
  sOut.copy_(s);
  if (u === null || v === null) return;
  uOut.copy_(u);
  vhOut.copy_(turned(v));
};

export const pinv: MatrixOperator<{
  self: Tensor;
  atol: Tensor | null;
  rtol: Tensor | null;
  hermitian: boolean;
}> = (runtime, { self, atol, rtol, hermitian }, [out]) => {
  const [u, s, v] = singularValues(runtime, hermitian ? mirrored(self, false) : self, 'reduced');
  const usual = Math.max(...matrixSizes(self)) * EPSILON;
  const largest = narrow(s, -1, 0, 1);
  const wide = (limit: Tensor): Tensor => limit.to('float32').unsqueeze(-1);
  // Without a relative limit, one is implied unless there is an absolute one.
  const share =
    rtol !== null ? wide(rtol) : atol === null ? usual : where(wide(atol).gt(0), 0, usual);
  const relative = largest.mul(share);
  const limit = atol === null ? relative : maximum(wide(atol), relative);
  const scale = where(s.gt(limit), s.reciprocal(), 0);
  out.copy_(matmul(v!.mul(scale.unsqueeze(-2)), turned(u!)));
};

export const leastSquares: MatrixOperator<{ self: Tensor; b: Tensor; rcond: number | null }> = (
  runtime,
  { self: a, b, rcond },
  [solution, residuals, rank, singular],
) => {
  const [u, s, v] = singularValues(runtime, a, 'reduced');
  const limit = rcond ?? Math.max(...matrixSizes(a)) * EPSILON;
  const used = s.gt(narrow(s, -1, 0, 1).mul(limit));
  const isVector = b.ndim < a.ndim;
  const right = isVector ? b.unsqueeze(-1) : b;
  const scale = where(used, s.reciprocal(), 0).unsqueeze(-1);
  const x = matmul(v!, matmul(turned(u!), right).mul(scale));
  solution.copy_(isVector ? x.squeeze(-1) : x);
  if (residuals.numel > 0) {
    const missed = matmul(a, x).sub(right).square().sum(-2);
    residuals.copy_(isVector ? missed.squeeze(-1) : missed);
  }
  if (rank.numel > 0) rank.copy_(used.sum(-1));
  if (singular.numel > 0) singular.copy_(s);
};
