/**
 * @file Rank and condition number: how far matrices are from singular ones.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { fixedScalar } from '../../kernels/pointwise-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { full, zeros } from '../factory/factory.js';
import { mul } from '../pointwise/arithmetic.js';
import { gt, ne } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { maximum } from '../pointwise/extremum.js';
import { maskedFill } from '../pointwise/fill.js';
import { abs } from '../pointwise/rounding.js';
import { where } from '../pointwise/where.js';
import { amax } from '../reduction/extremum.js';
import { sum } from '../reduction/reduction.js';
import { unsqueeze } from '../view/dims.js';
import { select } from '../view/slice.js';
import { eigvalsh } from './eigh.js';
import { EPSILON } from './function.js';
import { invEx } from './inverse.js';
import { type MatrixOrder, matrixNorm } from './norm.js';
import { checkMatrix, checkSquare } from './shape.js';
import { svdvals } from './svd.js';

/** Number of singular values above max(atol, rtol · largest). */
function countAbove(
  x: Tensor,
  atol: Tensor | number | null,
  rtol: Tensor | number | null,
  hermitian: boolean,
): Tensor {
  checkMatrix('torch.linalg.matrix_rank', x);
  const values = hermitian ? abs(eigvalsh(x)) : svdvals(x);
  const batch = x.sizes.slice(0, -2);
  if (x.numel === 0) return zeros(batch, { dtype: 'int64', device: x.device });
  const limit = (given: Tensor | number): Tensor =>
    isTensor(given) ? given : full([], given, { dtype: x.dtype, device: x.device });
  const least = limit(atol ?? 0);
  const [m, n] = x.sizes.slice(-2);
  const usual = EPSILON[x.dtype]! * Math.max(m, n);
  // Without a relative limit, one is implied unless there is an absolute one.
  let share = limit(rtol ?? (atol === null || isTensor(atol) ? usual : atol > 0 ? 0 : usual));
  if (rtol === null && isTensor(atol)) share = where(gt(atol, 0), 0, share);
  const bound = maximum(least, mul(share, amax(values, -1)));
  return sum(gt(values, unsqueeze(bound, -1)), -1);
}

const rankOp: OpOverload<Tensor> = withOverloads(
  defineOp(
    'aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor',
    {
      tags: ['non-differentiable'],
      decompose: ({ self, atol, rtol, hermitian }) => countAbove(self, atol, rtol, hermitian),
    },
  ),
  defineOp('aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor', {
    tags: ['non-differentiable'],
    decompose: ({ self, tol, hermitian }) => callOp(rankOp, [self, tol, 0, hermitian]),
  }),
);
const rankTensorOp = defineOp(
  'aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor',
  {
    tags: ['non-differentiable'],
    decompose: ({ input, atol, rtol, hermitian }) => countAbove(input, atol, rtol, hermitian),
  },
);

function refuseOrder(order: unknown): never {
  throw new TesseraError(
    'invalid-argument',
    `linalg.cond got an invalid norm type: ${String(order)}`,
    { hints: ["Norms are 'fro', 'nuc', 1, -1, 2, -2, Infinity and -Infinity."] },
  );
}

function condition(x: Tensor, order: MatrixOrder | null): Tensor {
  checkMatrix('linalg.cond', x);
  if (order === null || order === 2 || order === -2) {
    const values = svdvals(x);
    const [largest, least] = [select(values, -1, 0), select(values, -1, -1)];
    return order === -2 ? div(least, largest) : div(largest, least);
  }
  if (typeof order === 'number' && Math.abs(order) !== 1 && Math.abs(order) !== Infinity)
    refuseOrder(order);
  checkSquare(`linalg.cond(ord=${order})`, x);
  // Singular matrices are infinitely far from well-conditioned ones.
  const [inverse, info] = invEx(x);
  const found = mul(matrixNorm(x, order), matrixNorm(inverse, order));
  return maskedFill(found, ne(info, 0), Infinity);
}

const condOp: OpOverload<Tensor> = defineOp(
  'aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor',
  {
    decompose: ({ self, p }) => condition(self, p === null ? null : fixedScalar(p)),
  },
);
const condStringOp: OpOverload<Tensor> = defineOp(
  'aten::linalg_cond.p_str(Tensor self, str p) -> Tensor',
  {
    decompose: ({ self, p }) => condition(self, p === 'fro' || p === 'nuc' ? p : refuseOrder(p)),
  },
);

/** Options of `matrixRank`. */
export interface MatrixRankOptions {
  /** Singular values up to it count as 0. */
  readonly atol?: number | Tensor | null;
  /** The same as a share of the largest one; without both, the precision times the larger size. */
  readonly rtol?: number | Tensor | null;
  /** A promise that the matrices are symmetric: eigenvalues are cheaper. */
  readonly hermitian?: boolean;
}
const MATRIX_RANK: OptionNames<MatrixRankOptions> = { atol: true, rtol: true, hermitian: true };

/** How many singular values are not 0, [.., M, N] → [..], int64. @throws invalid-dim, dtype-unsupported */
export function matrixRank(self: Tensor, options: MatrixRankOptions = {}): Tensor {
  checkOptionNames('matrixRank', options, MATRIX_RANK);
  const { atol = null, rtol = null, hermitian = false } = options;
  if (!isTensor(atol) && !isTensor(rtol)) return callOp(rankOp, [self, atol, rtol, hermitian]);
  const wrap = (limit: number | Tensor | null): Tensor | null =>
    typeof limit === 'number' ? full([], limit, { dtype: self.dtype, device: self.device }) : limit;
  return callOp(rankTensorOp, [self, wrap(atol), wrap(rtol), hermitian]);
}

/** Condition numbers: ‖A‖ · ‖A⁻¹‖ in a norm (2 by default), [.., M, N] → [..]; infinite for singular matrices. @throws shape-mismatch, invalid-argument, invalid-dim, dtype-unsupported */
export function cond(self: Tensor, order: MatrixOrder | null = null): Tensor {
  return callOp(typeof order === 'string' ? condStringOp : condOp, [self, order]);
}
