/**
 * @file Solving with triangular matrices.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { solveTriangle, transposed } from '../../kernels/dense-matrix.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import { broadcastShapes, formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { clone } from '../arrange/copy.js';
import { checkMatrix, columnMajorStrides } from './shape.js';
import { matmul } from '../matmul/composite.js';
import { neg } from '../pointwise/arithmetic.js';
import { tril, triu } from '../indexing/triangle.js';
import { mT } from '../view/dims.js';
import { expand } from '../view/view.js';

/** Which triangle, which side, and whether the diagonal counts as ones. */
export interface TriangularOptions {
  readonly upper: boolean;
  readonly left?: boolean;
  readonly unitriangular?: boolean;
}
const TRIANGULAR: OptionNames<TriangularOptions> = { upper: true, left: true, unitriangular: true };

const solveOp = defineOp(
  'aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: ({ self: a, B: b, left }) => {
      checkMatrix('linalg.solve_triangular', a);
      checkMatrix('linalg.solve_triangular', b);
      const n = a.sizes.at(-1);
      if (a.sizes.at(-2) !== n || b.sizes.at(left === true ? -2 : -1) !== n || a.dtype !== b.dtype)
        throw new TesseraError(
          'shape-mismatch',
          `linalg.solve_triangular: Incompatible shapes or types of A and B for the equation ${left === true ? 'AX = B' : 'XA = B'} (${formatSizes(a.sizes)} ${a.dtype} and ${formatSizes(b.sizes)} ${b.dtype})`,
          { hints: ['A is square, and as large as the dimension of B next to it.'] },
        );
      const batch = broadcastShapes(
        [a.sizes.slice(0, -2), b.sizes.slice(0, -2)],
        'linalg.solve_triangular',
      );
      const sizes = [...batch, ...b.sizes.slice(-2)];
      return { sizes, strides: columnMajorStrides(sizes), dtype: b.dtype, device: b.device };
    },
    kernel: ({ self, B, upper, left, unitriangular: unit }, [out]) => {
      const batch = out!.sizes.slice(0, -2);
      const [rows, columns] = out!.sizes.slice(-2);
      const n = left === true ? rows : columns;
      const a = readNumbers(self, [...batch, n, n]);
      const b = readNumbers(B, out!.sizes);
      const size = rows * columns;
      for (let i = 0; i * size < b.length; i++) {
        const matrix = a.subarray(i * n * n, (i + 1) * n * n);
        const part = b.subarray(i * size, (i + 1) * size);
        if (left === true) solveTriangle(matrix, part, n, columns, { upper: upper, unit });
        else {
          // X A = B is Aᵀ Xᵀ = Bᵀ.
          const turned = transposed(part, rows, columns);
          solveTriangle(transposed(matrix, n, n), turned, n, rows, { upper: upper !== true, unit });
          part.set(transposed(turned, columns, rows));
        }
      }
      writeNumbers(out!, b);
    },
    savedFor: { self: ['self', 'out'], B: ['self'] },
    saved: ['out'],
    vjp: ({ self, upper, left, unitriangular }, { grad, out }) => {
      const flags = { left: left, unitriangular: unitriangular };
      const toB = solveTriangular(mT(self), grad, {
        ...flags,
        upper: upper !== true,
      });
      return {
        B: toB,
        self: () => {
          const full = neg(left === true ? matmul(toB, mT(out)) : matmul(mT(out), toB));
          const shift = unitriangular === true ? 1 : 0;
          return upper === true ? triu(full, shift) : tril(full, -shift);
        },
      };
    },
  },
);

const oldSolveOp = defineOp(
  'aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)',
  {
    decompose: ({ self, A: a, upper, transpose, unitriangular }) => {
      const turned = transpose === true;
      const solution = solveTriangular(turned ? mT(a) : a, self, {
        upper: upper !== turned,
        unitriangular: unitriangular,
      });
      const batch = solution.sizes.slice(0, -2);
      // The coefficients come back as LAPACK had them: column by column.
      const whole = expand(a, [...batch, ...a.sizes.slice(-2)]);
      return [solution, mT(clone(mT(whole), { memoryFormat: 'contiguous' }))];
    },
  },
);

/**
 * X with triangle(self) @ X = b (X @ triangle(self) = b unless `left`): [..., n, n] and [..., n, k] → [..., n, k].
 *
 * @throws shape-mismatch, invalid-dim, dtype-unsupported, invalid-argument without `upper`
 */
export function solveTriangular(self: Tensor, b: Tensor, options: TriangularOptions): Tensor {
  checkOptionNames('solveTriangular', options, TRIANGULAR);
  if (typeof options?.upper !== 'boolean')
    throw new TesseraError('invalid-argument', "solveTriangular: missing the option 'upper'.", {
      hints: ['Say which triangle: solveTriangular(a, b, { upper: true }).'],
    });
  const { upper, left = true, unitriangular = false } = options;
  return callOp(solveOp, [self, b, upper, left, unitriangular]);
}

const TRIANGULAR_SOLVE: OptionNames<{
  upper?: boolean;
  transpose?: boolean;
  unitriangular?: boolean;
}> = { upper: true, transpose: true, unitriangular: true };

/** The solution of triangle(a) @ X = self, and a copy of a. @throws shape-mismatch, invalid-dim, dtype-unsupported */
export function triangularSolve(
  self: Tensor,
  a: Tensor,
  options: { upper?: boolean; transpose?: boolean; unitriangular?: boolean } = {},
): [solution: Tensor, coefficients: Tensor] {
  checkOptionNames('triangularSolve', options, TRIANGULAR_SOLVE);
  const { upper = true, transpose = false, unitriangular = false } = options;
  return callOp(oldSolveOp, [self, a, upper, transpose, unitriangular]);
}
