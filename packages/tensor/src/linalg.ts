/**
 * @file `@tessera/tensor/linalg`: linear algebra, as `torch.linalg` is a namespace of its own.
 *
 * `import * as linalg from '@tessera/tensor/linalg'`, then `linalg.inv(x)`. Matrices are the last two dimensions of
 * a float32 or float64 tensor, the others are batches; functions compute in double precision and have derivatives
 * of every order. They run on the CPU, in compiled functions as calls of these kernels.
 */
// Who has tensors has the index; said here, it makes of what both share one file, which compresses better.
import './index.js';
export { choleskyEx, choleskyInverse, choleskySolve, cholesky } from './ops/linalg/cholesky.js';
export { type CholeskyExOptions } from './ops/linalg/cholesky.js';
export { cross } from './ops/linalg/cross.js';
export { det, logdet, slogdet } from './ops/linalg/det.js';
export { type EighOptions, type Triangle, eigh, eigvalsh } from './ops/linalg/eigh.js';
export { type PinvOptions, matrixExp, pinv, pinverse } from './ops/linalg/function.js';
export { geqrf } from './ops/linalg/geqrf.js';
export { householderProduct } from './ops/linalg/householder.js';
export { inv, invEx } from './ops/linalg/inverse.js';
export { type LdlOptions, ldlFactor, ldlFactorEx, ldlSolve } from './ops/linalg/ldl.js';
export { type LstsqDriver, type LstsqOptions, lstsq } from './ops/linalg/lstsq.js';
export { type LuOptions, lu, luFactor, luFactorEx, luUnpack } from './ops/linalg/lu.js';
export { luSolve } from './ops/linalg/lu-solve.js';
export { matrixPower } from './ops/linalg/matrix-power.js';
export { type MatrixOrder, matrixNorm, norm } from './ops/linalg/norm.js';
export { multiDot, vander, vecdot } from './ops/linalg/product.js';
export { type OrmqrOptions, ormqr } from './ops/linalg/ormqr.js';
export { type QrMode, qr } from './ops/linalg/qr.js';
export { type MatrixRankOptions, cond, matrixRank } from './ops/linalg/rank.js';
export { norm as vectorNorm } from './ops/reduction/norm.js';
export { type SolveExOptions, solve, solveEx } from './ops/linalg/solve.js';
export {
  type TriangularOptions,
  solveTriangular,
  triangularSolve,
} from './ops/linalg/solve-triangular.js';
export { tensorinv, tensorsolve } from './ops/linalg/tensor-equations.js';
export { svd, svdvals } from './ops/linalg/svd.js';
