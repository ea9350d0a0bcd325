/**
 * @file `@tessera/tensor/special`: special functions, as `torch.special` is a namespace of its own.
 *
 * `import * as special from '@tessera/tensor/special'`, then `special.ndtr(x)`. Those that are made of other operators
 * run wherever these do; `gammainc` and `gammaincc` have reference kernels only: they run on the CPU, in compiled
 * functions as calls of these kernels.
 */
// Who has tensors has the index; said here, it makes of what both share one file, which compresses better.
import './index.js';
export { airyAi } from './ops/special/airy.js';
export { besselJ0, besselJ1, besselY0, besselY1, sphericalBesselJ0 } from './ops/special/bessel.js';
export { multigammaln, xlog1py, zeta } from './ops/special/gamma.js';
export { gammainc, gammaincc } from './ops/special/incomplete-gamma.js';
export {
  modifiedBesselI0,
  modifiedBesselI1,
  modifiedBesselK0,
  modifiedBesselK1,
  scaledModifiedBesselK0,
  scaledModifiedBesselK1,
} from './ops/special/modified-bessel.js';
export { entr, erfcx, logNdtr, ndtr, ndtri } from './ops/special/normal.js';
export {
  type Polynomial,
  chebyshevPolynomialT,
  chebyshevPolynomialU,
  chebyshevPolynomialV,
  chebyshevPolynomialW,
  hermitePolynomialH,
  hermitePolynomialHe,
  laguerrePolynomialL,
  legendrePolynomialP,
  shiftedChebyshevPolynomialT,
  shiftedChebyshevPolynomialU,
  shiftedChebyshevPolynomialV,
  shiftedChebyshevPolynomialW,
} from './ops/special/polynomials.js';

// What is a function of tensors too, by the names that PyTorch has here.
export { logSoftmax, softmax } from './ops/activation/softmax.js';
export { exp2, expm1, log1p } from './ops/pointwise/exponential.js';
export { logit, xlogy } from './ops/pointwise/log-domain.js';
export { i0, i0e, i1, i1e } from './ops/pointwise/modified-bessel-i.js';
export { polygamma } from './ops/pointwise/polygamma.js';
export { round } from './ops/pointwise/rounding.js';
export { digamma, erfinv, lgamma as gammaln, digamma as psi } from './ops/pointwise/special.js';
export { erf, erfc, sigmoid as expit } from './ops/pointwise/trigonometric.js';
export { sinc } from './ops/pointwise/trigonometric-inverse.js';
export { logsumexp } from './ops/reduction/norm.js';
