/**
 * @file LU factors with row swaps: packed as LAPACK has them, and as matrices of their own.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { luFactor as factorMatrices } from '../../kernels/dense-matrix.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { cat } from '../arrange/join.js';
import { zeros } from '../factory/factory.js';
import { eye } from '../factory/range.js';
import { tril, triu } from '../indexing/triangle.js';
import { matmul } from '../matmul/composite.js';
import { add, sub } from '../pointwise/arithmetic.js';
import { mT } from '../view/dims.js';
import { narrow } from '../view/slice.js';
import { expand } from '../view/view.js';
import { permuteRows } from './lu-solve.js';
import { batchCount, checkInfos, checkMatrix, columnMajorMeta, rowMajorMeta } from './shape.js';
import { solveTriangular } from './solve-triangular.js';

/**
 * The gradient of the permuted matrix from that of its packed factors; k is the smaller of both sizes, and what is
 * outside the square part follows from it. @see lu_factor_ex_backward in PyTorch's FunctionsManual
 */
function packedGradient(grad: Tensor, lu: Tensor): Tensor {
  const [m, n] = lu.sizes.slice(-2);
  const k = Math.min(m, n);
  const square = (x: Tensor): Tensor => narrow(narrow(x, -2, 0, k), -1, 0, k);
  // Its upper triangle is Lᵀ, its lower one Uᵀ.
  const turned = mT(square(lu));
  const [l, u] = [turned, turned];
  const lower = { upper: true, unitriangular: true } as const;
  const gradL = tril(grad, -1);
  let fromL = matmul(triu(turned, 1), square(gradL));
  fromL = add(fromL, square(gradL));
  let fromU = matmul(triu(square(grad)), mT(triu(square(lu))));
  if (n > k) {
    const [gradRest, rest] = [grad, lu].map((x) => narrow(x, -1, k, n - k));
    fromL = sub(fromL, matmul(gradRest, mT(rest)));
    const inner = add(tril(fromL, -1), triu(fromU));
    const first = solveTriangular(l, inner, lower);
    const left = solveTriangular(u, first, { upper: false, left: false });
    return cat([left, solveTriangular(l, gradRest, lower)], -1);
  }
  if (m > k) {
    const [gradRest, rest] = [grad, lu].map((x) => narrow(x, -2, k, m - k));
    fromU = sub(fromU, matmul(mT(rest), gradRest));
    const inner = add(tril(fromL, -1), triu(fromU));
    const right = solveTriangular(u, inner, { upper: false, left: false });
    const below = solveTriangular(u, gradRest, { upper: false, left: false });
    return cat([solveTriangular(l, right, lower), below], -2);
  }
  const inner = add(tril(fromL, -1), triu(fromU));
  const right = solveTriangular(u, inner, { upper: false, left: false });
  return solveTriangular(l, right, lower);
}

const luFactorExOp = defineOp(
  'aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)',
  {
    tags: ['compute-intensive'],
    meta: ({ A: x }) => {
      checkMatrix('torch.lu_factor', x);
      const batch = x.sizes.slice(0, -2);
      const [m, n] = x.sizes.slice(-2);
      return [
        columnMajorMeta(x.sizes, x),
        rowMajorMeta([...batch, Math.min(m, n)], x, 'int32'),
        rowMajorMeta(batch, x, 'int32'),
      ];
    },
    kernel: ({ A: x, pivot, check_errors }, [out, pivotsOut, infoOut]) => {
      const [m, n] = x.sizes.slice(-2);
      const values = readNumbers(x);
      const { pivots, infos } = factorMatrices(values, batchCount(x), m, n, pivot);
      if (check_errors === true)
        checkInfos(
          'torch.linalg.lu_factor',
          infos,
          x.ndim > 2,
          (at) =>
            `U[${at},${at}] is zero and using it on lu_solve would result in a division by zero.`,
          'linalg.lu() and linalg.luFactorEx() factor such matrices too.',
        );
      writeNumbers(out!, values);
      writeNumbers(pivotsOut!, pivots);
      writeNumbers(infoOut!, infos);
    },
    saved: ['out.0', 'out.1'],
    vjp: (_args, { grad, outs }) => ({
      A: () => {
        const [lu, pivots] = [outs[0]!, outs[1]!];
        return permuteRows(packedGradient(grad, lu), pivots, true);
      },
    }),
  },
);
const luFactorOp = defineOp(
  'aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)',
  {
    decompose: ({ A, pivot }) => {
      const [lu, pivots] = callOp(luFactorExOp, [A, pivot, true]);
      return [lu, pivots];
    },
  },
);

/** L with ones on its diagonal, [.., M, K], and U, [.., K, N]. */
function triangles(lu: Tensor): [l: Tensor, u: Tensor] {
  const [m, n] = lu.sizes.slice(-2);
  const k = Math.min(m, n);
  const one = eye(m, k, { dtype: lu.dtype, device: lu.device });
  return [add(tril(narrow(lu, -1, 0, k), -1), one), triu(narrow(lu, -2, 0, k))];
}

const NOTHING = [0];

const unpackOp = defineOp(
  'aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)',
  {
    decompose: ({ LU_data: lu, LU_pivots: pivots, unpack_data, unpack_pivots }) => {
      if (unpack_pivots === true && pivots.dtype !== 'int32')
        throw new TesseraError(
          'dtype-mismatch',
          'torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.',
          { hints: ["Pass the pivots of linalg.luFactor(), or convert: pivots.to('int32')."] },
        );
      const options = { dtype: lu.dtype, device: lu.device };
      const blank = (): Tensor => zeros(NOTHING, options);
      const m = lu.sizes.at(-2)!;
      const square = [...lu.sizes.slice(0, -2), m, m];
      const p =
        unpack_pivots === true
          ? permuteRows(expand(eye(m, null, options), square), pivots, true)
          : blank();
      const [l, u] = unpack_data ? triangles(lu) : [blank(), blank()];
      return [p, l, u];
    },
  },
);

const luOp = defineOp(
  'aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)',
  {
    decompose: ({ A, pivot }) => {
      const [lu, pivots] = callOp(luFactorExOp, [A, pivot, false]);
      return callOp(unpackOp, [lu, pivots, true, pivot]);
    },
  },
);

/** Options of the LU factorizations. */
export interface LuOptions {
  /** Whether rows are swapped (default true); without, matrices need not have factors. */
  readonly pivot?: boolean;
}
const LU: OptionNames<LuOptions> = { pivot: true };

/** P @ L @ U = self: [.., M, N] → [.., M, M], [.., M, K], [.., K, N]; P is empty without pivoting. @throws invalid-dim, dtype-unsupported */
export function lu(self: Tensor, options?: LuOptions): [p: Tensor, l: Tensor, u: Tensor] {
  checkOptionNames('lu', options, LU);
  return callOp(luOp, [self, options?.pivot ?? true]);
}

/** L and U in one tensor, and the row that each row was swapped with, from 1 (int32): for `luSolve`. @throws linalg-error for singular matrices, invalid-dim, dtype-unsupported */
export function luFactor(self: Tensor, options?: LuOptions): [lu: Tensor, pivots: Tensor] {
  checkOptionNames('luFactor', options, LU);
  return callOp(luFactorOp, [self, options?.pivot ?? true]);
}

const PIVOT_CHECK_ERRORS: OptionNames<LuOptions & { readonly checkErrors?: boolean }> = {
  pivot: true,
  checkErrors: true,
};

/** As `luFactor`, and for each matrix 0 or which diagonal element of U is 0 (from 1); throws then if `checkErrors`. @throws linalg-error, invalid-dim, dtype-unsupported */
export function luFactorEx(
  self: Tensor,
  options: LuOptions & { readonly checkErrors?: boolean } = {},
): [lu: Tensor, pivots: Tensor, info: Tensor] {
  checkOptionNames('luFactorEx', options, PIVOT_CHECK_ERRORS);
  const { pivot = true, checkErrors = false } = options;
  return callOp(luFactorExOp, [self, pivot, checkErrors]);
}

/** The matrices P, L and U of packed factors. @throws dtype-mismatch */
export function luUnpack(lu: Tensor, pivots: Tensor): [p: Tensor, l: Tensor, u: Tensor] {
  return callOp(unpackOp, [lu, pivots, true, true]);
}
