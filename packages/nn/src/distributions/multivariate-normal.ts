/**
 * @file `MultivariateNormal`, by its covariance.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, broadcastShapes, expand, matmul, randn } from '@tessera/tensor';
import { choleskyInverse, solveTriangular } from '@tessera/tensor/linalg';
import { formatSizes } from '@tessera/tensor/internal';
import { checkOptions } from '../module/check-options.js';
import { type Constraint, realVector } from './constraints.js';
import {
  COVARIANCE_OPTIONS,
  type CovarianceOptions,
  givenMatrix,
  halfLogDet,
} from './covariance.js';
import { Distribution, checkTensor } from './distribution.js';

/** Options of `MultivariateNormal`, of which one matrix is given. */
export type MultivariateNormalOptions = CovarianceOptions;

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

/** Normal vectors, [batch, K]. @see torch.distributions.MultivariateNormal */
export class MultivariateNormal extends Distribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof MultivariateNormalOptions, true>> =
    COVARIANCE_OPTIONS;

  readonly loc: Tensor;
  /** [batch, K, K], the Cholesky factor of the covariance. */
  readonly scaleTril: Tensor;

  /** @throws invalid-argument, shape-mismatch; linalg-error without checks */
  constructor(loc: Tensor, options: MultivariateNormalOptions) {
    checkTensor('loc', loc);
    checkOptions(new.target, options);
    const size = loc.sizes.at(-1);
    if (size === undefined)
      throw new TesseraError('shape-mismatch', 'loc must be at least one-dimensional.', {
        hints: ['It is [batch, K], where K is the number of components.'],
      });
    const given = givenMatrix(options);
    const { sizes } = given.matrix;
    if (sizes.at(-1) !== size)
      throw new TesseraError(
        'shape-mismatch',
        `MultivariateNormal: loc [batch, K] and a matrix [batch, K, K] expected, got ${formatSizes(loc.sizes)} and ${formatSizes(sizes)}.`,
        { hints: ['The last sizes are the number of components.'] },
      );
    const batch = broadcastShapes([loc.sizes.slice(0, -1), sizes.slice(0, -2)]);
    super(batch, [size], options);
    this.checkParameter('loc', loc, realVector);
    this.checkParameter(given.name, given.matrix, given.constraint);
    this.loc = expand(loc, [...batch, size]);
    this.scaleTril = expand(given.factor(), [...batch, size, size]);
  }

  /** [batch, K, K] */
  get covarianceMatrix(): Tensor {
    return matmul(this.scaleTril, this.scaleTril.transpose(-2, -1));
  }
  /** [batch, K, K], the inverse of the covariance. */
  get precisionMatrix(): Tensor {
    return choleskyInverse(this.scaleTril);
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
