/**
 * @file Determinants, and logarithms of them, from the LU factorization.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { cofactorMatrix } from '../../kernels/cofactor-matrix.js';
import { luFactor, swapSign } from '../../kernels/dense-matrix.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import type { TensorMeta } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { matmul } from '../matmul/composite.js';
import { mul, sub } from '../pointwise/arithmetic.js';
import { eq } from '../pointwise/comparison.js';
import { maskedFill } from '../pointwise/fill.js';
import { sum } from '../reduction/reduction.js';
import { mT, unsqueeze } from '../view/dims.js';
import { pinv } from './function.js';
import { inv } from './inverse.js';
import { batchCount, checkSquare, columnMajorMeta, rowMajorMeta } from './shape.js';

/** Meta of `numbers` values for each matrix, and of its factors. */
function factoredMeta(name: string, numbers: number): (args: { A: Tensor }) => TensorMeta[] {
  return ({ A: x }) => {
    checkSquare(name, x);
    const value = rowMajorMeta(x.sizes.slice(0, -2), x);
    return [
      ...Array.from({ length: numbers }, () => value),
      columnMajorMeta(x.sizes, x),
      rowMajorMeta(x.sizes.slice(0, -1), x, 'int32'),
    ];
  };
}

/** Factors each matrix, tells its sign and the diagonal of U, and writes the factors to the last two outputs. */
function factorEach(
  x: Tensor,
  outs: readonly Tensor[],
  tell: (sign: number, diagonal: Float64Array) => void,
): void {
  const n = x.sizes.at(-1)!;
  // As PyTorch does: row-major matrices are factored as they lie in memory, transposed.
  const values = readNumbers(x.isContiguous() ? mT(x) : x);
  const count = batchCount(x);
  const { pivots } = luFactor(values, count, n);
  const diagonal = new Float64Array(n);
  for (let b = 0; b < count; b++) {
    for (let i = 0; i < n; i++) diagonal[i] = values[(b * n + i) * n + i]!;
    tell(swapSign(pivots, b * n, n), diagonal);
  }
  writeNumbers(outs.at(-2)!, values);
  writeNumbers(outs.at(-1)!, pivots);
}

const slogdetOp = defineOp(
  'aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)',
  {
    tags: ['compute-intensive'],
    meta: factoredMeta('linalg.slogdet', 2),
    kernel: ({ A }, outs) => {
      const signs: number[] = [];
      const logs: number[] = [];
      factorEach(A, outs, (sign, diagonal) => {
        signs.push(diagonal.reduce((total, value) => total * Math.sign(value), sign));
        logs.push(diagonal.reduce((total, value) => total + Math.log(Math.abs(value)), 0));
      });
      writeNumbers(outs[0]!, signs);
      writeNumbers(outs[1]!, logs);
    },
    saved: ['A'],
    constantOutputs: [2],
    // Only the logarithm has a derivative: the transposed inverse.
    vjp: ({ A }, { grads }) => ({
      A: () => {
        const grad = grads[1] ?? null;
        if (grad === null) return null;
        return mul(unsqueeze(unsqueeze(grad, -1), -1), mT(pinv(A)));
      },
    }),
  },
);
const slogdetPublicOp: OpOverload<[Tensor, Tensor]> = withOverloads(
  defineOp('aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)', {
    decompose: ({ A }) => {
      const [sign, logarithm] = callOp(slogdetOp, [A]);
      return [sign, logarithm];
    },
  }),
  defineOp('aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)', {
    decompose: ({ self }) => callOp(slogdetPublicOp, [self]),
  }),
);

const logdetOp = defineOp('aten::logdet(Tensor self) -> Tensor', {
  decompose: ({ self }) => {
    const [sign, logarithm] = callOp(slogdetOp, [self]);
    return maskedFill(logarithm, eq(sign, -1), NaN);
  },
});

/** The derivative of the determinant, which singular matrices have too. */
const cofactorOp = defineOp('tessera::linalg_cofactor(Tensor A) -> Tensor', {
  tags: ['compute-intensive'],
  meta: ({ A }) => rowMajorMeta(A.sizes, A),
  kernel: ({ A }, [out]) => {
    const n = A.sizes.at(-1)!;
    const values = readNumbers(A);
    for (let at = 0; at < values.length; at += n * n) {
      const part = values.subarray(at, at + n * n);
      part.set(cofactorMatrix(part, n));
    }
    writeNumbers(out!, values);
  },
  saved: ['A', 'out'],
  // C = det(A) · A⁻ᵀ, so dC = tr(A⁻¹ dA) C - A⁻ᵀ dAᵀ C. This asks for an inverse.
  vjp: ({ A }, { grad, out }) => ({
    A: () => {
      const turned = mT(inv(A));
      const along = sum(mul(grad, out), [-2, -1], { keepdim: true });
      return sub(mul(along, turned), matmul(out, matmul(mT(grad), turned)));
    },
  }),
});

const detOp = defineOp('aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)', {
  tags: ['compute-intensive'],
  meta: factoredMeta('linalg.det', 1),
  kernel: ({ A }, outs) => {
    const values: number[] = [];
    factorEach(A, outs, (sign, diagonal) =>
      values.push(diagonal.reduce((total, value) => total * value, sign)),
    );
    writeNumbers(outs[0]!, values);
  },
  saved: ['A'],
  constantOutputs: [1],
  vjp: ({ A }, { grads }) => ({
    A: () => {
      const grad = grads[0] ?? null;
      if (grad === null) return null;
      return mul(unsqueeze(unsqueeze(grad, -1), -1), callOp(cofactorOp, [A]));
    },
  }),
});
const detPublicOp: OpOverload<Tensor> = withOverloads(
  defineOp('aten::linalg_det(Tensor A) -> Tensor', {
    decompose: ({ A }) => callOp(detOp, [A])[0],
  }),
  defineOp('aten::det(Tensor self) -> Tensor', {
    decompose: ({ self }) => callOp(detPublicOp, [self]),
  }),
);

/** Determinants, [.., N, N] → [..]. @throws shape-mismatch, invalid-dim, dtype-unsupported */
export function det(self: Tensor): Tensor {
  return callOp(detPublicOp, [self]);
}

/** Signs of determinants and logarithms of their magnitudes, [.., N, N] → [..], [..]. @throws shape-mismatch, invalid-dim, dtype-unsupported */
export function slogdet(self: Tensor): [sign: Tensor, logabsdet: Tensor] {
  return callOp(slogdetPublicOp, [self]);
}

/** Logarithm of determinants; NaN where they are negative. @throws shape-mismatch, invalid-dim, dtype-unsupported */
export function logdet(self: Tensor): Tensor {
  return callOp(logdetOp, [self]);
}
