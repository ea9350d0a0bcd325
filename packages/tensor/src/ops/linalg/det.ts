/**
 * @file Logarithms of determinants, from the LU factorization.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { luFactor } from '../../kernels/dense-matrix.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import { contiguousStrides, formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { eq } from '../pointwise/comparison.js';
import { maskedFill } from '../pointwise/fill.js';
import { linalgPinv } from './function.js';
import { checkMatrix, columnMajorStrides } from './shape.js';
import { mul } from '../pointwise/arithmetic.js';
import { mT, unsqueeze } from '../view/dims.js';

const slogdetOp = defineOp(
  'aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)',
  {
    tags: ['compute-intensive'],
    meta: ({ A }) => {
      const x = A;
      checkMatrix('linalg.slogdet', x);
      if (x.sizes.at(-1) !== x.sizes.at(-2))
        throw new TesseraError(
          'shape-mismatch',
          `linalg.slogdet: A must be batches of square matrices, but they are ${formatSizes(x.sizes)}`,
          { hints: ['The last two dimensions are equal.'] },
        );
      const [batch, rows] = [x.sizes.slice(0, -2), x.sizes.slice(0, -1)];
      const { dtype, device } = x;
      const number = { sizes: batch, strides: contiguousStrides(batch), dtype, device };
      return [
        number,
        number,
        { sizes: x.sizes, strides: columnMajorStrides(x.sizes), dtype, device },
        { sizes: rows, strides: contiguousStrides(rows), dtype: 'int32', device },
      ];
    },
    kernel: ({ A }, outs) => {
      const x = A;
      const n = x.sizes.at(-1)!;
      // As PyTorch does: row-major matrices are factored as they lie in memory, transposed.
      const values = readNumbers(x.isContiguous() ? mT(x) : x);
      const factors = new Float64Array(values.length);
      const swaps: number[] = [];
      const signs: number[] = [];
      const logs: number[] = [];
      for (let b = 0; b < outs[0]!.numel; b++) {
        const { lu, pivots, sign } = luFactor(values.subarray(b * n * n, (b + 1) * n * n), n);
        factors.set(lu, b * n * n);
        swaps.push(...pivots);
        const diagonal = Array.from({ length: n }, (_, i) => lu[i * n + i]!);
        signs.push(diagonal.reduce((total, value) => total * Math.sign(value), sign));
        logs.push(diagonal.reduce((total, value) => total + Math.log(Math.abs(value)), 0));
      }
      [signs, logs, factors, swaps].forEach((list, i) => writeNumbers(outs[i]!, list));
    },
    saved: ['A'],
    constantOutputs: [2],
    // Only the logarithm has a derivative: the transposed inverse.
    vjp: ({ A }, { grads }) => ({
      A: () => {
        const grad = grads[1] ?? null;
        if (grad === null) return null;
        return mul(unsqueeze(unsqueeze(grad, -1), -1), mT(linalgPinv(A)));
      },
    }),
  },
);

const logdetOp = defineOp('aten::logdet(Tensor self) -> Tensor', {
  decompose: ({ self }) => {
    const [sign, logarithm] = callOp(slogdetOp, [self]);
    return maskedFill(logarithm, eq(sign, -1), NaN);
  },
});

/** Sign and logarithm of the magnitude of determinants. @throws shape-mismatch, dtype-unsupported */
export function linalgSlogdet(self: Tensor): [sign: Tensor, logabsdet: Tensor] {
  const [sign, logarithm] = callOp(slogdetOp, [self]);
  return [sign, logarithm];
}

/** Logarithm of determinants; NaN where they are negative. @throws shape-mismatch, dtype-unsupported */
export function logdet(self: Tensor): Tensor {
  return callOp(logdetOp, [self]);
}
