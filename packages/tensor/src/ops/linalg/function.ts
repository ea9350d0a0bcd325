/**
 * @file Functions of matrices: exponential and pseudo-inverse.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { type OptionNames, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type DType, isFloatingPoint } from '../../dtype.js';
import { type Rows, addProduct } from '../../kernels/add-rows.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { singularValues } from '../../kernels/singular-values.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { type TensorOptions, full, zeros } from '../factory/factory.js';
import { cat } from '../arrange/join.js';
import { checkMatrix } from './shape.js';
import { matmul } from '../matmul/composite.js';
import { add, neg, sub } from '../pointwise/arithmetic.js';
import { mT } from '../view/dims.js';
import { narrow } from '../view/slice.js';
import { tril } from '../indexing/triangle.js';
import { checkTensors } from '../../check-tensors.js';

/** The Taylor series ends after GROUP groups of GROUP terms; the matrix is scaled to a norm of at most 1/2 first. */
const GROUP = 4;

/** exp of a square matrix by scaling and squaring. */
function exponential(values: Float64Array, n: number): Float64Array {
  let norm = 0;
  for (let i = 0; i < n; i++) {
    let row = 0;
    for (let j = 0; j < n; j++) row += Math.abs(values[i * n + j]!);
    norm = Math.max(norm, row);
  }
  if (norm === Infinity) return values.map(() => NaN);
  const halvings = norm > 0.5 ? Math.ceil(Math.log2(norm)) + 1 : 0;
  const scaled = values.map((value) => value / 2 ** halvings);
  const product = (a: Float64Array, b: Float64Array): Float64Array => {
    const out = new Float64Array(n * n);
    const rowsOf = (of: Float64Array): Rows => ({ values: of, at: 0, step: n });
    addProduct(rowsOf(out), n, n, rowsOf(b), { ...rowsOf(a), next: 1 }, n, 1);
    return out;
  };
  const one = new Float64Array(n * n);
  for (let i = 0; i < n; i++) one[i * n + i] = 1;
  const powers: Float64Array[] = [one, scaled];
  for (let k = 1; k < GROUP; k++) powers.push(product(powers[k]!, scaled));
  const highest = powers.pop()!;
  let total: Float64Array = new Float64Array(n * n);
  // Few products: a group's powers are there, and groups are taken together by the highest. @see Paterson and Stockmeyer, 1973
  for (let group = GROUP - 1; group >= 0; group--) {
    if (group < GROUP - 1) total = product(highest, total);
    powers.forEach((power, k) => {
      let factor = 1;
      for (let i = group * GROUP + k; i > 1; i--) factor /= i;
      for (let i = 0; i < total.length; i++) total[i]! += factor * power[i]!;
    });
  }
  for (let s = 0; s < halvings; s++) total = product(total, total);
  return total;
}

const expOp: OpOverload<Tensor> = withOverloads(
  defineOp('aten::linalg_matrix_exp(Tensor self) -> Tensor', {
    tags: ['compute-intensive'],
    meta: ({ self: x }) => {
      if (x.ndim < 2 || x.sizes.at(-1) !== x.sizes.at(-2) || !isFloatingPoint(x.dtype))
        throw new TesseraError(
          'shape-mismatch',
          `linalg.matrix_exp: A must be batches of square floating point matrices, but it is ${formatSizes(x.sizes)} of ${x.dtype}`,
          { hints: ['The last two dimensions are equal.'] },
        );
      return denseMeta(x);
    },
    kernel: ({ self }, [out]) => {
      const n = self.sizes.at(-1)!;
      const values = readNumbers(self);
      const result = new Float64Array(values.length);
      for (let at = 0; at < values.length; at += n * n)
        result.set(exponential(values.subarray(at, at + n * n), n), at);
      writeNumbers(out!, result);
    },
    saved: ['self'],
    // The derivative in a direction is a block of the exponential of a matrix of twice the size.
    vjp: ({ self }, { grad }) => ({
      self: () => {
        const x = mT(self);
        const n = x.sizes.at(-1)!;
        const blank = zeros(x.sizes, { dtype: x.dtype, device: x.device });
        const blocks = cat([cat([x, grad], -1), cat([blank, x], -1)], -2);
        return narrow(narrow(matrixExp(blocks), -2, 0, n), -1, n, n);
      },
    }),
  }),
  defineOp('aten::matrix_exp(Tensor self) -> Tensor', {
    decompose: ({ self }) => callOp(expOp, [self]),
  }),
);

/** Precision by dtype. */
export const EPSILON: Readonly<Partial<Record<DType, number>>> = {
  float32: 2 ** -23,
  float64: 2 ** -52,
};

/** The gradient of a from that of its pseudo-inverse p. @see pinv_backward in PyTorch's FunctionsManual */
export function pinvGradient(grad: Tensor, a: Tensor, p: Tensor): Tensor {
  const g = mT(grad);
  const pt = mT(p);
  if (a.sizes.at(-2)! <= a.sizes.at(-1)!) {
    const k = matmul(g, p);
    const kp = matmul(k, pt);
    return add(
      sub(add(neg(mT(matmul(p, k))), kp), matmul(matmul(a, p), kp)),
      matmul(matmul(pt, p), sub(g, matmul(k, a))),
    );
  }
  const k = matmul(p, g);
  const pk = matmul(pt, k);
  return sub(
    add(add(neg(mT(matmul(k, p))), matmul(matmul(sub(g, matmul(a, k)), p), pt)), pk),
    matmul(matmul(pk, p), a),
  );
}

const pinvOp = defineOp(
  'aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor',
  {
    tags: ['compute-intensive'],
    meta: ({ self: x }) => {
      checkMatrix('linalg.pinv', x);
      const [m, n] = x.sizes.slice(-2);
      const sizes = [...x.sizes.slice(0, -2), n, m];
      return denseMeta(x, sizes);
    },
    kernel: ({ self: x, atol, rtol, hermitian }, [out]) => {
      const [m, n] = x.sizes.slice(-2);
      const batch = x.sizes.slice(0, -2);
      const values = readNumbers(hermitian === true ? add(tril(x), mT(tril(x, -1))) : x);
      const limits = (limit: Tensor | null): Float64Array | null =>
        limit === null ? null : readNumbers(limit, batch);
      const [absolute, relative] = [limits(atol), limits(rtol)];
      const result = new Float64Array(out!.numel);
      const usual = Math.max(m, n) * EPSILON[x.dtype]!;
      for (let b = 0; b * m * n < values.length && m * n > 0; b++) {
        const { u, s, v } = singularValues(
          values.subarray(b * m * n, (b + 1) * m * n),
          m,
          n,
          'reduced',
        );
        const atLeast = absolute?.[b] ?? 0;
        // Without a relative limit, one is implied unless there is an absolute one.
        const share = relative?.[b] ?? (atLeast > 0 ? 0 : usual);
        const limit = Math.max(atLeast, share * s[0]!);
        s.forEach((value, k) => {
          if (!(value > limit)) return;
          const along = u[k]!;
          for (let i = 0; i < n; i++) {
            const factor = v[k]![i]! / value;
            const row = b * m * n + i * m;
            for (let j = 0; j < m; j++) result[row + j]! += factor * along[j]!;
          }
        });
      }
      writeNumbers(out!, result);
    },
    saved: ['self', 'out'],
    vjp: ({ self }, { grad, out }) => ({ self: () => pinvGradient(grad, self, out) }),
  },
);

const pinverseOp = defineOp('aten::pinverse(Tensor self, float rcond=1e-15) -> Tensor', {
  decompose: ({ self, rcond }) => {
    const options = exactest(self);
    return callOp(pinvOp, [self, zeros([], options), full([], rcond, options), false]);
  },
});

/** The exponential of square matrices. @throws shape-mismatch */
export function matrixExp(self: Tensor): Tensor {
  return callOp(expOp, [self]);
}

/** Options of `pinv`. */
export interface PinvOptions {
  /** Singular values up to this count as 0: a number, or a tensor with one for each matrix. */
  readonly atol?: Tensor | number | null;
  /** The same as a share of the largest one; unless either is given max(M, N) · epsilon of the dtype. */
  readonly rtol?: Tensor | number | null;
  /** Whether matrices are symmetric: their lower triangles are read. */
  readonly hermitian?: boolean;
}
const PINV: OptionNames<PinvOptions> = { atol: true, rtol: true, hermitian: true };

/** Numbers beside matrices: as exact as the device has them. */
const exactest = ({ device }: Tensor): TensorOptions => ({
  dtype: device === 'cpu' ? 'float64' : 'float32',
  device,
});

/** A limit as the operator takes it. */
const asTensor = (limit: Tensor | number | null, self: Tensor): Tensor | null =>
  typeof limit === 'number' ? full([], limit, exactest(self)) : limit;

/** The Moore–Penrose inverse, [.., M, N] → [.., N, M]; singular values up to max(atol, rtol · largest) count as 0. @throws invalid-dim, dtype-unsupported */
export function pinv(self: Tensor, options: PinvOptions = {}): Tensor {
  checkOptionNames('pinv', options, PINV);
  checkTensors('pinv', { self });
  const { atol = null, rtol = null, hermitian = false } = options;
  return callOp(pinvOp, [self, asTensor(atol, self), asTensor(rtol, self), hermitian]);
}

const PINVERSE: OptionNames<{ rcond: number }> = { rcond: true };

/** The Moore–Penrose inverse; singular values up to rcond · largest count as 0. @throws invalid-dim, dtype-unsupported */
export function pinverse(self: Tensor, options?: { readonly rcond?: number }): Tensor {
  checkOptionNames('pinverse', options, PINVERSE);
  return callOp(pinverseOp, [self, options?.rcond ?? 1e-15]);
}
