/**
 * @file Sums of products over pairs of dimensions: one matrix product, with the dimensions ordered as PyTorch orders
 * them, so that the results have its strides.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes, wrapDims, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { dot, mm } from './matmul.js';
import { mul } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';
import { permute, reshape } from '../view/view.js';

/** Sum over pairs of dimensions; the rest of self, then of other, remain. */
function contracted(
  self: Tensor,
  other: Tensor,
  dimsA: readonly number[],
  dimsB: readonly number[],
): Tensor {
  const over = (dims: readonly number[], x: Tensor): number[] =>
    dims.length === 0 ? [] : wrapDims(dims, x.ndim, 'tensordot');
  const left = over(dimsA, self);
  const right = over(dimsB, other);
  if (left.length !== right.length)
    throw new TesseraError(
      'invalid-argument',
      `both dimension lists should have same length, got ${formatSizes(dimsA)} and ${formatSizes(dimsB)}`,
      { hints: ['Name as many of one as of the other.'] },
    );
  let a = self;
  let b = other;
  left.forEach((d, i) => {
    const [m, n] = [self.sizes[d]!, other.sizes[right[i]!]!];
    if (n === 1) a = sum(a, [d], { keepdim: true, dtype: a.dtype });
    else if (m === 1) b = sum(b, [right[i]!], { keepdim: true, dtype: b.dtype });
    else if (m !== n)
      throw new TesseraError(
        'shape-mismatch',
        `contracted dimensions need to match, but first has size ${m} in dim ${d} and second has size ${n} in dim ${right[i]}`,
        { hints: ['Contracted sizes are equal or 1.'] },
      );
  });
  const keptA = a.sizes.map((_, d) => d).filter((d) => !left.includes(d));
  const keptB = b.sizes.map((_, d) => d).filter((d) => !right.includes(d));
  const summed = numelOf(left.map((d) => a.sizes[d]!));
  const rows = keptA.map((d) => a.sizes[d]!);
  const columns = keptB.map((d) => b.sizes[d]!);
  const result = mm(
    reshape(permute(a, [...keptA, ...left]), [numelOf(rows), summed]),
    reshape(permute(b, [...right, ...keptB]), [summed, numelOf(columns)]),
  );
  return reshape(result, [...rows, ...columns]);
}

const tensordotOp = defineOp(
  'aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor',
  {
    decompose: ({ self, other, dims_self, dims_other }) =>
      contracted(self, other, dims_self, dims_other),
  },
);

const innerOp = defineOp('aten::inner(Tensor self, Tensor other) -> Tensor', {
  decompose: (args) => {
    const [a, b] = [args.self, args.other];
    if (a.ndim === 0 || b.ndim === 0) return mul(a, b);
    if (a.sizes.at(-1) !== b.sizes.at(-1))
      throw new TesseraError(
        'shape-mismatch',
        `inner() the last dimension must match on both input tensors but got shapes ${formatSizes(a.sizes)} and ${formatSizes(b.sizes)}`,
        { hints: ['Use tensordot() to contract other dimensions.'] },
      );
    return contracted(a, b, [-1], [-1]);
  },
});

const vdotOp = defineOp('aten::vdot(Tensor self, Tensor other) -> Tensor', {
  decompose: ({ self, other }) => dot(self, other),
});

const kronOp = defineOp('aten::kron(Tensor self, Tensor other) -> Tensor', {
  decompose: (args) => {
    const [a, b] = [args.self, args.other];
    const ndim = Math.max(a.ndim, b.ndim);
    const sizesOf = (x: Tensor): number[] => [...Array<number>(ndim - x.ndim).fill(1), ...x.sizes];
    const [left, right] = [sizesOf(a), sizesOf(b)];
    const outer = mul(
      reshape(
        a,
        left.flatMap((size) => [size, 1]),
      ),
      reshape(
        b,
        right.flatMap((size) => [1, size]),
      ),
    );
    return reshape(
      outer,
      left.map((size, i) => size * right[i]!),
    );
  },
});

/**
 * Sum over pairs of dimensions: the last `dims` of self with the first of other, or two lists.
 * @throws shape-mismatch, invalid-argument
 */
export function tensordot(
  self: Tensor,
  other: Tensor,
  dims: number | readonly [readonly number[], readonly number[]] = 2,
): Tensor {
  const lists =
    typeof dims === 'number'
      ? [
          Array.from({ length: dims }, (_, i) => i - dims),
          Array.from({ length: dims }, (_, i) => i),
        ]
      : dims;
  return callOp(tensordotOp, [self, other, lists?.[0], lists?.[1]]);
}

/** Inner products over the last dimension, [..., K] and [*, K] → [..., *]. @throws shape-mismatch */
export function inner(self: Tensor, other: Tensor): Tensor {
  return callOp(innerOp, [self, other]);
}

/** Inner product of two vectors, the first conjugated. @throws shape-mismatch, dtype-mismatch */
export function vdot(self: Tensor, other: Tensor): Tensor {
  return callOp(vdotOp, [self, other]);
}

/** Kronecker product: every element of self times all of other. */
export function kron(self: Tensor, other: Tensor): Tensor {
  return callOp(kronOp, [self, other]);
}
