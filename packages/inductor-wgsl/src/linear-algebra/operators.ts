/**
 * @file The operators of linear algebra on WebGPU, by name: each fills the tensors that its meta rule asked for.
 *
 * They run in eager calls, and between two plans of a compiled function. Errors of matrices come with the next awaited
 * read, as those of indices do.
 */
import {
  type Tensor,
  clamp,
  log2,
  matmul,
  narrow,
  prod,
  triu,
  where,
  zeros,
} from '@tessera/tensor';
import {
  choleskyFactor,
  countOf,
  determinantParts,
  determinants,
  factor,
  identities,
  matrixCheck,
  matrixSizes,
  qrFactors,
  reflect,
  solveFactored,
  solveTriangle,
  turned,
} from './factorizations.js';
import { LDL, SOLVE_LDL } from './ldl.js';
import { PERMUTATION } from './lu.js';
import type { MatrixOperator } from './matrix-operator.js';
import { runMatrixCode } from './matrix-program.js';
import { cofactor, eigh, leastSquares, pinv, svd } from './spectral-operators.js';
import { COLUMNS } from './triangular.js';

const NOT_POSITIVE = matrixCheck(
  'linalg.cholesky',
  'The factorization could not be completed because the input is not positive-definite (the leading minor of order % is not positive-definite).',
  'Add a small multiple of the identity, or use linalg.eigh().',
);
const SINGULAR_FACTOR = matrixCheck(
  'torch.linalg.lu_factor',
  'U[%,%] is zero and using it on lu_solve would result in a division by zero.',
  'linalg.lu() and linalg.luFactorEx() factor such matrices too.',
);
const SINGULAR_SYSTEM = matrixCheck(
  'torch.linalg.solve',
  'The solver failed because the input matrix is singular.',
  'linalg.pinv() finds the best solution that there is.',
);
const SINGULAR = matrixCheck(
  'linalg.inv',
  'The diagonal element % is zero, the inversion could not be completed because the input matrix is singular.',
  'linalg.pinv() inverts what can be inverted; linalg.invEx() reports instead of throwing.',
);

const SINGULAR_LDL = matrixCheck(
  'torch.linalg.ldl_factor',
  'D[%,%] is zero and using it on ldl_solve would result in a division by zero.',
  'linalg.ldlFactorEx() factors such matrices too.',
);

interface Checked {
  readonly check_errors: boolean;
}

const cholesky: MatrixOperator<{ self: Tensor; upper: boolean } & Checked> = (
  runtime,
  { self, upper, check_errors },
  [out, info],
) => {
  out.copy_(self);
  choleskyFactor(runtime, upper ? turned(out) : out, info, check_errors ? NOT_POSITIVE : null);
};

const luFactor: MatrixOperator<{ A: Tensor; pivot: boolean } & Checked> = (
  runtime,
  { A, pivot, check_errors },
  [lu, pivots, info],
) => {
  lu.copy_(A);
  factor(runtime, [lu, pivots, info], { pivot, check: check_errors ? SINGULAR_FACTOR : null });
};

const permutation: MatrixOperator<{ pivots: Tensor; rows: number; inverse: boolean }> = (
  runtime,
  { pivots, rows, inverse },
  [out],
) => {
  runMatrixCode(runtime, PERMUTATION, [pivots.contiguous(), out.clone(), out], {
    count: out.numel / rows,
    launches: [[pivots.sizes.at(-1)!, rows, Number(inverse)]],
  });
};

const triangular: MatrixOperator<{
  self: Tensor;
  B: Tensor;
  upper: boolean;
  left: boolean;
  unitriangular: boolean;
}> = (runtime, { self, B, upper, left, unitriangular: unit }, [out]) => {
  out.copy_(B);
  const a = self.expand([...out.sizes.slice(0, -2), ...self.sizes.slice(-2)]);
  // X A = B is Aᵀ Xᵀ = Bᵀ.
  if (left) solveTriangle(runtime, a, out, { upper, unit });
  else solveTriangle(runtime, turned(a), turned(out), { upper: !upper, unit });
};

const solve: MatrixOperator<{ A: Tensor; B: Tensor; left: boolean } & Checked> = (
  runtime,
  { A, B, left, check_errors },
  [out, lu, pivots, info],
) => {
  lu.copy_(left ? A : turned(A));
  factor(runtime, [lu, pivots, info], { check: check_errors ? SINGULAR_SYSTEM : null });
  const isVector =
    B.ndim === 1 || (A.ndim - 1 === B.ndim && B.sizes.every((size, i) => size === A.sizes[i]));
  const b = isVector ? B.unsqueeze(-1) : B;
  const right = b.expand(isVector ? [...out.sizes, 1] : out.sizes);
  const x = (left ? right : turned(right)).clone({ memoryFormat: 'contiguous' });
  solveFactored(runtime, [lu, pivots], x);
  out.copy_(isVector ? x.squeeze(-1) : left ? x : turned(x));
};

const inverse: MatrixOperator<{ A: Tensor } & Checked> = (
  runtime,
  { A, check_errors },
  [out, info],
) => {
  const n = A.sizes.at(-1)!;
  const lu = A.clone({ memoryFormat: 'contiguous' });
  const pivots = zeros(A.sizes.slice(0, -1), { dtype: 'int32', device: 'wgpu' });
  factor(runtime, [lu, pivots, info], { check: check_errors ? SINGULAR : null });
  const x = identities(A.sizes.slice(0, -2), n, n);
  solveFactored(runtime, [lu, pivots], x);
  out.copy_(x);
};

const determinant: MatrixOperator<{ A: Tensor }> = (runtime, { A }, [out, lu, pivots]) => {
  out.copy_(determinants(runtime, A, [lu, pivots]));
};

const logDeterminant: MatrixOperator<{ A: Tensor }> = (
  runtime,
  { A },
  [signOut, out, lu, pivots],
) => {
  const [values, sign] = determinantParts(runtime, A, [lu, pivots]);
  signOut.copy_(prod(values.sign(), -1).mul(sign));
  out.copy_(values.abs().log().sum(-1));
};

const qr: MatrixOperator<{ A: Tensor; mode: string }> = (runtime, { A, mode }, [q, r]) => {
  const rows = r.sizes.at(-2)!;
  const [packed, made] = qrFactors(runtime, A, mode === 'r' ? 0 : rows);
  r.copy_(triu(narrow(packed, -2, 0, rows)));
  if (mode !== 'r') q.copy_(made);
};

const reflections: MatrixOperator<{ self: Tensor }> = (runtime, { self }, [a, tau]) => {
  a.copy_(self);
  reflect(runtime, a, tau);
};

const ldlFactor: MatrixOperator<{ self: Tensor } & Checked> = (
  runtime,
  { self, check_errors },
  [ld, pivots, info],
) => {
  ld.copy_(self);
  runMatrixCode(runtime, LDL, [ld, pivots, info], {
    count: countOf(ld),
    launches: [[matrixSizes(ld)[0]]],
    check: check_errors ? SINGULAR_LDL : null,
  });
};

const ldlSolve: MatrixOperator<{ LD: Tensor; pivots: Tensor; B: Tensor }> = (
  runtime,
  { LD, pivots, B },
  [out],
) => {
  out.copy_(B);
  const batch = out.sizes.slice(0, -2);
  const [n, width] = matrixSizes(out);
  const swaps = pivots.to('int32').expand([...batch, n]);
  const factors = [LD.expand([...batch, n, n]), swaps].map((x) => x.contiguous());
  runMatrixCode(runtime, SOLVE_LDL, [...factors, out], {
    count: countOf(out),
    parts: Math.ceil(width / COLUMNS),
    launches: [[n, width]],
  });
};

/** Terms of the series for norms up to 2, and squarings, each of which doubles errors: norms beyond those give NaN. */
const TERMS = 14;
const SQUARINGS = 22;

const matrixExp: MatrixOperator<{ self: Tensor }> = (_, { self: given }, [out]) => {
  // Halves are computed as all kernels compute them.
  const self = given.to('float32');
  const n = self.sizes.at(-1)!;
  const norm = self.abs().sum(-1).amax(-1, { keepdim: true }).unsqueeze(-1);
  const halvings = clamp(log2(norm).ceil().sub(1), 0, SQUARINGS);
  const scaled = self.mul(halvings.neg().exp2());
  const one = identities(self.sizes.slice(0, -2), n, n);
  let total = one;
  for (let term = TERMS; term > 0; term--) total = matmul(scaled, total).div(term).add(one);
  for (let step = 0; step < SQUARINGS; step++)
    total = where(halvings.gt(step), matmul(total, total), total);
  out.copy_(where(norm.gt(2 ** (SQUARINGS + 1)), NaN, total));
};

/** By qualified name; `Args` is what the operator's schema says. */
export const MATRIX_OPERATORS: ReadonlyMap<string, MatrixOperator<never>> = new Map<
  string,
  MatrixOperator<never>
>([
  ['aten::linalg_cholesky_ex', cholesky],
  ['aten::linalg_lu_factor_ex', luFactor],
  ['tessera::pivots_to_permutation', permutation],
  ['aten::linalg_solve_triangular', triangular],
  ['aten::_linalg_solve_ex', solve],
  ['aten::linalg_inv_ex', inverse],
  ['aten::_linalg_det', determinant],
  ['aten::_linalg_slogdet', logDeterminant],
  ['tessera::linalg_cofactor', cofactor],
  ['aten::linalg_qr', qr],
  ['aten::geqrf', reflections],
  ['aten::_linalg_eigh', eigh],
  ['aten::_linalg_svd', svd],
  ['aten::linalg_pinv.atol_rtol_tensor', pinv],
  ['aten::linalg_lstsq', leastSquares],
  ['aten::linalg_ldl_factor_ex', ldlFactor],
  ['aten::linalg_ldl_solve', ldlSolve],
  ['aten::linalg_matrix_exp', matrixExp],
]);
