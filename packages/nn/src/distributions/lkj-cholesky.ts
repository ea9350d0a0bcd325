/**
 * @file `LKJCholesky`: Cholesky factors of correlation matrices, sampled row by row on spheres (the onion method).
 *
 * @see D. Lewandowski, D. Kurowicka, H. Joe, Generating random correlation matrices based on vines and extended onion method
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  arange,
  cat,
  clampMin,
  diagEmbed,
  lgamma,
  log,
  noGrad,
  randn,
  tril,
  where,
  zeros,
} from '@tessera/tensor';
import { multigammaln } from '@tessera/tensor/special';
import { type Constraint, corrCholesky, positive } from './constraints.js';
import { Beta } from './dirichlet.js';
import {
  Distribution,
  type DistributionOptions,
  type ParameterLike,
  broadcastAll,
} from './distribution.js';
import { limitsOf } from './transforms-elementwise.js';

/**
 * Lower triangles L, [batch, dim, dim], where the density of L · Lᵀ is det^(concentration - 1): uniform for 1.
 *
 * @see torch.distributions.LKJCholesky
 */
export class LKJCholesky extends Distribution {
  readonly dim: number;
  /** [batch] */
  readonly concentration: Tensor;
  /** How much of a row's length lies below the diagonal, [batch, dim]. */
  private readonly shares: Beta;

  /** @throws invalid-argument unless dim is at least 2 and the concentration positive */
  constructor(dim: number, concentration: ParameterLike = 1, options: DistributionOptions = {}) {
    if (!(Number.isInteger(dim) && dim >= 2))
      throw new TesseraError(
        'invalid-argument',
        `Expected dim to be an integer greater than or equal to 2. Found dim=${dim}.`,
        { hints: ['It is the number of variables.'] },
      );
    const [given] = broadcastAll(concentration);
    super(given.sizes, [dim, dim], options);
    this.checkParameter('concentration', given, positive);
    this.dim = dim;
    this.concentration = given;
    const { dtype, device } = given;
    const halves = cat([zeros([1], { dtype, device }), arange(dim - 1, { dtype, device })]).mul(
      0.5,
    );
    const rest = given
      .add((dim - 2) / 2)
      .unsqueeze(-1)
      .sub(halves);
    this.shares = new Beta(halves.add(0.5), rest, { validateArgs: false });
  }

  get support(): Constraint {
    return corrCholesky;
  }
  get mean(): Tensor {
    throw this.missing('mean');
  }
  get variance(): Tensor {
    throw this.missing('variance');
  }
  override get hasRsample(): boolean {
    return false;
  }

  override sample(sampleShape: readonly number[] = []): Tensor {
    return noGrad(() => {
      const shares = this.shares.sample(sampleShape).unsqueeze(-1);
      const { dtype, device } = shares;
      const below = tril(randn(this.extended(sampleShape), { dtype, device }), -1);
      const lengths = below.square().sum(-1, { keepdim: true }).sqrt();
      // The first row is empty.
      const directions = below.div(where(lengths.eq(0), 1, lengths));
      const rows = shares.sqrt().mul(directions);
      const left = clampMin(rows.square().sum(-1).neg().add(1), limitsOf(rows)[0]);
      return rows.add(diagEmbed(left.sqrt()));
    });
  }

  override logProb(value: Tensor): Tensor {
    this.checkValue(value);
    const { concentration: c, dim } = this;
    const { dtype, device } = c;
    const diagonal = value.diagonal(0, -2, -1).narrow(-1, 1, dim - 1);
    const counts = arange(2, dim + 1, { dtype, device });
    const order = c.sub(1).mul(2).unsqueeze(-1).add(dim).sub(counts);
    const alpha = c.add((dim - 1) / 2);
    const norm = multigammaln(alpha.sub(0.5), dim - 1)
      .sub(lgamma(alpha).mul(dim - 1))
      .add(((dim - 1) * Math.log(Math.PI)) / 2);
    return order.mul(log(diagonal)).sum(-1).sub(norm);
  }
}
