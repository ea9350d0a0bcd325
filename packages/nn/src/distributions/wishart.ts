/**
 * @file `Wishart`: covariances of normal vectors, by the decomposition of Bartlett.
 */
import {
  type Tensor,
  arange,
  broadcastShapes,
  clampMin,
  diagEmbed,
  digamma,
  expand,
  isTensor,
  matmul,
  randn,
  tril,
  where,
} from '@tessera/tensor';
import { choleskyInverse, choleskySolve, slogdet } from '@tessera/tensor/linalg';
import { multigammaln } from '@tessera/tensor/special';
import { scalarTensor } from '@tessera/tensor/internal';
import { checkOptions } from '../module/check-options.js';
import { type Constraint, greaterThan, positiveDefinite } from './constraints.js';
import {
  COVARIANCE_OPTIONS,
  type CovarianceOptions,
  givenMatrix,
  halfLogDet,
  solved,
  trace,
} from './covariance.js';
import { Distribution, type ParameterLike, checkTensor } from './distribution.js';
import { Chi2 } from './gamma.js';
import { limitsOf } from './transforms-elementwise.js';

/** Options of `Wishart`, of which one matrix is given. */
export type WishartOptions = CovarianceOptions;

/** The derivative of multigammaln: Σ ψ(x - i / 2) for i < size. */
function multidigamma(x: Tensor, size: number): Tensor {
  const { dtype, device } = x;
  const shifts = arange(size, { dtype, device }).mul(-0.5);
  return digamma(x.unsqueeze(-1).add(shifts)).sum(-1);
}

/**
 * Σ xᵢ xᵢᵀ of `df` normal vectors with a covariance, [batch, K, K]; df may be any number above K - 1. Samples may be
 * singular where it is below K.
 *
 * @see torch.distributions.Wishart
 */
export class Wishart extends Distribution {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof WishartOptions, true>> =
    COVARIANCE_OPTIONS;

  /** [batch], the degrees of freedom. */
  readonly df: Tensor;
  /** [batch, K, K], the Cholesky factor of the covariance. */
  readonly scaleTril: Tensor;
  private readonly squares: Chi2;

  /** @throws invalid-argument unless df is above K - 1; shape-mismatch; linalg-error without checks */
  constructor(df: ParameterLike, options: WishartOptions) {
    checkTensor('df', df, true);
    checkOptions(new.target, options);
    const given = givenMatrix(options);
    const { dtype, device, sizes } = given.matrix;
    const size = sizes.at(-1)!;
    const degrees = isTensor(df) ? df : scalarTensor(df, { dtype, device });
    const batch = broadcastShapes([sizes.slice(0, -2), degrees.sizes]);
    super(batch, [size, size], options);
    this.checkParameter('df', degrees, greaterThan(size - 1));
    this.checkParameter(given.name, given.matrix, given.constraint);
    this.df = expand(degrees, batch);
    this.scaleTril = expand(given.factor(), [...batch, size, size]);
    this.squares = new Chi2(this.df.unsqueeze(-1).sub(arange(size, { dtype, device })), {
      validateArgs: false,
    });
  }

  /** [batch, K, K] */
  get covarianceMatrix(): Tensor {
    return matmul(this.scaleTril, this.scaleTril.mT);
  }
  /** [batch, K, K], the inverse of the covariance. */
  get precisionMatrix(): Tensor {
    return choleskyInverse(this.scaleTril);
  }
  get support(): Constraint {
    return positiveDefinite;
  }
  /** One number per matrix, as a factor of its elements. */
  private perMatrix(numbers: Tensor): Tensor {
    return numbers.unsqueeze(-1).unsqueeze(-1);
  }
  get mean(): Tensor {
    return this.perMatrix(this.df).mul(this.covarianceMatrix);
  }
  /** NaN where df is at most K + 1. */
  override get mode(): Tensor {
    const factor = this.df.sub(this.eventShape[0]! + 1);
    return this.perMatrix(where(factor.le(0), NaN, factor)).mul(this.covarianceMatrix);
  }
  get variance(): Tensor {
    const matrix = this.covarianceMatrix;
    const diagonal = matrix.diagonal(0, -2, -1);
    const product = diagonal.unsqueeze(-1).mul(diagonal.unsqueeze(-2));
    return this.perMatrix(this.df).mul(matrix.square().add(product));
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.scaleTril;
    const diagonal = this.squares.rsample(sampleShape).sqrt();
    const below = tril(randn(this.extended(sampleShape), { dtype, device }), -1);
    const factor = below.add(diagEmbed(clampMin(diagonal, limitsOf(diagonal)[1])));
    const root = matmul(this.scaleTril, factor);
    return matmul(root, root.mT);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { df, scaleTril } = this;
    const size = this.eventShape[0]!;
    const factor = expand(scaleTril, [...value.sizes.slice(0, -2), size, size]);
    const trace = choleskySolve(value, factor).diagonal(0, -2, -1).sum(-1);
    const scale = halfLogDet(scaleTril).add((size * Math.LN2) / 2);
    return df
      .neg()
      .mul(scale)
      .sub(multigammaln(df.mul(0.5), size))
      .add(
        df
          .sub(size + 1)
          .mul(0.5)
          .mul(slogdet(value)[1]),
      )
      .sub(trace.mul(0.5));
  }

  override entropy(): Tensor {
    const size = this.eventShape[0]!;
    const half = this.df.mul(0.5);
    return halfLogDet(this.scaleTril)
      .add((size * Math.LN2) / 2)
      .mul(size + 1)
      .add(multigammaln(half, size))
      .sub(half.sub((size + 1) / 2).mul(multidigamma(half, size)))
      .add(half.mul(size));
  }

  override divergenceTo(other: Distribution): Tensor | null {
    if (!(other instanceof Wishart)) return null;
    const size = this.eventShape[0]!;
    const [ours, theirs] = [this.df.mul(0.5), other.df.mul(0.5)];
    const logs = halfLogDet(other.scaleTril).sub(halfLogDet(this.scaleTril)).mul(other.df);
    const spread = trace(solved(other.scaleTril, this.scaleTril)).sub(size).mul(ours);
    const norms = multigammaln(theirs, size).sub(multigammaln(ours, size));
    return logs
      .add(spread)
      .add(norms)
      .add(ours.sub(theirs).mul(multidigamma(ours, size)));
  }
}
