/**
 * @file Transforms of vectors and matrices.
 */
import {
  type Tensor,
  clampMin,
  cumprod,
  cumsum,
  diagEmbed,
  exp,
  log,
  logSigmoid,
  softmax,
  tril,
} from '@tessera/tensor';
import { constantPad } from '@tessera/tensor/internal';
import { cholesky } from '@tessera/tensor/linalg';
import {
  type Constraint,
  independent,
  lowerCholesky,
  positiveDefinite,
  real,
  realVector,
  simplex,
} from './constraints.js';
import { tooFew } from './transforms-composed.js';
import { clippedSigmoid, limitsOf } from './transforms-elementwise.js';
import { Transform } from './transform.js';

/** The shape with another last size. @throws shape-mismatch */
function lastSize(shape: readonly number[], more: number): readonly number[] {
  if (shape.length < 1) throw tooFew();
  return [...shape.slice(0, -1), shape.at(-1)! + more];
}

/** Probabilities of any scores: not bijective, with logarithms for an inverse. @see torch.distributions.transforms.SoftmaxTransform */
export class SoftmaxTransform extends Transform {
  readonly domain: Constraint = realVector;
  readonly codomain: Constraint = simplex;
  override readonly bijective: boolean = false;
  protected forward(x: Tensor): Tensor {
    return softmax(x, -1);
  }
  protected backward(y: Tensor): Tensor {
    return log(y);
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    return lastSize(shape, 0);
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return lastSize(shape, 0);
  }
}

/** K numbers as K + 1 probabilities: each takes a share of what is left. @see torch.distributions.transforms.StickBreakingTransform */
export class StickBreakingTransform extends Transform {
  readonly domain: Constraint = realVector;
  readonly codomain: Constraint = simplex;

  /** log(K), log(K - 1), …, 0: a score of 0 takes an equal share. */
  private offsets(like: Tensor, count: number): Tensor {
    return log(
      cumsum(like.newOnes([count]), -1)
        .neg()
        .add(count + 1),
    );
  }
  protected forward(x: Tensor): Tensor {
    const shares = clippedSigmoid(x.sub(this.offsets(x, x.sizes.at(-1)!)));
    const left = cumprod(shares.neg().add(1), -1);
    return constantPad(shares, [0, 1], 1).mul(constantPad(left, [1, 0], 1));
  }
  protected backward(y: Tensor): Tensor {
    const count = y.sizes.at(-1)! - 1;
    const kept = y.narrow(-1, 0, count);
    const left = clampMin(cumsum(kept, -1).neg().add(1), limitsOf(y)[0]);
    return log(kept).sub(log(left)).add(this.offsets(y, count));
  }
  override logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    const count = x.sizes.at(-1)!;
    const scores = x.sub(this.offsets(x, count));
    const kept = y.narrow(-1, 0, count);
    return logSigmoid(scores).sub(scores).add(log(kept)).sum(-1);
  }
  override forwardShape(shape: readonly number[]): readonly number[] {
    return lastSize(shape, 1);
  }
  override inverseShape(shape: readonly number[]): readonly number[] {
    return lastSize(shape, -1);
  }
}

/** Square matrices as lower triangles with a positive diagonal. @see torch.distributions.transforms.LowerCholeskyTransform */
export class LowerCholeskyTransform extends Transform {
  readonly domain: Constraint = independent(real, 2);
  readonly codomain: Constraint = lowerCholesky;
  override readonly bijective: boolean = false;
  protected forward(x: Tensor): Tensor {
    return withDiagonal(x, exp);
  }
  protected backward(y: Tensor): Tensor {
    return withDiagonal(y, log);
  }
}

/** Square matrices as positive definite ones: L · Lᵀ of their lower triangles. @see torch.distributions.transforms.PositiveDefiniteTransform */
export class PositiveDefiniteTransform extends Transform {
  readonly domain: Constraint = independent(real, 2);
  readonly codomain: Constraint = positiveDefinite;
  protected forward(x: Tensor): Tensor {
    const factor = withDiagonal(x, exp);
    return factor.matmul(factor.mT);
  }
  protected backward(y: Tensor): Tensor {
    return withDiagonal(cholesky(y), log);
  }
}

/** The lower triangle with a function of its diagonal. */
function withDiagonal(x: Tensor, fn: (diagonal: Tensor) => Tensor): Tensor {
  return tril(x, -1).add(diagEmbed(fn(x.diagonal(0, -2, -1))));
}
