/**
 * @file Matrix products that are primitive: mm, addmm, bmm, baddbmm, mv, dot.
 */
import { isIntegral } from '../../dtype.js';
import { denseMeta } from '../../kernels/suggest-format.js';
import { type ScalarLike, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readExact, readNumbers, writeNumbers } from '../../kernels/elements.js';
import { factorFor } from '../../kernels/factor.js';
import { multiplyAdd } from '../../kernels/matmul-kernel.js';
import { checkNumbers } from '../../kernels/restrict-dtypes.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { expandStrides, formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { mul } from '../pointwise/arithmetic.js';
import { t, transpose, unsqueeze } from '../view/dims.js';
import { type ProductOptions, PRODUCT } from './product-options.js';

function shapeError(op: string, a: Tensor, b: Tensor): never {
  throw new TesseraError(
    'shape-mismatch',
    `${op}: mat1 and mat2 shapes cannot be multiplied (${a.sizes.join('x')} and ${b.sizes.join('x')})`,
    {
      context: { op, shapes: [a.sizes, b.sizes] },
      hints: [
        `The inner sizes must agree: ${formatSizes(a.sizes)} @ ${formatSizes(b.sizes)}; transpose one with .t()?`,
      ],
    },
  );
}

/** Shape of a product of matrices of rank `rank` (2, or 3 with a batch). @throws shape-mismatch, dtype-mismatch */
function productMeta(op: string, a: Tensor, b: Tensor, rank: 2 | 3): TensorMeta {
  const batches = rank === 2 || a.sizes[0] === b.sizes[0];
  if (a.ndim !== rank || b.ndim !== rank || !batches || a.sizes[rank - 1] !== b.sizes[rank - 2])
    shapeError(op, a, b);
  checkTypes(op, a, b);
  const sizes = [...a.sizes.slice(0, rank - 1), b.sizes[rank - 1]!];
  return denseMeta(a, sizes);
}

function checkTypes(op: string, a: Tensor, b: Tensor): void {
  if (a.dtype === b.dtype) return checkNumbers(op, a);
  throw new TesseraError(
    'dtype-mismatch',
    `${op}: expected mat1 and mat2 to have the same dtype, but got: ${a.dtype} != ${b.dtype}`,
    { hints: [`Convert one: x.to('${a.dtype}').`] },
  );
}

type Read = (x: Tensor, sizes?: readonly number[]) => Float64Array;

/** Elements as BigInts, in an array that wraps as sums of int64 do: `multiplyAdd` is written with operators. */
const readWide: Read = (x, sizes) =>
  BigInt64Array.from(readExact(x, sizes), BigInt) as unknown as Float64Array;

/** The largest magnitude of an element. */
function reach(x: Tensor | null): number {
  return x === null ? 0 : readNumbers(x).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
}

/** beta · start + alpha · a @ b into `out`; vectors are a row and a column. */
function productInto(
  out: Tensor,
  a: Tensor,
  b: Tensor,
  start: Tensor | null = null,
  beta: ScalarLike = 1,
  alpha: ScalarLike = 1,
): void {
  if (out.numel === 0) return;
  const [keep, factor] = [factorFor(out.dtype, beta), factorFor(out.dtype, alpha)];
  const k = a.sizes.at(-1)!;
  const n = b.ndim === 1 ? 1 : b.sizes.at(-1)!;
  const batches = a.ndim === 3 ? a.sizes[0]! : 1;
  const m = out.numel / n / batches;
  const product = (read: Read, held: (value: number) => number): Float64Array => {
    const result =
      start === null || keep === 0
        ? read(out).fill(held(0))
        : read(start, out.sizes).map((value) => value * held(keep));
    const [left, right] = [read(a), read(b)];
    for (let i = 0; i < batches; i++) {
      const at = { a: i * m * k, b: i * k * n, c: i * m * n };
      multiplyAdd(left, right, result, m, k, n, held(factor), at);
    }
    return result;
  };
  const isWide =
    isIntegral(out.dtype) &&
    Math.abs(factor) * k * reach(a) * reach(b) + Math.abs(keep) * reach(start) >
      Number.MAX_SAFE_INTEGER;
  const values = isWide
    ? Array.from(product(readWide, BigInt as unknown as typeof Number))
    : product(readNumbers, Number);
  writeNumbers(out, values);
}

function scaled(x: Tensor, by: ScalarLike): Tensor {
  return by === 1 ? x : mul(x, by);
}

/** Whether a matrix lies column by column, as the transpose of a contiguous one. */
function isColumnMajor(x: Tensor): boolean {
  return x.strides[0] === 1 && x.strides[1] === x.sizes[0];
}

/** Gradient of the left factor, in that factor's layout. @see mm_mat1_backward */
function gradientOfLeft(grad: Tensor, left: Tensor, right: Tensor): Tensor {
  return isColumnMajor(left) ? t(mm(right, t(grad))) : mm(grad, t(right));
}

/** Gradient of the right factor, in that factor's layout: contiguous for a weight that is used transposed. @see mm_mat2_backward */
function gradientOfRight(grad: Tensor, left: Tensor, right: Tensor): Tensor {
  return isColumnMajor(right) ? t(mm(t(grad), left)) : mm(t(left), grad);
}

const mmOp = defineOp('aten::mm(Tensor self, Tensor mat2) -> Tensor', {
  tags: ['compute-intensive'],
  meta: ({ self, mat2 }) => productMeta('mm', self, mat2, 2),
  kernel: ({ self, mat2 }, [out]) => productInto(out!, self, mat2),
  savedFor: { self: ['mat2'], mat2: ['self'] },
  vjp: ({ self, mat2 }, { grad }) => ({
    self: () => gradientOfLeft(grad, self, mat2),
    mat2: () => gradientOfRight(grad, self, mat2),
  }),
});

const addmmOp = defineOp(
  'aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: ({ self, mat1, mat2 }) => {
      const meta = productMeta('addmm', mat1, mat2, 2);
      expandStrides(self.sizes, self.strides, meta.sizes);
      checkTypes('addmm', self, mat1);
      return meta;
    },
    kernel: ({ self, mat1, mat2, beta, alpha }, [out]) =>
      productInto(out!, mat1, mat2, self, beta, alpha),
    savedFor: { mat1: ['mat2'], mat2: ['mat1'] },
    vjp: ({ mat1, mat2, beta, alpha }, { grad }) => ({
      self: () => scaled(grad, beta),
      mat1: () => scaled(gradientOfLeft(grad, mat1, mat2), alpha),
      mat2: () => scaled(gradientOfRight(grad, mat1, mat2), alpha),
    }),
  },
);
const addmmInplace = defineInplace(addmmOp);

const bmmOp = defineOp('aten::bmm(Tensor self, Tensor mat2) -> Tensor', {
  tags: ['compute-intensive'],
  meta: ({ self, mat2 }) => productMeta('bmm', self, mat2, 3),
  kernel: ({ self, mat2 }, [out]) => productInto(out!, self, mat2),
  savedFor: { self: ['mat2'], mat2: ['self'] },
  vjp: ({ self, mat2 }, { grad }) => ({
    self: () => bmm(grad, transpose(mat2, 1, 2)),
    mat2: () => bmm(transpose(self, 1, 2), grad),
  }),
});

const baddbmmOp = defineOp(
  'aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: ({ self, batch1, batch2 }) => {
      const meta = productMeta('baddbmm', batch1, batch2, 3);
      expandStrides(self.sizes, self.strides, meta.sizes);
      checkTypes('baddbmm', self, batch1);
      return meta;
    },
    kernel: ({ self, batch1, batch2, beta, alpha }, [out]) =>
      productInto(out!, batch1, batch2, self, beta, alpha),
    savedFor: { batch1: ['batch2'], batch2: ['batch1'] },
    vjp: ({ batch1, batch2, beta, alpha }, { grad }) => ({
      self: () => scaled(grad, beta),
      batch1: () => scaled(bmm(grad, transpose(batch2, 1, 2)), alpha),
      batch2: () => scaled(bmm(transpose(batch1, 1, 2), grad), alpha),
    }),
  },
);
const baddbmmInplace = defineInplace(baddbmmOp);

const mvOp = defineOp('aten::mv(Tensor self, Tensor vec) -> Tensor', {
  tags: ['compute-intensive'],
  meta: ({ self, vec }) => {
    if (self.ndim !== 2 || vec.ndim !== 1 || self.sizes[1] !== vec.sizes[0])
      shapeError('mv', self, vec);
    checkTypes('mv', self, vec);
    return { sizes: [self.sizes[0]], strides: [1], dtype: self.dtype, device: self.device };
  },
  kernel: ({ self, vec }, [out]) => productInto(out!, self, vec),
  savedFor: { self: ['vec'], vec: ['self'] },
  vjp: ({ self, vec }, { grad }) => ({
    self: () => mul(unsqueeze(grad, 1), vec),
    vec: () => mv(t(self), grad),
  }),
});

const dotOp = defineOp('aten::dot(Tensor self, Tensor tensor) -> Tensor', {
  tags: ['reduction'],
  meta: ({ self, tensor }) => {
    if (self.ndim !== 1 || tensor.ndim !== 1 || self.sizes[0] !== tensor.sizes[0])
      shapeError('dot', self, tensor);
    checkTypes('dot', self, tensor);
    return { sizes: [], strides: [], dtype: self.dtype, device: self.device };
  },
  kernel: ({ self, tensor }, [out]) => productInto(out!, self, tensor),
  savedFor: { self: ['tensor'], tensor: ['self'] },
  vjp: ({ self, tensor }, { grad }) => ({
    self: () => mul(grad, tensor),
    tensor: () => mul(grad, self),
  }),
});

/** Matrix product, [M, K] @ [K, N] → [M, N]. @throws shape-mismatch, dtype-mismatch */
export function mm(self: Tensor, mat2: Tensor): Tensor {
  return callOp(mmOp, [self, mat2]);
}

/** beta · self + alpha · mat1 @ mat2, self broadcast to [M, N]. @throws shape-mismatch, dtype-mismatch */
export function addmm(self: Tensor, mat1: Tensor, mat2: Tensor, options?: ProductOptions): Tensor {
  checkOptionNames('addmm', options, PRODUCT);
  return callOp(addmmOp, [self, mat1, mat2, options?.beta ?? 1, options?.alpha ?? 1]);
}

/** self = beta · self + alpha · mat1 @ mat2 */
export function addmm_(self: Tensor, mat1: Tensor, mat2: Tensor, options?: ProductOptions): Tensor {
  checkOptionNames('addmm_', options, PRODUCT);
  return callOp(addmmInplace, [self, mat1, mat2, options?.beta ?? 1, options?.alpha ?? 1]);
}

/** Batched matrix product, [B, M, K] @ [B, K, N] → [B, M, N]. @throws shape-mismatch, dtype-mismatch */
export function bmm(self: Tensor, mat2: Tensor): Tensor {
  return callOp(bmmOp, [self, mat2]);
}

/** beta · self + alpha · batch1 @ batch2, self broadcast to [B, M, N]. @throws shape-mismatch, dtype-mismatch */
export function baddbmm(
  self: Tensor,
  batch1: Tensor,
  batch2: Tensor,
  options?: ProductOptions,
): Tensor {
  checkOptionNames('baddbmm', options, PRODUCT);
  return callOp(baddbmmOp, [self, batch1, batch2, options?.beta ?? 1, options?.alpha ?? 1]);
}

/** self = beta · self + alpha · batch1 @ batch2 */
export function baddbmm_(
  self: Tensor,
  batch1: Tensor,
  batch2: Tensor,
  options?: ProductOptions,
): Tensor {
  checkOptionNames('baddbmm_', options, PRODUCT);
  return callOp(baddbmmInplace, [self, batch1, batch2, options?.beta ?? 1, options?.alpha ?? 1]);
}

/** Matrix times vector, [M, K] @ [K] → [M]. @throws shape-mismatch, dtype-mismatch */
export function mv(self: Tensor, vec: Tensor): Tensor {
  return callOp(mvOp, [self, vec]);
}

/** Inner product of two vectors, [K] · [K] → []. @throws shape-mismatch, dtype-mismatch */
export function dot(self: Tensor, other: Tensor): Tensor {
  return callOp(dotOp, [self, other]);
}
