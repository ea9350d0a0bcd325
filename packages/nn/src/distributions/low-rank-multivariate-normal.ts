/**
 * @file `LowRankMultivariateNormal`: normal vectors whose covariance is a product of a narrow matrix and a diagonal.
 *
 * Inverse and determinant are those of the capacitance I + Wᵀ D⁻¹ W, a small matrix, by Woodbury's identity.
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
  sqrt,
} from '@tessera/tensor';
import { cholesky, solveTriangular } from '@tessera/tensor/linalg';
import { formatSizes } from '@tessera/tensor/internal';
import { type Constraint, independent, positive, real, realVector } from './constraints.js';
import { halfLogDet } from './covariance.js';
import { Distribution, type DistributionOptions, checkTensor } from './distribution.js';
import { mahalanobis } from './multivariate-normal.js';

/** I + x, of matrices. */
function plusIdentity(x: Tensor): Tensor {
  const { dtype, device } = x;
  return x.add(eye(x.sizes.at(-1)!, null, { dtype, device }));
}

/** Sum of the squares of all elements of matrices. */
function squares(x: Tensor): Tensor {
  return x.square().sum([-2, -1]);
}

/** @throws shape-mismatch */
function refuse(message: string): never {
  throw new TesseraError('shape-mismatch', message, {
    hints: ['loc and covDiag are [batch, K], covFactor is [batch, K, rank].'],
  });
}

/**
 * Normal vectors with the covariance covFactor · covFactorᵀ + covDiag, [batch, K].
 *
 * @see torch.distributions.LowRankMultivariateNormal
 */
export class LowRankMultivariateNormal extends Distribution {
  readonly loc: Tensor;
  /** [batch, K, rank] */
  readonly covFactor: Tensor;
  /** [batch, K] */
  readonly covDiag: Tensor;

  /** @throws shape-mismatch, invalid-argument; linalg-error without checks */
  constructor(loc: Tensor, covFactor: Tensor, covDiag: Tensor, options: DistributionOptions = {}) {
    for (const [name, value] of Object.entries({ loc, covFactor, covDiag }))
      checkTensor(name, value);
    const size = loc.sizes.at(-1) ?? refuse('loc must be at least one-dimensional.');
    if (covFactor.ndim < 2)
      refuse('cov_factor must be at least two-dimensional, with optional leading batch dimensions');
    if (covFactor.sizes.at(-2) !== size)
      refuse(`cov_factor must be a batch of matrices with shape ${size} x m`);
    if (covDiag.sizes.at(-1) !== size)
      refuse(`cov_diag must be a batch of vectors with shape torch.Size([${size}])`);
    const leads = [
      loc.sizes.slice(0, -1),
      covFactor.sizes.slice(0, -2),
      covDiag.sizes.slice(0, -1),
    ];
    let batch: readonly number[];
    try {
      batch = broadcastShapes(leads);
    } catch {
      refuse(
        `Incompatible batch shapes: loc ${formatSizes(loc.sizes)}, cov_factor ${formatSizes(covFactor.sizes)}, cov_diag ${formatSizes(covDiag.sizes)}`,
      );
    }
    super(batch, [size], options);
    this.checkParameter('loc', loc, realVector);
    this.checkParameter('cov_factor', covFactor, independent(real, 2));
    this.checkParameter('cov_diag', covDiag, independent(positive, 1));
    this.loc = expand(loc, [...batch, size]);
    this.covFactor = expand(covFactor, [...batch, size, covFactor.sizes.at(-1)!]);
    this.covDiag = expand(covDiag, [...batch, size]);
  }

  get support(): Constraint {
    return realVector;
  }
  get mean(): Tensor {
    return this.loc;
  }
  override get mode(): Tensor {
    return this.loc;
  }
  get variance(): Tensor {
    return this.covFactor.square().sum(-1).add(this.covDiag);
  }
  /** [batch, K, K] */
  get covarianceMatrix(): Tensor {
    return matmul(this.covFactor, this.covFactor.mT).add(diagEmbed(this.covDiag));
  }
  /** [batch, K, K], the inverse of the covariance. */
  get precisionMatrix(): Tensor {
    const root = this.whitened();
    return diagEmbed(this.covDiag.reciprocal()).sub(matmul(root.mT, root));
  }
  /** [batch, K, K], the Cholesky factor of the covariance. */
  get scaleTril(): Tensor {
    // √D (I + D^-½ W Wᵀ D^-½) √D: what is decomposed has eigenvalues of 1 and more.
    const deviation = sqrt(this.covDiag).unsqueeze(-1);
    const scaled = this.covFactor.div(deviation);
    return cholesky(plusIdentity(matmul(scaled, scaled.mT))).mul(deviation);
  }

  /** Wᵀ D⁻¹, [batch, rank, K] */
  private get weighted(): Tensor {
    return this.covFactor.mT.div(this.covDiag.unsqueeze(-2));
  }
  /** The Cholesky factor of the capacitance, [batch, rank, rank] */
  private get capacitanceTril(): Tensor {
    return cholesky(plusIdentity(matmul(this.weighted, this.covFactor)));
  }
  /** C⁻¹ᐟ² Wᵀ D⁻¹, [batch, rank, K]: the precision is D⁻¹ less its square. */
  private whitened(): Tensor {
    return solveTriangular(this.capacitanceTril, this.weighted, { upper: false });
  }

  /** Half the logarithm of the covariance's determinant, [batch]. */
  halfLogDet(): Tensor {
    return halfLogDet(this.capacitanceTril).add(log(this.covDiag).sum(-1).mul(0.5));
  }
  /** Squared distance by the precision, [sample, batch], of differences [sample, batch, K]. */
  mahalanobis(difference: Tensor): Tensor {
    const seen = matmul(this.weighted, difference.unsqueeze(-1)).squeeze(-1);
    return difference
      .square()
      .div(this.covDiag)
      .sum(-1)
      .sub(mahalanobis(this.capacitanceTril, seen));
  }
  /** The trace of this precision times root · rootᵀ, of a root [batch, K, M]. */
  traceWith(root: Tensor): Tensor {
    const own = squares(root.div(sqrt(this.covDiag).unsqueeze(-1)));
    return own.sub(squares(matmul(this.whitened(), root)));
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.loc;
    const shape = this.extended(sampleShape);
    const rank = this.covFactor.sizes.at(-1)!;
    const few = randn([...shape.slice(0, -1), rank], { dtype, device });
    const own = randn(shape, { dtype, device });
    return this.loc
      .add(matmul(this.covFactor, few.unsqueeze(-1)).squeeze(-1))
      .add(sqrt(this.covDiag).mul(own));
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const constant = this.eventShape[0]! * Math.log(2 * Math.PI);
    return this.mahalanobis(value.sub(this.loc)).add(constant).mul(-0.5).sub(this.halfLogDet());
  }

  override entropy(): Tensor {
    return this.halfLogDet().add((this.eventShape[0]! / 2) * (1 + Math.log(2 * Math.PI)));
  }
}
