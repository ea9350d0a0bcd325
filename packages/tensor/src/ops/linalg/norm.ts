/**
 * @file Norms of matrices, and `linalg_norm`, which takes vectors and matrices.
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
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

/** In PyTorch's order. @throws invalid-argument, dtype-unsupported */
function checkMatrix(
  self: Tensor,
  order: MatrixOrder,
  dim: readonly number[],
  dtype: DType | null,
): readonly [number, number] {
  if (typeof order === 'number' && ![1, 2, Infinity].includes(Math.abs(order)))
    refuse(`linalg.matrix_norm: Order ${order} not supported.`);
  if (self.ndim < 2)
    refuse('linalg.matrix_norm: The input tensor A must have at least 2 dimensions.');
  const { category, itemSize, scalarTypeName } = DTYPES[self.dtype];
  if (category !== 'floating')
    refuseType(
      `Expected a floating point or complex tensor as input. Got ${scalarTypeName}`,
      "Convert first: x.to('float32').",
    );
  if (itemSize < 4 && (order === 'nuc' || order === 2 || order === -2))
    refuseType(
      `Low precision dtypes not supported. Got ${scalarTypeName}`,
      "Convert first: x.to('float32').",
    );
  if (dim.length !== 2) refuse(`linalg.matrix_norm: dim must be a 2-tuple. Got ${dim.join(' ')}`);
  const [a, b] = dim.map((d) => wrapDim(d, self.ndim, 'linalg.matrix_norm'));
  if (a === b) refuse(`linalg.matrix_norm: dims must be different. Got (${a}, ${b})`);
  if (dtype !== null && DTYPES[dtype].category !== 'floating')
    refuseType(
      `dtype should be floating point or complex, but got ${DTYPES[dtype].scalarTypeName}`,
      'Choose a floating-point dtype.',
    );
  if (dtype !== null && DTYPES[dtype].itemSize < itemSize)
    refuseType(
      `the dtype of the input (${scalarTypeName}) should be convertible without narrowing to the specified dtype (${DTYPES[dtype].scalarTypeName})`,
      'Convert the result instead.',
    );
  return [a!, b!];
}

function refuseType(message: string, hint: string): never {
  throw new TesseraError('dtype-unsupported', `linalg.matrix_norm: ${message}`, { hints: [hint] });
}

function normOfMatrix(
  self: Tensor,
  order: MatrixOrder,
  dim: readonly number[],
  keepdim: boolean,
  dtype: DType | null,
): Tensor {
  const [a, b] = checkMatrix(self, order, dim, dtype);
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
): OpOverload<Tensor> {
  return defineOp(`aten::linalg_matrix_norm${overload}(Tensor self, ${declared}, ${MATRIX_TAIL}`, {
    decompose: ({ self, ord, dim, keepdim, dtype }) =>
      normOfMatrix(
        self,
        typeof ord === 'string' ? namedOrder(ord) : fixedScalar(ord),
        dim,
        keepdim,
        dtype,
      ),
  });
}

const matrixNormOp = defineMatrixNorm('', 'Scalar ord');
const matrixNormStringOp = defineMatrixNorm('.str_ord', 'str ord="fro"');

/** @throws invalid-argument */
function namedOrder(ord: unknown): 'fro' | 'nuc' {
  return ord === 'fro' || ord === 'nuc'
    ? ord
    : refuse(`linalg.matrix_norm: Order ${String(ord)} not supported.`);
}

/** @throws invalid-argument */
function checkNormDims(self: Tensor, dim: readonly number[] | null): void {
  if (dim !== null && dim.length !== 1 && dim.length !== 2)
    refuse(
      `linalg.norm: If dim is specified, it must be of length 1 or 2. Got [${dim.join(', ')}]`,
    );
  if (dim === null && self.ndim !== 1 && self.ndim !== 2)
    refuse(
      `linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ${self.ndim}D.`,
    );
}

const NORM_TAIL = 'int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor';

const linalgNormOp = defineOp(`aten::linalg_norm(Tensor self, Scalar? ord=None, ${NORM_TAIL}`, {
  decompose: ({ self: x, ord, dim, keepdim, dtype }) => {
    const options = { keepdim, dtype: dtype ?? undefined };
    if (ord === null) return vectorNorm(x, 2, dim, options);
    checkNormDims(x, dim);
    const order = fixedScalar(ord);
    const vector = dim === null ? x.ndim === 1 : dim.length === 1;
    if (vector) return vectorNorm(x, order, dim, options);
    return normOfMatrix(x, order, dim ?? [0, 1], keepdim, dtype);
  },
});
const linalgNormStringOp = defineOp(
  `aten::linalg_norm.ord_str(Tensor self, str ord, ${NORM_TAIL}`,
  {
    decompose: ({ self, ord, dim, keepdim, dtype }) => {
      checkNormDims(self, dim);
      return normOfMatrix(self, namedOrder(ord), dim ?? [0, 1], keepdim, dtype);
    },
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
