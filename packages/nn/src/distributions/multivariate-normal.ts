/**
 * @file `MultivariateNormal`, by the Cholesky factor of its covariance.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  broadcastShapes,
  expand,
  eye,
  flip,
  log,
  matmul,
  randn,
} from '@tessera/tensor';
import { cholesky, solveTriangular } from '@tessera/tensor/linalg';
import { formatSizes } from '@tessera/tensor/internal';
import { checkOptions } from '../module/check-options.js';
import { type Constraint, lowerCholesky, realVector } from './constraints.js';
import { Distribution, type DistributionOptions, checkTensor } from './distribution.js';

/** Options of `MultivariateNormal`. */
export interface MultivariateNormalOptions extends DistributionOptions {
  /** [batch, K, K], lower triangular with a positive diagonal: scaleTril · scaleTrilᵀ is the covariance. */
  readonly scaleTril?: Tensor;
  /** [batch, K, K], symmetric and positive definite. */
  readonly covarianceMatrix?: Tensor;
  /** [batch, K, K], the inverse of the covariance. */
  readonly precisionMatrix?: Tensor;
}

/** The Cholesky factor of the inverse of a precision, by the factor of the precision with both dimensions reversed. */
function factorOfInverse(precision: Tensor): Tensor {
  const reversed = cholesky(flip(precision, [-2, -1]));
  const lower = flip(reversed, [-2, -1]).transpose(-2, -1);
  const { dtype, device } = precision;
  const identity = eye(precision.sizes.at(-1)!, null, { dtype, device });
  return solveTriangular(lower, expand(identity, precision.sizes), { upper: false });
}

/** The one of the three matrices that was given, as a Cholesky factor. @throws invalid-argument, and as `cholesky` does */
function factorOf(options: MultivariateNormalOptions): Tensor {
  const { scaleTril, covarianceMatrix, precisionMatrix } = options;
  const given = [scaleTril, covarianceMatrix, precisionMatrix].filter((m) => m !== undefined);
  if (given.length !== 1)
    throw new TesseraError(
      'invalid-argument',
      `MultivariateNormal: exactly one of covarianceMatrix, precisionMatrix and scaleTril may be specified, not ${given.length}.`,
      { hints: ['scaleTril is the Cholesky factor of the covariance, which saves computing it.'] },
    );
  const [matrix] = given;
  checkTensor('A matrix of MultivariateNormal', matrix);
  if (matrix.ndim < 2 || matrix.sizes.at(-1) !== matrix.sizes.at(-2))
    throw new TesseraError(
      'shape-mismatch',
      `MultivariateNormal: a matrix [batch, K, K] expected, got ${formatSizes(matrix.sizes)}.`,
      { hints: ['K is the number of components.'] },
    );
  if (scaleTril !== undefined) return scaleTril;
  return covarianceMatrix === undefined ? factorOfInverse(matrix) : cholesky(matrix);
}

/** Squared length of L⁻¹ difference, [batch]: how many deviations away, for difference [batch, K]. */
export function mahalanobis(scaleTril: Tensor, difference: Tensor): Tensor {
  const lead = broadcastShapes([scaleTril.sizes.slice(0, -2), difference.sizes.slice(0, -1)]);
  const size = scaleTril.sizes.at(-1)!;
  const solved = solveTriangular(
    expand(scaleTril, [...lead, size, size]),
    expand(difference, [...lead, size]).unsqueeze(-1),
    { upper: false },
  );
  return solved.squeeze(-1).square().sum(-1);
}

/** Half the logarithm of the covariance's determinant, [batch]. */
export function halfLogDet(scaleTril: Tensor): Tensor {
  return log(scaleTril.diagonal(0, -2, -1)).sum(-1);
}

/** Normal vectors, [batch, K]. @see torch.distributions.MultivariateNormal */
export class MultivariateNormal extends Distribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof MultivariateNormalOptions, true>> = {
    covarianceMatrix: true,
    precisionMatrix: true,
    scaleTril: true,
    validateArgs: true,
  };

  readonly loc: Tensor;
  readonly scaleTril: Tensor;

  /** @throws invalid-argument, shape-mismatch */
  constructor(loc: Tensor, options: MultivariateNormalOptions) {
    checkTensor('loc', loc);
    checkOptions(new.target, options);
    const scaleTril = factorOf(options ?? {});
    const size = loc.sizes.at(-1);
    if (size === undefined || scaleTril.ndim < 2 || scaleTril.sizes.at(-1) !== size)
      throw new TesseraError(
        'shape-mismatch',
        `MultivariateNormal: loc [batch, K] and a matrix [batch, K, K] expected, got ${formatSizes(loc.sizes)} and ${formatSizes(scaleTril.sizes)}.`,
        { hints: ['The last sizes are the number of components.'] },
      );
    const batch = broadcastShapes([loc.sizes.slice(0, -1), scaleTril.sizes.slice(0, -2)]);
    super(batch, [size], options);
    this.loc = expand(loc, [...batch, size]);
    this.scaleTril = expand(scaleTril, [...batch, size, size]);
    this.checkParameter('loc', loc, realVector);
    this.checkParameter('scaleTril', scaleTril, lowerCholesky);
  }

  /** [batch, K, K] */
  get covarianceMatrix(): Tensor {
    return matmul(this.scaleTril, this.scaleTril.transpose(-2, -1));
  }
  get support(): Constraint {
    return realVector;
  }
  get mean(): Tensor {
    return this.loc;
  }
  get variance(): Tensor {
    return this.scaleTril.square().sum(-1);
  }
  override get mode(): Tensor {
    return this.loc;
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.loc;
    const normal = randn(this.extended(sampleShape), { dtype, device });
    return matmul(this.scaleTril, normal.unsqueeze(-1)).squeeze(-1).add(this.loc);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const squares = mahalanobis(this.scaleTril, value.sub(this.loc));
    const constant = this.eventShape[0]! * Math.log(2 * Math.PI);
    return squares.add(constant).mul(-0.5).sub(halfLogDet(this.scaleTril));
  }

  override entropy(): Tensor {
    const size = this.eventShape[0]!;
    return halfLogDet(this.scaleTril).add((size / 2) * (1 + Math.log(2 * Math.PI)));
  }
}
