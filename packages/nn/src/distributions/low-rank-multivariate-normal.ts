/**
 * @file `LowRankMultivariateNormal`: normal vectors whose covariance is W·Wᵀ + diag(d), with W of few columns.
 *
 * Determinant and inverse are those of the small matrix I + Wᵀ·diag(1/d)·W, the capacitance: by the matrix determinant
 * lemma and Woodbury's identity.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  broadcastShapes,
  diagEmbed,
  expand,
  eye,
  log,
  matmul,
  randn,
} from '@tessera/tensor';
import { formatSizes } from '@tessera/tensor/internal';
import { cholesky, solveTriangular } from '@tessera/tensor/linalg';
import { type Constraint, independent, positive, real, realVector } from './constraints.js';
import { halfLogDet } from './covariance.js';
import { Distribution, type DistributionOptions, checkTensor } from './distribution.js';
import { mahalanobis } from './multivariate-normal.js';

/** Adds I to matrices [batch, K, K]. */
function plusIdentity(matrices: Tensor): Tensor {
  const { dtype, device } = matrices;
  return matrices.add(eye(matrices.sizes.at(-1)!, null, { dtype, device }));
}

function refuse(message: string): never {
  throw new TesseraError('shape-mismatch', message, {
    hints: ['loc is [batch, K], covFactor [batch, K, R], covDiag [batch, K].'],
  });
}

/** Normal vectors, [batch, K]. @see torch.distributions.LowRankMultivariateNormal */
export class LowRankMultivariateNormal extends Distribution {
  readonly loc: Tensor;
  /** W, [batch, K, R] */
  readonly covFactor: Tensor;
  /** d, [batch, K] */
  readonly covDiag: Tensor;
  /** [batch, R, R], the Cholesky factor of the capacitance. */
  readonly capacitanceTril: Tensor;

  /** @throws invalid-argument, shape-mismatch */
  constructor(loc: Tensor, covFactor: Tensor, covDiag: Tensor, options: DistributionOptions = {}) {
    for (const [name, value] of Object.entries({ loc, covFactor, covDiag }))
      checkTensor(name, value);
    const size = loc.sizes.at(-1);
    if (size === undefined) refuse('loc must be at least one-dimensional.');
    if (covFactor.ndim < 2)
      refuse('covFactor must be at least two-dimensional, with optional leading batch dimensions');
    if (covFactor.sizes.at(-2) !== size)
      refuse(`covFactor must be a batch of matrices with shape ${size} x m`);
    if (covDiag.sizes.at(-1) !== size)
      refuse(`covDiag must be a batch of vectors with shape ${formatSizes([size])}`);
    const batch = broadcastShapes([
      loc.sizes.slice(0, -1),
      covFactor.sizes.slice(0, -2),
      covDiag.sizes.slice(0, -1),
    ]);
    super(batch, [size], options);
    this.checkParameter('loc', loc, realVector);
    this.checkParameter('covFactor', covFactor, independent(real, 2));
    this.checkParameter('covDiag', covDiag, independent(positive, 1));
    this.loc = expand(loc, [...batch, size]);
    this.covFactor = expand(covFactor, [...batch, size, covFactor.sizes.at(-1)!]);
    this.covDiag = expand(covDiag, [...batch, size]);
    this.capacitanceTril = cholesky(plusIdentity(matmul(this.weighted, this.covFactor)));
  }

  /** Wᵀ·diag(1/d), [batch, R, K] */
  private get weighted(): Tensor {
    return this.covFactor.mT.div(this.covDiag.unsqueeze(-2));
  }
  /** A, [batch, R, K]: the inverse of the covariance is diag(1/d) - Aᵀ·A. */
  get correction(): Tensor {
    return solveTriangular(this.capacitanceTril, this.weighted, { upper: false });
  }
  /** Half the logarithm of the covariance's determinant, [batch]. */
  get halfLogDet(): Tensor {
    return halfLogDet(this.capacitanceTril).add(log(this.covDiag).sum(-1).mul(0.5));
  }
  /** Squared length of a difference [batch, K] in deviations, [batch]. */
  mahalanobis(difference: Tensor): Tensor {
    const shifted = matmul(this.weighted, difference.unsqueeze(-1)).squeeze(-1);
    const alone = difference.square().div(this.covDiag).sum(-1);
    return alone.sub(mahalanobis(this.capacitanceTril, shifted));
  }

  /** [batch, K, K], the Cholesky factor of the covariance. */
  get scaleTril(): Tensor {
    const roots = this.covDiag.sqrt().unsqueeze(-1);
    const scaled = this.covFactor.div(roots);
    return cholesky(plusIdentity(matmul(scaled, scaled.mT))).mul(roots);
  }
  /** [batch, K, K] */
  get covarianceMatrix(): Tensor {
    return matmul(this.covFactor, this.covFactor.mT).add(diagEmbed(this.covDiag));
  }
  /** [batch, K, K], the inverse of the covariance. */
  get precisionMatrix(): Tensor {
    const { correction } = this;
    return diagEmbed(this.covDiag.reciprocal()).sub(matmul(correction.mT, correction));
  }
  get support(): Constraint {
    return realVector;
  }
  get mean(): Tensor {
    return this.loc;
  }
  get variance(): Tensor {
    return this.covFactor.square().sum(-1).add(this.covDiag);
  }
  override get mode(): Tensor {
    return this.loc;
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.loc;
    const shape = this.extended(sampleShape);
    const common = randn([...shape.slice(0, -1), this.covFactor.sizes.at(-1)!], { dtype, device });
    const own = randn(shape, { dtype, device });
    return this.loc
      .add(matmul(this.covFactor, common.unsqueeze(-1)).squeeze(-1))
      .add(this.covDiag.sqrt().mul(own));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const squares = this.mahalanobis(value.sub(this.loc));
    const constant = this.eventShape[0]! * Math.log(2 * Math.PI);
    return squares.add(constant).mul(-0.5).sub(this.halfLogDet);
  }

  override entropy(): Tensor {
    return this.halfLogDet.add((this.eventShape[0]! / 2) * (1 + Math.log(2 * Math.PI)));
  }
}
