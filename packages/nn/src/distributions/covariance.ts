/**
 * @file A covariance by itself, its inverse or its Cholesky factor: what `MultivariateNormal` and `Wishart` are made of.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, broadcastShapes, expand, eye, flip, log } from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import { cholesky, solveTriangular } from '@tessera/tensor/linalg';
import { type Constraint, lowerCholesky, positiveDefinite } from './constraints.js';
import { type DistributionOptions, checkTensor } from './distribution.js';

/** Options of distributions with a covariance, of which one matrix is given. */
export interface CovarianceOptions extends DistributionOptions {
  /** [batch, K, K], lower triangular with a positive diagonal: scaleTril · scaleTrilᵀ is the covariance. */
  readonly scaleTril?: Tensor;
  /** [batch, K, K], symmetric and positive definite. */
  readonly covarianceMatrix?: Tensor;
  /** [batch, K, K], the inverse of the covariance. */
  readonly precisionMatrix?: Tensor;
}

/** Names of these options. */
export const COVARIANCE_OPTIONS: Readonly<Record<keyof CovarianceOptions, true>> = {
  covarianceMatrix: true,
  precisionMatrix: true,
  scaleTril: true,
  validateArgs: true,
};

/** The Cholesky factor of the inverse of a precision, by the factor of the precision with both dimensions reversed. */
function factorOfInverse(precision: Tensor): Tensor {
  const reversed = cholesky(flip(precision, [-2, -1]));
  const lower = flip(reversed, [-2, -1]).transpose(-2, -1);
  const { dtype, device } = precision;
  const identity = eye(precision.sizes.at(-1)!, null, { dtype, device });
  return solveTriangular(lower, expand(identity, precision.sizes), { upper: false });
}

const NAMES = ['covarianceMatrix', 'precisionMatrix', 'scaleTril'] as const;

/** The matrix that was given. */
export interface GivenMatrix {
  readonly name: (typeof NAMES)[number];
  /** [batch, K, K] */
  readonly matrix: Tensor;
  readonly constraint: Constraint;
  /** The Cholesky factor of the covariance. @throws linalg-error, dtype-unsupported */
  factor(): Tensor;
}

/** @throws invalid-argument unless one matrix is given; shape-mismatch */
export function givenMatrix(options: CovarianceOptions | undefined): GivenMatrix {
  const given = NAMES.filter((each) => options?.[each] !== undefined);
  const [name] = given;
  const matrix = name === undefined ? undefined : options?.[name];
  if (given.length !== 1 || name === undefined || matrix === undefined)
    throw new TesseraError(
      'invalid-argument',
      'Exactly one of covarianceMatrix or precisionMatrix or scaleTril may be specified.',
      { hints: ['scaleTril is the Cholesky factor of the covariance, which saves computing it.'] },
    );
  checkTensor(name, matrix);
  if (matrix.ndim < 2)
    throw new TesseraError(
      'shape-mismatch',
      `${name} must be at least two-dimensional, with optional leading batch dimensions`,
      { hints: ['It is [batch, K, K], where K is the number of components.'] },
    );
  if (matrix.sizes.at(-1) !== matrix.sizes.at(-2))
    throw new TesseraError(
      'shape-mismatch',
      `${name}: a matrix [batch, K, K] expected, got ${formatSizes(matrix.sizes)}.`,
      { hints: ['K is the number of components.'] },
    );
  return {
    name,
    matrix,
    constraint: name === 'scaleTril' ? lowerCholesky : positiveDefinite,
    factor: () => {
      if (name === 'scaleTril') return matrix;
      return name === 'covarianceMatrix' ? cholesky(matrix) : factorOfInverse(matrix);
    },
  };
}

/** Half the logarithm of the covariance's determinant, [batch]. */
export function halfLogDet(scaleTril: Tensor): Tensor {
  return log(scaleTril.diagonal(0, -2, -1)).sum(-1);
}

/** The trace of M·Mᵀ, [batch]. */
export function trace(matrices: Tensor): Tensor {
  return matrices.square().sum([-2, -1]);
}

/** L⁻¹·M, both with their batches broadcast. */
export function solved(lower: Tensor, matrices: Tensor): Tensor {
  const batch = broadcastShapes([lower.sizes.slice(0, -2), matrices.sizes.slice(0, -2)]);
  const all = (x: Tensor): Tensor => expand(x, [...batch, ...x.sizes.slice(-2)]);
  return solveTriangular(all(lower), all(matrices), { upper: false });
}
