/**
 * @file `StudentT`.
 */
import { type Tensor, digamma, lgamma, log, log1p, randn, rsqrt, where } from '@tessera/tensor';
import { type Constraint, positive, real } from './constraints.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';
import { Chi2 } from './gamma.js';

/** A normal number divided by the root of a chi-squared one over its `df`. @see torch.distributions.StudentT */
export class StudentT extends Distribution {
  readonly df: Tensor;
  readonly loc: Tensor;
  readonly scale: Tensor;

  /** @throws invalid-argument unless df and scale are positive */
  constructor(
    df: ParameterLike,
    loc: ParameterLike = 0,
    scale: ParameterLike = 1,
    options: DistributionOptions = {},
  ) {
    const [d, l, s] = broadcastAll(df, loc, scale);
    super(d.sizes, [], options);
    this.df = d;
    this.loc = l;
    this.scale = s;
    this.checkParameter('df', d, positive);
    this.checkParameter('loc', l, real);
    this.checkParameter('scale', s, positive);
  }

  get support(): Constraint {
    return real;
  }
  /** NaN where df is at most 1. */
  get mean(): Tensor {
    return where(this.df.le(1), Number.NaN, this.loc);
  }
  /** Infinite where df is at most 2, NaN where it is at most 1. */
  get variance(): Tensor {
    const { df, scale } = this;
    const finite = scale.square().mul(df.div(where(df.gt(2), df.sub(2), 1)));
    return where(df.le(1), Number.NaN, where(df.le(2), Number.POSITIVE_INFINITY, finite));
  }
  override get mode(): Tensor {
    return this.loc;
  }

  override rsample(sampleShape: readonly number[] = []): Tensor {
    const { dtype, device } = this.df;
    const normal = randn(this.extended(sampleShape), { dtype, device });
    const squares = new Chi2(this.df, { validateArgs: false }).rsample(sampleShape);
    return normal
      .mul(rsqrt(squares.div(this.df)))
      .mul(this.scale)
      .add(this.loc);
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { df, loc, scale } = this;
    const y = value.sub(loc).div(scale);
    const normalizer = log(scale)
      .add(log(df).mul(0.5))
      .add(Math.log(Math.PI) / 2)
      .add(lgamma(df.mul(0.5)))
      .sub(lgamma(df.add(1).mul(0.5)));
    return log1p(y.square().div(df)).mul(df.add(1)).mul(-0.5).sub(normalizer);
  }

  override entropy(): Tensor {
    const { df, scale } = this;
    const [half, more] = [df.mul(0.5), df.add(1).mul(0.5)];
    const logBeta = lgamma(half)
      .add(Math.log(Math.PI) / 2)
      .sub(lgamma(more));
    return log(scale)
      .add(more.mul(digamma(more).sub(digamma(half))))
      .add(log(df).mul(0.5))
      .add(logBeta);
  }
}
