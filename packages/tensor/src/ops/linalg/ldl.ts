/**
 * @file LDLᵀ factors of symmetric matrices, which need not be positive definite, and solving with them.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { sumToSize } from '../../autograd/gradient-ops.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES, isFloatingPoint } from '../../dtype.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { ldlFactor as factorMatrix, ldlSolve as solveMatrix } from '../../kernels/ldl-factor.js';
import { defineOp } from '../../op/op-overload.js';
import { broadcastShapes, formatSizes, sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import {
  batchCount,
  checkInfos,
  checkMatrix,
  checkSquare,
  columnMajorMeta,
  rowMajorMeta,
} from './shape.js';

const factorExOp = defineOp(
  'aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)',
  {
    tags: ['compute-intensive'],
    meta: ({ self }) => {
      checkSquare('torch.linalg.ldl_factor_ex', self);
      return [
        columnMajorMeta(self.sizes, self),
        rowMajorMeta(self.sizes.slice(0, -1), self, 'int32'),
        rowMajorMeta(self.sizes.slice(0, -2), self, 'int32'),
      ];
    },
    kernel: ({ self, check_errors }, [out, pivotsOut, infoOut]) => {
      const n = self.sizes.at(-1)!;
      const values = readNumbers(self);
      const pivots = new Int32Array(pivotsOut!.numel);
      const infos = Array.from({ length: batchCount(self) }, (_, b) =>
        factorMatrix(
          values.subarray(b * n * n, (b + 1) * n * n),
          n,
          pivots.subarray(b * n, (b + 1) * n),
        ),
      );
      if (check_errors === true)
        checkInfos(
          'torch.linalg.ldl_factor',
          infos,
          self.ndim > 2,
          (at) =>
            `D[${at},${at}] is zero and using it on ldl_solve would result in a division by zero.`,
          'linalg.ldlFactorEx() factors such matrices too.',
        );
      writeNumbers(out!, values);
      writeNumbers(pivotsOut!, pivots);
      writeNumbers(infoOut!, infos);
    },
  },
);
const factorOp = defineOp(
  'aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)',
  {
    decompose: ({ self, hermitian }) => {
      const [ld, pivots] = callOp(factorExOp, [self, hermitian, true]);
      return [ld, pivots];
    },
  },
);

function refuse(code: 'shape-mismatch' | 'dtype-mismatch', why: string): never {
  throw new TesseraError(code, why, {
    hints: ['ld is [*, n, n] and pivots [*, n] of linalg.ldlFactor(), b is [*, n, k].'],
  });
}

/** @throws invalid-dim, shape-mismatch, dtype-mismatch, dtype-unsupported */
function checkSolve(ld: Tensor, pivots: Tensor, b: Tensor): void {
  const name = 'torch.linalg.ldl_solve';
  checkSquare(name, ld);
  checkMatrix(name, b);
  const type = (x: Tensor): string => DTYPES[x.dtype].scalarTypeName;
  if (isFloatingPoint(pivots.dtype) || pivots.dtype === 'bool')
    refuse('dtype-mismatch', `${name}: Expected pivots to be integers. Got ${type(pivots)}`);
  if (b.dtype !== ld.dtype)
    refuse(
      'dtype-mismatch',
      `Expected b and A to have the same dtype, but found b of type ${type(b)} and A of type ${type(ld)} instead.`,
    );
  if (!sameNumbers(ld.sizes.slice(0, -1), pivots.sizes))
    refuse(
      'shape-mismatch',
      `${name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ${formatSizes(pivots.sizes)} instead`,
    );
  const [n, rows, columns] = [ld.sizes.at(-1)!, ...b.sizes.slice(-2)];
  if (rows !== n)
    refuse(
      'shape-mismatch',
      `Incompatible matrix sizes for ${name}: each A matrix is ${n} by ${n} but each b matrix is ${rows} by ${columns}`,
    );
}

const solveOp = defineOp(
  'aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: ({ LD, pivots, B }) => {
      checkSolve(LD, pivots, B);
      const batch = broadcastShapes([LD.sizes.slice(0, -2), B.sizes.slice(0, -2)]);
      return columnMajorMeta([...batch, ...B.sizes.slice(-2)], B);
    },
    kernel: ({ LD, pivots, B }, [out]) => {
      const batch = out!.sizes.slice(0, -2);
      const [n, columns] = out!.sizes.slice(-2);
      const matrices = readNumbers(LD, [...batch, n!, n!]);
      const swaps = readNumbers(pivots, [...batch, n!]);
      const values = readNumbers(B, out!.sizes);
      for (let i = 0; i < batchCount(out!); i++)
        solveMatrix(
          matrices.subarray(i * n! * n!, (i + 1) * n! * n!),
          n!,
          swaps.subarray(i * n!, (i + 1) * n!),
          values.subarray(i * n! * columns!, (i + 1) * n! * columns!),
          columns!,
        );
      writeNumbers(out!, values);
    },
    saved: ['LD', 'pivots', 'B'],
    vjp: ({ LD, pivots, B }, { grad }) => ({
      LD: () => {
        throw new TesseraError(
          'derivative-missing',
          'derivative for aten::linalg_ldl_solve is not implemented',
          {
            hints: ['Detach the factors, or use linalg.solve(); the right side has a derivative.'],
          },
        );
      },
      // The matrix is symmetric.
      B: () => sumToSize(ldlSolve(LD, pivots, grad), B.sizes),
    }),
  },
);

/** Options of `ldlFactor` and `ldlSolve`. */
export interface LdlOptions {
  /** Whether matrices are Hermitian: no difference for real ones (default false). */
  readonly hermitian?: boolean;
}
const LDL: OptionNames<LdlOptions> = { hermitian: true };

/**
 * Symmetric matrices as L · D · Lᵀ with rows exchanged, of which the lower triangle is read: [.., N, N] → L below D and the
 * rows that were swapped, [.., N] (int32, from 1, negative for blocks of two), for `ldlSolve`. Has no derivative, as in
 * PyTorch.
 *
 * @throws linalg-error where D is singular; shape-mismatch, invalid-dim, dtype-unsupported
 * @see torch.linalg.ldl_factor
 */
export function ldlFactor(self: Tensor, options?: LdlOptions): [ld: Tensor, pivots: Tensor] {
  checkOptionNames('ldlFactor', options, LDL);
  return callOp(factorOp, [self, options?.hermitian ?? false]);
}

const LDL_EX: OptionNames<LdlOptions & { readonly checkErrors?: boolean }> = {
  hermitian: true,
  checkErrors: true,
};

/** As `ldlFactor`, and for each matrix 0 or where D is zero (from 1); throws then if `checkErrors`. @throws linalg-error, shape-mismatch, invalid-dim, dtype-unsupported @see torch.linalg.ldl_factor_ex */
export function ldlFactorEx(
  self: Tensor,
  options: LdlOptions & { readonly checkErrors?: boolean } = {},
): [ld: Tensor, pivots: Tensor, info: Tensor] {
  checkOptionNames('ldlFactorEx', options, LDL_EX);
  const { hermitian = false, checkErrors = false } = options;
  return callOp(factorExOp, [self, hermitian, checkErrors]);
}

/**
 * X with A @ X = b, [.., N, K], where A was factored into ld and pivots; batches broadcast. Derivatives towards b; PyTorch
 * has none.
 *
 * @throws shape-mismatch, dtype-mismatch, invalid-dim, dtype-unsupported
 * @see torch.linalg.ldl_solve
 */
export function ldlSolve(ld: Tensor, pivots: Tensor, b: Tensor, options?: LdlOptions): Tensor {
  checkOptionNames('ldlSolve', options, LDL);
  return callOp(solveOp, [ld, pivots, b, options?.hermitian ?? false]);
}
