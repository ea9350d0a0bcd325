/**
 * @file Solutions of square systems of linear equations.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { luFactor, luSolveMatrix, transposed } from '../../kernels/dense-matrix.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import { broadcastShapes, contiguousStrides, sameNumbers, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { matmul } from '../matmul/composite.js';
import { neg } from '../pointwise/arithmetic.js';
import { mT, unsqueeze } from '../view/dims.js';
import {
  batchCount,
  checkInfos,
  checkSameDtype,
  checkSquare,
  columnMajorMeta,
  rowMajorMeta,
} from './shape.js';

/** Whether b is one vector for each matrix of a, not a matrix. */
function isVector(a: Tensor, b: Tensor): boolean {
  return b.ndim === 1 || (a.ndim - 1 === b.ndim && sameNumbers(b.sizes, a.sizes.slice(0, -1)));
}

/** Batch of the result, and the sizes of b in it as matrices. @throws shape-mismatch, dtype-mismatch */
function systemSizes(
  a: Tensor,
  b: Tensor,
  left: boolean,
): { batch: readonly number[]; vector: boolean; columns: number } {
  checkSquare('linalg.solve', a);
  checkSameDtype('linalg.solve', a, b);
  const vector = isVector(a, b);
  const n = a.sizes.at(-1)!;
  if (vector && !left)
    throw new TesseraError(
      'invalid-argument',
      'linalg.solve: Vector broadcasting of the left hand side is not supported for left=False.',
      { hints: ['Make a matrix of one row: b.unsqueeze(-2).'] },
    );
  const sizes = vector ? [...b.sizes, 1] : b.sizes;
  const [rows, columns] = sizes.slice(-2);
  if (b.ndim === 0 || (left ? rows : columns) !== n)
    throw new TesseraError(
      'shape-mismatch',
      `linalg.solve: Incompatible shapes of A and B for the equation ${left ? 'AX = B' : 'XA = B'} (${n}x${n} and ${rows ?? 0}x${columns ?? 0})`,
      { hints: ['A is square, and as large as the dimension of B next to it.'] },
    );
  return {
    batch: broadcastShapes([a.sizes.slice(0, -2), sizes.slice(0, -2)], 'linalg.solve'),
    vector,
    columns: left ? columns : rows,
  };
}

const solveExOp = defineOp(
  'aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)',
  {
    tags: ['compute-intensive'],
    meta: ({ A: a, B: b, left }) => {
      const { batch, vector, columns } = systemSizes(a, b, left);
      const n = a.sizes.at(-1)!;
      const sizes = left === true ? [...batch, n, columns] : [...batch, columns, n];
      // Vectors lie as PyTorch leaves them: a batch of them as if it were a matrix.
      const shape = vector ? [...batch, n] : sizes;
      const result =
        left === true && shape.length > 1 ? columnMajorMeta(shape, b) : rowMajorMeta(shape, b);
      return [
        result,
        columnMajorMeta(a.sizes, a),
        rowMajorMeta(a.sizes.slice(0, -1), a, 'int32'),
        rowMajorMeta(a.sizes.slice(0, -2), a, 'int32'),
      ];
    },
    kernel: ({ A: a, B: b, left, check_errors }, outs) => {
      const { batch, vector, columns } = systemSizes(a, b, left);
      const n = a.sizes.at(-1)!;
      const own = factorBatch(a, n);
      if (check_errors === true)
        checkInfos(
          'torch.linalg.solve',
          own.infos,
          a.ndim > 2,
          () => 'The solver failed because the input matrix is singular.',
          'linalg.lstsq() finds the best solution that there is.',
        );
      const [rows, width] = left === true ? [n, columns] : [columns, n];
      // A vector that is the same for all of a batch is one for each.
      const shared = vector && b.ndim === 1;
      const values = readNumbers(
        b,
        shared ? [...batch, n] : vector ? [...batch, n] : [...batch, rows, width],
      );
      const order = matrixOrder(a.sizes.slice(0, -2), batch);
      const part = n * columns;
      order.forEach((from, i) => {
        const { factors, pivots } = own;
        if (left === true) luSolveMatrix(factors, from, pivots, values, i, n, columns, own.turned);
        else {
          // X A = B is Aᵀ Xᵀ = Bᵀ.
          const right = values.subarray(i * part, (i + 1) * part);
          const turned = transposed(right, columns, n);
          luSolveMatrix(factors, from, pivots, turned, 0, n, columns, !own.turned);
          right.set(transposed(turned, n, columns));
        }
      });
      writeNumbers(outs[0]!, values);
      writeNumbers(outs[1]!, own.factors);
      writeNumbers(outs[2]!, own.pivots);
      writeNumbers(outs[3]!, own.infos);
    },
    saved: ['out.0'],
    savedFor: { A: ['A'], B: ['A'] },
    constantOutputs: [1],
    vjp: ({ A, B, left }, { grads, outs }) => {
      const [a, grad] = [A, grads[0] ?? null];
      if (grad === null) return {};
      const toB = solve(mT(a), grad, { left: left });
      return {
        B: toB,
        A: () => {
          const vector = isVector(a, B);
          const [g, x] = vector ? [unsqueeze(toB, -1), unsqueeze(outs[0]!, -1)] : [toB, outs[0]!];
          return neg(left === true ? matmul(g, mT(x)) : matmul(mT(x), g));
        },
      };
    },
  },
);

/** The factors of each matrix, or of its transpose if `turned`: as PyTorch does, row-major matrices are factored as they lie in memory. */
function factorBatch(
  a: Tensor,
  n: number,
): { factors: Float64Array; pivots: Int32Array; infos: Int32Array; turned: boolean } {
  const turned = a.isContiguous();
  const factors = readNumbers(turned ? mT(a) : a);
  return { factors, ...luFactor(factors, batchCount(a), n), turned };
}

/** For each matrix of the result, the number of the matrix of a that it is solved with. */
function matrixOrder(own: readonly number[], batch: readonly number[]): number[] {
  const strides = contiguousStrides(own);
  const whole = contiguousStrides(batch);
  const count = numelOf(batch);
  const skipped = batch.length - own.length;
  return Array.from({ length: count }, (_, i) =>
    own.reduce(
      (at, size, d) =>
        size === 1 ? at : at + (Math.floor(i / whole[d + skipped]!) % size) * strides[d]!,
      0,
    ),
  );
}

const solveExPublicOp = defineOp(
  'aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)',
  {
    decompose: ({ A, B, left, check_errors }) => {
      const outs = callOp(solveExOp, [A, B, left, check_errors]);
      return [outs[0], outs[3]];
    },
  },
);
const solveOp = defineOp('aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor', {
  decompose: ({ A, B, left }) => callOp(solveExOp, [A, B, left, true])[0],
});

const LEFT: OptionNames<{ readonly left?: boolean }> = { left: true };

/** X with A @ X = b (X @ A = b unless `left`); b is matrices, or one vector for each matrix. @throws linalg-error for singular matrices, shape-mismatch, dtype-mismatch, dtype-unsupported */
export function solve(self: Tensor, b: Tensor, options?: { readonly left?: boolean }): Tensor {
  checkOptionNames('solve', options, LEFT);
  return callOp(solveOp, [self, b, options?.left ?? true]);
}

/** Options of `solveEx`. */
export interface SolveExOptions {
  readonly left?: boolean;
  /** Whether singular matrices throw. */
  readonly checkErrors?: boolean;
}
const SOLVE_EX: OptionNames<SolveExOptions> = { left: true, checkErrors: true };

/** Solutions as `solve` has them, and for each matrix 0 or which diagonal element of its factor is 0 (from 1). @throws linalg-error, shape-mismatch, dtype-mismatch, dtype-unsupported */
export function solveEx(
  self: Tensor,
  b: Tensor,
  options: SolveExOptions = {},
): [result: Tensor, info: Tensor] {
  checkOptionNames('solveEx', options, SOLVE_EX);
  const { left = true, checkErrors = false } = options;
  return callOp(solveExPublicOp, [self, b, left, checkErrors]);
}
