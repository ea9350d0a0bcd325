/**
 * @file Cholesky factors of symmetric positive-definite matrices, and what they solve.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { choleskyFactor, transposed } from '../../kernels/dense-matrix.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { clone } from '../arrange/copy.js';
import { eye } from '../factory/range.js';
import { tril } from '../indexing/triangle.js';
import { matmul } from '../matmul/composite.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { mT } from '../view/dims.js';
import { batchCount, checkInfos, checkSquare, columnMajorMeta, rowMajorMeta } from './shape.js';
import { solveTriangular } from './solve-triangular.js';

/** @see cholesky_backward in PyTorch's FunctionsManual */
function choleskyGradient(grad: Tensor, lower: Tensor): Tensor {
  const product = matmul(mT(lower), grad);
  const symmetric = mul(add(tril(product), mT(tril(product, -1))), 0.5);
  const left = solveTriangular(mT(lower), symmetric, { upper: true });
  return solveTriangular(lower, left, { upper: false, left: false });
}

const choleskyExOp = defineOp(
  'aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)',
  {
    tags: ['compute-intensive'],
    meta: ({ self: x }) => {
      checkSquare('linalg.cholesky', x);
      return [columnMajorMeta(x.sizes, x), rowMajorMeta(x.sizes.slice(0, -2), x, 'int32')];
    },
    kernel: ({ self: x, upper, check_errors }, [out, info]) => {
      const n = x.sizes.at(-1)!;
      const values = readNumbers(x);
      const infos = Float64Array.from({ length: batchCount(x) }, (_, b) => {
        const part = values.subarray(b * n * n, (b + 1) * n * n);
        if (upper !== true) part.set(transposed(part, n, n));
        const at = choleskyFactor(part, n);
        if (upper !== true) part.set(transposed(part, n, n));
        return at;
      });
      if (check_errors === true)
        checkInfos(
          'linalg.cholesky',
          infos,
          x.ndim > 2,
          (at) =>
            `The factorization could not be completed because the input is not positive-definite (the leading minor of order ${at} is not positive-definite).`,
          'Add a small multiple of the identity, or use linalg.eigh().',
        );
      writeNumbers(out!, values);
      writeNumbers(info!, infos);
    },
    saved: ['out.0'],
    vjp: ({ upper }, { grad, outs }) => ({
      self: () =>
        upper === true
          ? choleskyGradient(mT(grad), mT(outs[0]!))
          : choleskyGradient(grad, outs[0]!),
    }),
  },
);
const choleskyOp = defineOp('aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor', {
  decompose: ({ self, upper }) => callOp(choleskyExOp, [self, upper, true])[0],
});

/** Column by column in memory, as LAPACK leaves solutions. */
function columnMajor(x: Tensor): Tensor {
  return mT(clone(mT(x), { memoryFormat: 'contiguous' }));
}

/** (L Lᵀ)⁻¹ b, or (Uᵀ U)⁻¹ b. */
function solveWithFactor(b: Tensor, factor: Tensor, upper: boolean): Tensor {
  const lower = upper ? mT(factor) : factor;
  const half = solveTriangular(lower, b, { upper: false });
  return solveTriangular(mT(lower), half, { upper: true });
}

const choleskySolveOp = defineOp(
  'aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor',
  {
    decompose: ({ self: b, input2: factor, upper }) => {
      if (b.ndim < 2)
        throw new TesseraError(
          'invalid-dim',
          `b should have at least 2 dimensions, but has ${b.ndim} dimensions instead`,
          { hints: ['Make a matrix of one column: b.unsqueeze(-1).'] },
        );
      checkSquare('cholesky_solve', factor);
      const [rows, columns] = b.sizes.slice(-2);
      const n = factor.sizes.at(-1);
      if (rows !== n)
        throw new TesseraError(
          'shape-mismatch',
          `Incompatible matrix sizes for cholesky_solve: each A matrix is ${n} by ${n} but each b matrix is ${rows} by ${columns}`,
          { hints: ['b has as many rows as the factor.'] },
        );
      return solveWithFactor(b, factor, upper);
    },
  },
);

const choleskyInverseOp = defineOp(
  'aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor',
  {
    decompose: ({ self: factor, upper }) => {
      checkSquare('cholesky_inverse', factor);
      const one = eye(factor.sizes.at(-1)!, null, { dtype: factor.dtype, device: factor.device });
      return columnMajor(solveWithFactor(one, factor, upper));
    },
  },
);

const UPPER: OptionNames<{ readonly upper?: boolean }> = { upper: true };

/** Lower L with L @ Lᵀ = self (upper U with Uᵀ @ U = self if `upper`); reads that triangle of self. @throws linalg-error unless positive-definite, shape-mismatch, invalid-dim, dtype-unsupported */
export function cholesky(self: Tensor, options?: { readonly upper?: boolean }): Tensor {
  checkOptionNames('cholesky', options, UPPER);
  return callOp(choleskyOp, [self, options?.upper ?? false]);
}

/** Options of `choleskyEx`. */
export interface CholeskyExOptions {
  readonly upper?: boolean;
  /** Whether matrices that are not positive-definite throw. */
  readonly checkErrors?: boolean;
}
const CHOLESKY_EX: OptionNames<CholeskyExOptions> = { upper: true, checkErrors: true };

/** The factor, and for each matrix 0 or the order of the first leading minor that is not positive. @throws linalg-error, shape-mismatch, invalid-dim, dtype-unsupported */
export function choleskyEx(
  self: Tensor,
  options: CholeskyExOptions = {},
): [factor: Tensor, info: Tensor] {
  checkOptionNames('choleskyEx', options, CHOLESKY_EX);
  const { upper = false, checkErrors = false } = options;
  return callOp(choleskyExOp, [self, upper, checkErrors]);
}

/** The solution X of A @ X = b, where `factor` is the Cholesky factor of A. @throws shape-mismatch, invalid-dim, dtype-unsupported */
export function choleskySolve(
  b: Tensor,
  factor: Tensor,
  options?: { readonly upper?: boolean },
): Tensor {
  checkOptionNames('choleskySolve', options, UPPER);
  return callOp(choleskySolveOp, [b, factor, options?.upper ?? false]);
}

/** The inverse of A from its Cholesky factor. @throws shape-mismatch, invalid-dim, dtype-unsupported */
export function choleskyInverse(factor: Tensor, options?: { readonly upper?: boolean }): Tensor {
  checkOptionNames('choleskyInverse', options, UPPER);
  return callOp(choleskyInverseOp, [factor, options?.upper ?? false]);
}
