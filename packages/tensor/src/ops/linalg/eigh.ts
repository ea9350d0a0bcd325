/**
 * @file Eigenvalues and eigenvectors of symmetric matrices.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { isGradEnabled } from '../../autograd/grad-mode.js';
import { seemsToRequireGrad } from '../../autograd/history.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { symmetricEigen } from '../../kernels/symmetric-eigen.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { eye } from '../factory/range.js';
import { matmul } from '../matmul/composite.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { rsub } from '../pointwise/rsub.js';
import { div } from '../pointwise/division.js';
import { diagEmbed } from '../view/diagonal.js';
import { mT, unsqueeze } from '../view/dims.js';
import { batchCount, checkSquare, columnMajorMeta, rowMajorMeta } from './shape.js';

/** Which triangle of a symmetric matrix is read: its lower or its upper one. */
export type Triangle = 'L' | 'U';

/** @throws invalid-argument */
function isUpper(uplo: unknown): boolean {
  const name = String(uplo).toUpperCase();
  if (name !== 'L' && name !== 'U')
    throw new TesseraError(
      'invalid-argument',
      `Expected UPLO argument to be 'L' or 'U', but got ${String(uplo)}`,
      { hints: ["It says which triangle is read: 'L' (lower, default) or 'U' (upper)."] },
    );
  return name === 'U';
}

const eighOp = defineOp(
  'aten::_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)',
  {
    tags: ['compute-intensive'],
    meta: ({ A: x, UPLO, compute_v }) => {
      checkSquare('linalg.eigh', x);
      isUpper(UPLO);
      return [
        rowMajorMeta(x.sizes.slice(0, -1), x),
        compute_v === true ? columnMajorMeta(x.sizes, x) : rowMajorMeta([0], x),
      ];
    },
    kernel: ({ A: x, UPLO, compute_v }, outs) => {
      const n = x.sizes.at(-1)!;
      const upper = isUpper(UPLO);
      const values = readNumbers(x);
      const found = new Float64Array(outs[0]!.numel);
      for (let b = 0; b < batchCount(x); b++) {
        const part = values.subarray(b * n * n, (b + 1) * n * n);
        for (let i = 0; i < n; i++)
          for (let j = 0; j < i; j++)
            if (upper) part[i * n + j] = part[j * n + i]!;
            else part[j * n + i] = part[i * n + j]!;
        const made = part.every(Number.isFinite) ? symmetricEigen(part, n, compute_v) : null;
        if (made === null)
          throw new TesseraError(
            'linalg-error',
            `linalg.eigh: ${x.ndim > 2 ? `(Batch element ${b}): ` : ''}The algorithm failed to converge because the input matrix is ill-conditioned or contains non-finite values.`,
            { hints: ['Check the input for NaN and infinity.'] },
          );
        found.set(made.values, b * n);
        if (made.vectors !== null) part.set(made.vectors);
      }
      writeNumbers(outs[0]!, found);
      if (compute_v === true) writeNumbers(outs[1]!, values);
    },
    saved: ['out'],
    // @see linalg_eig_backward in PyTorch's FunctionsManual
    vjp: ({ compute_v }, { grads, outs }) => ({
      A: () => {
        if (compute_v !== true)
          throw new TesseraError(
            'derivative-missing',
            'linalg.eigh: the derivative needs the eigenvectors, which were not computed.',
            { hints: ['Use linalg.eigvalsh(), or linalg.eigh().'] },
          );
        const [values, vectors] = [outs[0]!, outs[1]!];
        const [toValues, toVectors] = [grads[0] ?? null, grads[1] ?? null];
        if (toVectors === null) return matmul(mul(vectors, unsqueeze(toValues!, -2)), mT(vectors));
        const n = values.sizes.at(-1)!;
        const one = eye(n, null, { dtype: values.dtype, device: values.device });
        const gaps = add(sub(unsqueeze(values, -2), unsqueeze(values, -1)), one);
        // Vectors keep their lengths: what points along them is no part of the derivative.
        let core = mul(div(matmul(mT(vectors), toVectors), gaps), rsub(one, 1));
        if (toValues !== null) core = add(core, diagEmbed(toValues));
        return matmul(vectors, matmul(core, mT(vectors)));
      },
    }),
  },
);
const eighPublicOp = defineOp(
  'aten::linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)',
  { decompose: ({ self, UPLO }) => callOp(eighOp, [self, UPLO, true]) },
);
const eigvalshOp = defineOp('aten::linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor', {
  decompose: ({ self, UPLO }) => {
    // The derivative needs the vectors.
    const vectors = isGradEnabled() && seemsToRequireGrad(self);
    return callOp(eighOp, [self, UPLO, vectors])[0];
  },
});

/** Options of `eigh`. */
export interface EighOptions {
  /** Which triangle is read (default 'L'). */
  readonly uplo?: Triangle;
}
const EIGH: OptionNames<EighOptions> = { uplo: true };

/** Ascending eigenvalues and the eigenvectors, as columns, of symmetric matrices: [.., N, N] → [.., N], [.., N, N]. Gradients through vectors need distinct eigenvalues. @throws linalg-error, shape-mismatch, invalid-argument, invalid-dim, dtype-unsupported */
export function eigh(
  self: Tensor,
  options?: EighOptions,
): [eigenvalues: Tensor, eigenvectors: Tensor] {
  checkOptionNames('eigh', options, EIGH);
  return callOp(eighPublicOp, [self, options?.uplo ?? 'L']);
}

/** Ascending eigenvalues of symmetric matrices, [.., N, N] → [.., N]. @throws linalg-error, shape-mismatch, invalid-argument, invalid-dim, dtype-unsupported */
export function eigvalsh(self: Tensor, options?: EighOptions): Tensor {
  checkOptionNames('eigvalsh', options, EIGH);
  return callOp(eigvalshOp, [self, options?.uplo ?? 'L']);
}
