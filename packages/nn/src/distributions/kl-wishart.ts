/**
 * @file The divergence of covariances from each other.
 */
import { type Tensor } from '@tessera/tensor';
import { multigammaln } from '@tessera/tensor/special';
import { halfLogDet } from './covariance.js';
import { solved, trace } from './kl-low-rank.js';
import { type Wishart, multidigamma } from './wishart.js';

/** Of two Wishart distributions of matrices of one size. */
export function wisharts(p: Wishart, q: Wishart): Tensor {
  const size = p.eventShape[0]!;
  const [ours, theirs] = [p.df.mul(0.5), q.df.mul(0.5)];
  const logs = halfLogDet(q.scaleTril).sub(halfLogDet(p.scaleTril)).mul(q.df);
  const spread = trace(solved(q.scaleTril, p.scaleTril)).sub(size).mul(ours);
  const norms = multigammaln(theirs, size).sub(multigammaln(ours, size));
  return logs
    .add(spread)
    .add(norms)
    .add(ours.sub(theirs).mul(multidigamma(ours, size)));
}
