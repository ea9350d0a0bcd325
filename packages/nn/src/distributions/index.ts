/**
 * @file Public API of `@tessera/nn/distributions`.
 */
export { Bernoulli, Binomial, type BinomialOptions, Geometric } from './bernoulli.js';
export { Categorical, Multinomial, type MultinomialOptions } from './categorical.js';
export type { Constraint } from './constraints.js';
export { Beta, Dirichlet } from './dirichlet.js';
export { Distribution, type DistributionOptions, type ParameterLike } from './distribution.js';
export { Exponential } from './exponential.js';
export { Chi2, Gamma } from './gamma.js';
export { Independent } from './independent.js';
export { MixtureSameFamily } from './mixture.js';
export { klDivergence, registerKl } from './kl.js';
export type { DistributionClass } from './kl-families.js';
export { Laplace } from './laplace.js';
export { MultivariateNormal, type MultivariateNormalOptions } from './multivariate-normal.js';
export { LogNormal, Normal } from './normal.js';
export { Poisson } from './poisson.js';
export type { ProbsOrLogits } from './probs-or-logits.js';
export { StudentT } from './student-t.js';
export { Uniform } from './uniform.js';
