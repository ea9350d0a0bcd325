/**
 * @file Inverses of square matrices.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { invertMatrices } from '../../kernels/dense-matrix.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import type { Tensor } from '../../tensor.js';
import { matmul } from '../matmul/composite.js';
import { neg } from '../pointwise/arithmetic.js';
import { mT } from '../view/dims.js';
import { batchCount, checkInfos, checkSquare, columnMajorMeta, rowMajorMeta } from './shape.js';

const invExOp = defineOp(
  'aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)',
  {
    tags: ['compute-intensive'],
    meta: ({ A: x }) => {
      checkSquare('linalg.inv', x);
      return [columnMajorMeta(x.sizes, x), rowMajorMeta(x.sizes.slice(0, -2), x, 'int32')];
    },
    kernel: ({ A: x, check_errors }, [out, info]) => {
      const n = x.sizes.at(-1)!;
      const values = readNumbers(x);
      const infos = invertMatrices(values, batchCount(x), n);
      if (check_errors === true)
        checkInfos(
          'linalg.inv',
          infos,
          x.ndim > 2,
          (at) =>
            `The diagonal element ${at} is zero, the inversion could not be completed because the input matrix is singular.`,
          'linalg.pinv() inverts what can be inverted; linalg.invEx() reports instead of throwing.',
        );
      writeNumbers(out!, values);
      writeNumbers(info!, infos);
    },
    saved: ['out.0'],
    vjp: (_args, { grad, outs }) => ({
      A: () => {
        const turned = mT(outs[0]!);
        return neg(matmul(turned, matmul(grad, turned)));
      },
    }),
  },
);
const invOp: OpOverload<Tensor> = withOverloads(
  defineOp('aten::linalg_inv(Tensor A) -> Tensor', {
    decompose: ({ A }) => callOp(invExOp, [A, true])[0],
  }),
  defineOp('aten::inverse(Tensor self) -> Tensor', {
    decompose: ({ self }) => callOp(invOp, [self]),
  }),
);

/** Inverses, [.., N, N] → [.., N, N]. @throws linalg-error for singular matrices, shape-mismatch, invalid-dim, dtype-unsupported */
export function inv(self: Tensor): Tensor {
  return callOp(invOp, [self]);
}

const CHECK_ERRORS: OptionNames<{ readonly checkErrors?: boolean }> = { checkErrors: true };

/** Inverses, and for each matrix 0 or which diagonal element of its factor is 0 (from 1); throws then if `checkErrors`. @throws linalg-error, shape-mismatch, invalid-dim, dtype-unsupported */
export function invEx(
  self: Tensor,
  options?: { readonly checkErrors?: boolean },
): [inverse: Tensor, info: Tensor] {
  checkOptionNames('invEx', options, CHECK_ERRORS);
  return callOp(invExOp, [self, options?.checkErrors ?? false]);
}
