/**
 * @file Divergences of normal vectors of which one covariance or both are of low rank and a diagonal.
 */
import { type Tensor, diagEmbed, matmul } from '@tessera/tensor';
import { halfLogDet, solved, trace } from './covariance.js';
import { type Pair, pair } from './kl-families.js';
import { LowRankMultivariateNormal } from './low-rank-multivariate-normal.js';
import { MultivariateNormal, mahalanobis } from './multivariate-normal.js';

/** See the file header. */
export function lowRankPairs(): Pair[] {
  return [
    pair(LowRankMultivariateNormal, LowRankMultivariateNormal, (p, q) => {
      const { correction } = q;
      const roots = p.covDiag.sqrt().unsqueeze(-2);
      const spread = p.covDiag
        .div(q.covDiag)
        .sum(-1)
        .add(trace(p.covFactor.mul(q.covDiag.rsqrt().unsqueeze(-1))))
        .sub(trace(correction.mul(roots)))
        .sub(trace(matmul(correction, p.covFactor)));
      return together(q.halfLogDet.sub(p.halfLogDet), spread, q.mahalanobis(q.loc.sub(p.loc)), p);
    }),
    pair(MultivariateNormal, LowRankMultivariateNormal, (p, q) => {
      const spread = trace(p.scaleTril.mul(q.covDiag.rsqrt().unsqueeze(-1))).sub(
        trace(matmul(q.correction, p.scaleTril)),
      );
      const logs = q.halfLogDet.sub(halfLogDet(p.scaleTril));
      return together(logs, spread, q.mahalanobis(q.loc.sub(p.loc)), p);
    }),
    pair(LowRankMultivariateNormal, MultivariateNormal, (p, q) => {
      const spread = trace(solved(q.scaleTril, p.covFactor)).add(
        trace(solved(q.scaleTril, diagEmbed(p.covDiag.sqrt()))),
      );
      const logs = halfLogDet(q.scaleTril).sub(p.halfLogDet);
      return together(logs, spread, mahalanobis(q.scaleTril, q.loc.sub(p.loc)), p);
    }),
  ];
}

/** Of half the quotient of the determinants as a logarithm, the trace of the covariances' quotient, and the distance. */
function together(
  logs: Tensor,
  spread: Tensor,
  distance: Tensor,
  { eventShape }: { readonly eventShape: readonly number[] },
): Tensor {
  return logs.add(spread.add(distance).sub(eventShape[0]!).mul(0.5));
}
