/**
 * @file Norms of matrices, and `linalg_norm`, which takes vectors and matrices.
 */
import { type ScalarLike, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES, type DType } from '../../dtype.js';
import { fixedScalar } from '../../kernels/pointwise-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { svdvals } from './svd.js';
import { norm as vectorNorm } from '../reduction/norm.js';
import { sum } from '../reduction/reduction.js';
import { type ReduceOptions, REDUCE } from '../reduction/reduce-options.js';
import { amax, amin } from '../reduction/extremum.js';
import { type Dims, dimList } from '../reduction/spread.js';
import { permute } from '../view/view.js';
import { unsqueeze } from '../view/dims.js';

/** Frobenius or nuclear norm by name, else p: ±1, ±2 or ±Infinity. */
export type MatrixOrder = 'fro' | 'nuc' | number;

function refuse(message: string): never {
  throw new TesseraError('invalid-argument', message, {
    hints: ["Matrix norms are 'fro', 'nuc', 1, -1, 2, -2, Infinity and -Infinity."],
  });
}

/** Singular values of the matrices in two dims, as the last dimension. */
function singularValues(self: Tensor, dims: readonly [number, number]): Tensor {
  const rest = self.sizes.map((_, i) => i).filter((i) => !dims.includes(i));
  return svdvals(permute(self, [...rest, ...dims]));
}

function normOfMatrix(
  name: string,
  self: Tensor,
  order: MatrixOrder,
  dim: readonly number[],
  keepdim: boolean,
  dtype: DType | null,
): Tensor {
  if (DTYPES[self.dtype].category !== 'floating')
    throw new TesseraError(
      'dtype-unsupported',
      `${name}: Expected a floating point or complex tensor as input. Got ${self.dtype}`,
      { hints: ["Convert first: x.to('float32')."] },
    );
  if (dim.length !== 2 || self.ndim < 2)
    refuse(`${name}: dim must be a 2-tuple of dims of a matrix.`);
  const [a, b] = dim.map((d) => wrapDim(d, self.ndim, name));
  if (a === b) refuse(`${name}: dims must be different. Got (${dim.join(', ')})`);
  if (order === 'fro') return vectorNorm(self, 2, [a, b], { keepdim, dtype: dtype ?? undefined });
  const x = dtype === null ? self : toDtype(self, dtype);
  const restored = (reduced: Tensor): Tensor =>
    keepdim ? unsqueeze(unsqueeze(reduced, Math.min(a, b)), Math.max(a, b)) : reduced;
  if (order === 'nuc') return restored(sum(singularValues(x, [a, b]), -1));
  // The largest of none is 0.
  const largest = (y: Tensor, at: number, keep = false): Tensor =>
    y.sizes[wrapDim(at, y.ndim)] === 0
      ? sum(y, at, { keepdim: keep })
      : amax(y, at, { keepdim: keep });
  const smallest = (y: Tensor, at: number, keep = false): Tensor => amin(y, at, { keepdim: keep });
  const extremum = order > 0 ? largest : smallest;
  const magnitude = Math.abs(order);
  if (magnitude === 2) return restored(extremum(singularValues(x, [a, b]), -1));
  if (magnitude !== 1 && magnitude !== Infinity) refuse(`${name}: Order ${order} not supported.`);
  // The largest (or smallest) sum of a column, or of a row.
  const [summed, compared] = magnitude === 1 ? [a, b] : [b, a];
  const sums = vectorNorm(x, 1, summed, { keepdim: true });
  const result = extremum(sums, compared, true);
  return keepdim ? result : result.squeeze([a, b]);
}

const MATRIX_TAIL = 'int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor';

function defineMatrixNorm(
  overload: '' | '.str_ord',
  declared: 'Scalar ord' | 'str ord="fro"',
  orderOf: (ord: ScalarLike | string) => MatrixOrder,
): OpOverload<Tensor> {
  return defineOp(`aten::linalg_matrix_norm${overload}(Tensor self, ${declared}, ${MATRIX_TAIL}`, {
    decompose: ({ self, ord, dim, keepdim, dtype }) =>
      normOfMatrix('linalg.matrix_norm', self, orderOf(ord), dim, keepdim, dtype),
  });
}

const matrixNormOp = defineMatrixNorm('', 'Scalar ord', (ord) => fixedScalar(ord as ScalarLike));
const matrixNormStringOp = defineMatrixNorm('.str_ord', 'str ord="fro"', namedOrder);

/** @throws invalid-argument */
function namedOrder(ord: unknown): 'fro' | 'nuc' {
  return ord === 'fro' || ord === 'nuc'
    ? ord
    : refuse(`linalg.norm: Order ${String(ord)} not supported.`);
}

const NORM_TAIL = 'int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor';

const linalgNormOp = defineOp(`aten::linalg_norm(Tensor self, Scalar? ord=None, ${NORM_TAIL}`, {
  decompose: ({ self: x, ord, dim, keepdim, dtype }) => {
    const options = { keepdim, dtype: dtype ?? undefined };
    if (ord === null) return vectorNorm(x, 2, dim, options);
    if (dim !== null && dim.length !== 1 && dim.length !== 2)
      refuse(
        `linalg.norm: If dim is specified, it must be of length 1 or 2. Got [${dim.join(', ')}]`,
      );
    if (dim === null && x.ndim !== 1 && x.ndim !== 2)
      refuse('linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D.');
    const order = fixedScalar(ord);
    const vector = dim === null ? x.ndim === 1 : dim.length === 1;
    if (vector) return vectorNorm(x, order, dim, options);
    return normOfMatrix('linalg.norm', x, order, dim ?? [0, 1], keepdim, dtype);
  },
});
const linalgNormStringOp = defineOp(
  `aten::linalg_norm.ord_str(Tensor self, str ord, ${NORM_TAIL}`,
  {
    decompose: ({ self, ord, dim, keepdim, dtype }) =>
      normOfMatrix(
        'linalg.norm',
        self,
        namedOrder(ord),
        dim ?? (self.ndim === 2 ? [0, 1] : []),
        keepdim,
        dtype,
      ),
  },
);

/** Norms of the matrices in two dims (the last two). @throws invalid-argument, dtype-unsupported */
export function matrixNorm(
  self: Tensor,
  order: MatrixOrder = 'fro',
  dim: readonly number[] = [-2, -1],
  options?: ReduceOptions,
): Tensor {
  checkOptionNames('matrixNorm', options, REDUCE);
  const op = typeof order === 'string' ? matrixNormStringOp : matrixNormOp;
  return callOp(op, [self, order, dim, options?.keepdim ?? false, options?.dtype ?? null]);
}

/** Norm of vectors (one dim) or matrices (two dims); of all elements if neither `order` nor `dim` is given. @throws invalid-argument, dtype-unsupported */
export function norm(
  self: Tensor,
  order: MatrixOrder | null = null,
  dim: Dims = null,
  options: ReduceOptions = {},
): Tensor {
  checkOptionNames('norm', options, REDUCE);
  const op = typeof order === 'string' ? linalgNormStringOp : linalgNormOp;
  const { keepdim = false, dtype = null } = options;
  return callOp(op, [self, order, dimList(dim), keepdim, dtype]);
}
