/**
 * @file Solving with a matrix that was factored before: LU and row swaps, as LAPACK packs them.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import { broadcastShapes, formatSizes, sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { clone } from '../arrange/copy.js';
import { rowMajorMeta } from './shape.js';
import { solveTriangular } from './solve-triangular.js';
import { gather } from '../indexing/scatter.js';
import { expand } from '../view/view.js';
import { mT, unsqueeze } from '../view/dims.js';

/** Row of the original matrix at each row after the swaps (and where each went, if inverse). */
const permutationOp = defineOp(
  'tessera::pivots_to_permutation(Tensor pivots, int rows, bool inverse) -> Tensor',
  {
    tags: ['non-differentiable'],
    meta: ({ pivots, rows }) => rowMajorMeta([...pivots.sizes.slice(0, -1), rows], pivots, 'int64'),
    kernel: ({ pivots, rows: m, inverse }, [out]) => {
      const swaps = readNumbers(pivots);
      const k = pivots.sizes.at(-1)!;
      const result = new Float64Array(out!.numel);
      for (let b = 0; b * m < result.length; b++) {
        const order = Array.from({ length: m }, (_, i) => i);
        // LAPACK counts rows from 1.
        for (let i = 0; i < k; i++) {
          const j = swaps[b * k + i]! - 1;
          [order[i], order[j]] = [order[j]!, order[i]!];
        }
        order.forEach((from, to) => (result[b * m + (inverse ? from : to)] = inverse ? to : from));
      }
      writeNumbers(out!, result);
    },
  },
);

/** Rows of x in the order that the pivots give, or back. */
export function permuteRows(x: Tensor, pivots: Tensor, inverse: boolean): Tensor {
  const order = callOp(permutationOp, [pivots, x.sizes.at(-2)!, inverse]);
  return gather(x, -2, expand(unsqueeze(order, -1), x.sizes));
}

const luSolveOp = defineOp(
  'aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor',
  {
    decompose: (args) => {
      const { LU, pivots, B, left, adjoint } = args;
      const n = LU.sizes.at(-1);
      checkTypes(LU, pivots, B);
      if (LU.ndim < 2 || LU.sizes.at(-2) !== n)
        refuse(`expected LU to be square, but it has shape ${formatSizes(LU.sizes)}`);
      if (!sameNumbers(LU.sizes.slice(0, -1), pivots.sizes))
        refuse(
          `Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape ${formatSizes(pivots.sizes)} instead`,
        );
      if (B.ndim < 2) refuse('The input tensor B must have at least 2 dimensions');
      if (B.sizes.at(left ? -2 : -1) !== n)
        refuse(`shapes ${formatSizes(LU.sizes)} of LU and ${formatSizes(B.sizes)} of B do not fit`);
      const batch = broadcastShapes(
        [LU.sizes.slice(0, -2), B.sizes.slice(0, -2)],
        'linalg_lu_solve',
      );
      // X @ A = B is Aᵀ @ Xᵀ = Bᵀ: from here on the unknown is on the right.
      const b = expand(left ? B : mT(B), [...batch, ...(left ? B : mT(B)).sizes.slice(-2)]);
      const lu = expand(LU, [...batch, ...LU.sizes.slice(-2)]);
      const swaps = expand(pivots, [...batch, n!]);
      const transposed = adjoint === left;
      const solve = (
        matrix: Tensor,
        right: Tensor,
        upper: boolean,
        unitriangular: boolean,
      ): Tensor => solveTriangular(matrix, right, { upper, unitriangular });
      const x = transposed
        ? permuteRows(solve(mT(lu), solve(mT(lu), b, false, false), true, true), swaps, true)
        : solve(lu, solve(lu, permuteRows(b, swaps, false), false, true), true, false);
      // Column by column for unknowns on the right, as LAPACK leaves them.
      return left
        ? mT(clone(mT(x), { memoryFormat: 'contiguous' }))
        : clone(mT(x), { memoryFormat: 'contiguous' });
    },
  },
);

/** @throws dtype-mismatch */
function checkTypes({ dtype }: Tensor, pivots: Tensor, B: Tensor): void {
  if (pivots.dtype !== 'int32')
    throw new TesseraError(
      'dtype-mismatch',
      'linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32',
      { hints: ['Pass the pivots of luFactor() as they are.'] },
    );
  if (dtype !== B.dtype)
    throw new TesseraError(
      'dtype-mismatch',
      `linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type ${dtype} and B of type ${B.dtype} instead`,
      { hints: [`Convert one of them: B.to('${dtype}').`] },
    );
}

/** @throws shape-mismatch */
function refuse(why: string): never {
  throw new TesseraError('shape-mismatch', `linalg.lu_solve: ${why}.`, {
    hints: ['LU is [*, n, n], pivots [*, n], and B [*, n, k] (or [*, k, n] with left: false).'],
  });
}

const LEFT_ADJOINT: OptionNames<{ left?: boolean; adjoint?: boolean }> = {
  left: true,
  adjoint: true,
};

/** X with A @ X = b (X @ A = b unless `left`; Aᵀ if `adjoint`), where A was factored into lu and pivots. @throws shape-mismatch */
export function luSolve(
  lu: Tensor,
  pivots: Tensor,
  b: Tensor,
  options: { left?: boolean; adjoint?: boolean } = {},
): Tensor {
  checkOptionNames('luSolve', options, LEFT_ADJOINT);
  const { left = true, adjoint = false } = options;
  return callOp(luSolveOp, [lu, pivots, b, left, adjoint]);
}
