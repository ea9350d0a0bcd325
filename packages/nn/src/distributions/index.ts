/**
 * @file Public API of `@tessera/nn/distributions`.
 */
import * as constraints from './constraints.js';

export { Bernoulli, Binomial, type BinomialOptions, Geometric } from './bernoulli.js';
export { Categorical, Multinomial, type MultinomialOptions } from './categorical.js';
export { Cauchy } from './cauchy.js';
export { ContinuousBernoulli, type ContinuousBernoulliOptions } from './continuous-bernoulli.js';
export type { Bound, Constraint } from './constraints.js';
export { CorrCholeskyTransform } from './corr-cholesky-transform.js';
export { Beta, Dirichlet } from './dirichlet.js';
export {
  Distribution,
  type DistributionOptions,
  type EnumerateOptions,
  type ParameterLike,
} from './distribution.js';
export { Exponential } from './exponential.js';
export { Gumbel, Pareto, Weibull } from './extreme-value.js';
export { Chi2, Gamma } from './gamma.js';
export { FisherSnedecor, InverseGamma, NegativeBinomial } from './gamma-ratios.js';
export { GeneralizedPareto } from './generalized-pareto.js';
export { HalfCauchy, HalfNormal } from './half.js';
export { Independent } from './independent.js';
export { klDivergence, registerKl } from './kl.js';
export type { DistributionClass } from './kl-families.js';
export { Kumaraswamy } from './kumaraswamy.js';
export { Laplace } from './laplace.js';
export { LKJCholesky } from './lkj-cholesky.js';
export { LowRankMultivariateNormal } from './low-rank-multivariate-normal.js';
export { MixtureSameFamily } from './mixture.js';
export { MultivariateNormal, type MultivariateNormalOptions } from './multivariate-normal.js';
export { LogNormal, Normal } from './normal.js';
export { OneHotCategorical, OneHotCategoricalStraightThrough } from './one-hot.js';
export { Poisson } from './poisson.js';
export type { ProbsOrLogits } from './probs-or-logits.js';
export {
  ExpRelaxedCategorical,
  LogisticNormal,
  LogitRelaxedBernoulli,
  RelaxedBernoulli,
  RelaxedOneHotCategorical,
} from './relaxed.js';
export { StudentT } from './student-t.js';
export { Transform, type TransformOptions } from './transform.js';
export { bijectTo, transformTo } from './transform-to.js';
export {
  CatTransform,
  type CatTransformOptions,
  StackTransform,
  type StackTransformOptions,
} from './transforms-along.js';
export { TransformedDistribution } from './transformed-distribution.js';
export {
  ComposeTransform,
  IndependentTransform,
  ReshapeTransform,
  identityTransform,
} from './transforms-composed.js';
export {
  AbsTransform,
  type AffineOptions,
  AffineTransform,
  CumulativeDistributionTransform,
  ExpTransform,
  PowerTransform,
  SigmoidTransform,
  SoftplusTransform,
  TanhTransform,
} from './transforms-elementwise.js';
export {
  LowerCholeskyTransform,
  PositiveDefiniteTransform,
  SoftmaxTransform,
  StickBreakingTransform,
} from './transforms-vector.js';
export { Uniform } from './uniform.js';
export { VonMises } from './von-mises.js';
export { Wishart, type WishartOptions } from './wishart.js';
export { constraints };
