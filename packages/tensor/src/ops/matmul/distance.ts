/**
 * @file Distances between all rows of matrices: cdist, pdist.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { type OptionNames, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint, itemSize } from '../../dtype.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { normOf } from '../../kernels/norm-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { broadcastShapes, formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { bitwiseOr } from '../pointwise/logical.js';
import { eq } from '../pointwise/comparison.js';
import { contiguous, toDtype } from '../arrange/copy.js';
import { div } from '../pointwise/division.js';
import { zeros } from '../factory/factory.js';
import { zerosLike } from '../factory/like.js';
import { maskedFill } from '../pointwise/fill.js';
import { indexAdd, indexSelect } from '../indexing/select.js';
import { matmul } from './composite.js';
import { triuIndices } from '../arrange/meshgrid.js';
import { add, mul, neg, sub } from '../pointwise/arithmetic.js';
import { pow, square } from '../pointwise/power.js';
import { sqrt } from '../pointwise/exponential.js';
import { clampMin } from '../pointwise/extremum.js';
import { quietly } from '../fft/quietly.js';
import { sum } from '../reduction/reduction.js';
import { abs, sign } from '../pointwise/rounding.js';
import { mT, unsqueeze } from '../view/dims.js';
import { select } from '../view/slice.js';

/** @throws dtype-unsupported, shape-mismatch, invalid-argument */
function check(name: string, x1: Tensor, x2: Tensor, p: number): void {
  const bad = [x1, x2].find((x) => !isFloatingPoint(x.dtype) || x.dtype !== x1.dtype);
  if (bad !== undefined)
    throw new TesseraError(
      'dtype-unsupported',
      `${name} only supports floating-point dtypes of one kind, got: ${x1.dtype} and ${x2.dtype}`,
      { hints: ["Convert first: x.to('float32')."] },
    );
  if (x1.ndim < 2 || x2.ndim < 2 || x1.sizes.at(-1) !== x2.sizes.at(-1))
    throw new TesseraError(
      'shape-mismatch',
      `${name}: X1 and X2 must be matrices (or batches) with the same number of columns. X1: ${formatSizes(x1.sizes)} X2: ${formatSizes(x2.sizes)}`,
      { hints: ['Rows are points; their number of coordinates must agree.'] },
    );
  if (!(p >= 0))
    throw new TesseraError('invalid-argument', `${name} only supports non-negative p values`, {
      hints: ['Use 2 for Euclidean distances.'],
    });
}

interface Points {
  readonly x1: Tensor;
  readonly x2: Tensor;
  readonly p?: number;
}

/** [..., P, M] and [..., R, M] → [..., P, R] */
function distanceMeta(name: string): (args: Points) => TensorMeta {
  return ({ x1, x2, p = 2 }) => {
    check(name, x1, x2, p);
    const batch = broadcastShapes([x1.sizes.slice(0, -2), x2.sizes.slice(0, -2)], name);
    const sizes = [...batch, x1.sizes.at(-2)!, x2.sizes.at(-2)!];
    return denseMeta(x1, sizes);
  };
}

function distanceKernel({ x1, x2, p = 2 }: Points, [out]: readonly Tensor[]): void {
  const [rows, columns] = out!.sizes.slice(-2);
  const width = x1.sizes.at(-1)!;
  const batch = out!.sizes.slice(0, -2);
  const left = readNumbers(x1, [...batch, rows, width]);
  const right = readNumbers(x2, [...batch, columns, width]);
  const difference = new Float64Array(width);
  const result = new Float64Array(out!.numel);
  result.forEach((_, at) => {
    const j = at % columns;
    const i = Math.floor(at / columns);
    const from = (Math.floor(i / rows) * columns + j) * width;
    for (let k = 0; k < width; k++) difference[k] = left[i * width + k]! - right[from + k]!;
    result[at] = normOf(difference, p);
  });
  writeNumbers(out!, result);
}

/** Derivative of p-norms of differences, [..., M], by the differences; norms and their gradients are [..., 1]. */
function differenceGradient(difference: Tensor, norm: Tensor, grad: Tensor, p: number): Tensor {
  const zero = eq(norm, 0);
  if (p === 0) return zerosLike(difference);
  if (p === 1) return mul(sign(difference), grad);
  if (p === 2) return mul(maskedFill(div(grad, norm), zero, 0), difference);
  if (p === Infinity) return mul(mul(sign(difference), eq(abs(difference), norm)), grad);
  const scale = maskedFill(div(grad, pow(norm, p - 1)), zero, 0);
  const powered = mul(sign(difference), pow(abs(difference), p - 1));
  // Below p = 1 the derivative at equal coordinates is infinite; it counts as none.
  const finite = p < 1 ? maskedFill(powered, bitwiseOr(eq(difference, 0), zero), 0) : powered;
  return mul(finite, scale);
}

const cdistBackwardOp = defineOp(
  'aten::_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor',
  {
    decompose: ({ grad, x1, x2, p, cdist: distances }) => {
      if (grad.numel === 0 || x1.numel === 0) return zerosLike(x1);
      const difference = sub(unsqueeze(x1, -2), unsqueeze(x2, -3));
      const [norm, seed] = [unsqueeze(distances, -1), unsqueeze(grad, -1)];
      return contiguous(sum(differenceGradient(difference, norm, seed, p), -2));
    },
  },
);

const cdistForwardOp: OpOverload<Tensor> = defineOp(
  'aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor',
  {
    meta: distanceMeta('cdist'),
    kernel: distanceKernel,
    saved: ['x1', 'x2', 'out'],
    vjp: ({ x1, x2, p }, { grad, out }) => ({
      x1: () => callOp(cdistBackwardOp, [grad, x1, x2, p, out]),
      x2: () => callOp(cdistBackwardOp, [mT(grad), x2, x1, p, mT(out)]),
    }),
  },
);

/** The root of |a|² + |b|² - 2 a·b, as PyTorch computes it; of 16-bit floats in 32 bits. */
function distancesByProduct(x1: Tensor, x2: Tensor): Tensor {
  const wide = itemSize(x1.dtype) < 4 ? 'float32' : x1.dtype;
  const [a, b] = [toDtype(x1, wide), toDtype(x2, wide)];
  const squares = (x: Tensor): Tensor => sum(square(x), -1, { keepdim: true });
  const both = add(squares(a), mT(squares(b)));
  const squared = sub(both, mul(matmul(a, mT(b)), 2));
  return toDtype(sqrt(clampMin(squared, 0)), x1.dtype);
}

const euclideanOp = defineOp('aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor', {
  meta: distanceMeta('_euclidean_dist'),
  kernel: distanceKernel,
  expand: ({ x1, x2 }) => quietly(() => distancesByProduct(x1, x2)),
  saved: ['x1', 'x2', 'out'],
  vjp: ({ x1: a, x2: b }, { grad, out }) => {
    const ratio = maskedFill(div(grad, out), eq(out, 0), 0);
    return {
      x1: () => sub(mul(a, sum(ratio, -1, { keepdim: true })), matmul(ratio, b)),
      x2: () => sub(mul(b, unsqueeze(sum(ratio, -2), -1)), matmul(mT(ratio), a)),
    };
  },
});

/** Above this many rows PyTorch computes Euclidean distances by a matrix product, unless told not to. */
const MATRIX_PRODUCT_ROWS = 25;

const cdistOp = defineOp(
  'aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor',
  {
    decompose: ({ x1, x2, p, compute_mode }) => {
      check('cdist', x1, x2, p);
      const mode = compute_mode ?? 0;
      const large = Math.max(x1.sizes.at(-2)!, x2.sizes.at(-2)!) > MATRIX_PRODUCT_ROWS;
      if (p === 2 && (mode === 1 || (mode === 0 && large))) return callOp(euclideanOp, [x1, x2]);
      return callOp(cdistForwardOp, [x1, x2, p, compute_mode]);
    },
  },
);

/** Rows i < j of all pairs. */
function pairsOf(self: Tensor): readonly [Tensor, Tensor] {
  const n = self.sizes[0]!;
  const pairs = triuIndices(n, n, 1, { device: self.device });
  return [select(pairs, 0, 0), select(pairs, 0, 1)];
}

const pdistBackwardOp = defineOp(
  'aten::_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor',
  {
    decompose: ({ grad, self, p, pdist: distances }) => {
      const [i, j] = pairsOf(self);
      const difference = sub(indexSelect(self, 0, i), indexSelect(self, 0, j));
      const [norm, seed] = [unsqueeze(distances, -1), unsqueeze(grad, -1)];
      const part = differenceGradient(difference, norm, seed, p);
      const blank = zeros(self.sizes, { dtype: self.dtype, device: self.device });
      return indexAdd(indexAdd(blank, 0, i, part), 0, j, neg(part));
    },
  },
);

const pdistForwardOp = defineOp('aten::_pdist_forward(Tensor self, float p=2.) -> Tensor', {
  meta: ({ self, p }) => {
    check('pdist', self, self, p);
    const n = self.sizes[0];
    const sizes = [Math.max(0, (n * (n - 1)) / 2)];
    return { sizes, strides: [1], dtype: self.dtype, device: self.device };
  },
  kernel: ({ self, p }, [out]) => {
    const [n, width] = self.sizes;
    const values = readNumbers(self);
    const result = new Float64Array(out!.numel);
    let at = 0;
    for (let i = 0; i < n; i++)
      for (let j = i + 1; j < n; j++) {
        const other = values.subarray(j * width, (j + 1) * width);
        const row = values.subarray(i * width, (i + 1) * width);
        result[at++] = normOf(
          row.map((value, k) => value - other[k]!),
          p,
        );
      }
    writeNumbers(out!, result);
  },
  saved: ['self', 'out'],
  vjp: ({ self, p }, { grad, out }) => ({
    self: () => callOp(pdistBackwardOp, [grad, self, p, out]),
  }),
});

const pdistOp = defineOp('aten::pdist(Tensor self, float p=2.) -> Tensor', {
  decompose: ({ self, p }) => {
    if (self.ndim !== 2)
      throw new TesseraError(
        'shape-mismatch',
        `pdist only supports 2D tensors, got: ${self.ndim}D`,
        { hints: ['Rows are points.'] },
      );
    return callOp(pdistForwardOp, [contiguous(self), p]);
  },
});

const DISTANCE: OptionNames<{ p: number }> = { p: true };

/** p-norm distances of all pairs of rows, [..., P, M] and [..., R, M] → [..., P, R]. @throws shape-mismatch, dtype-unsupported, invalid-argument */
export function cdist(x1: Tensor, x2: Tensor, options?: { readonly p?: number }): Tensor {
  checkOptionNames('cdist', options, DISTANCE);
  return callOp(cdistOp, [x1, x2, options?.p ?? 2, null]);
}

/** p-norm distances of the rows i < j of a matrix, [N, M] → [N·(N-1)/2]. @throws shape-mismatch, dtype-unsupported, invalid-argument */
export function pdist(self: Tensor, options?: { readonly p?: number }): Tensor {
  checkOptionNames('pdist', options, DISTANCE);
  return callOp(pdistOp, [self, options?.p ?? 2]);
}
