/**
 * @file Sums of products over chosen dimensions: what einsum, tensordot, inner and bilinear are made of.
 *
 * Every contraction becomes one batched matrix product, with the dimensions ordered as PyTorch orders them,
 * so that the results have its strides.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes, wrapDims, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { contiguous } from '../arrange/copy.js';
import { bmm, dot, mm } from './matmul.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';
import { squeeze, unsqueeze } from '../view/dims.js';
import { permute, reshape, view } from '../view/view.js';

/** Sum over `dims` of left · right, which have the same rank and broadcast; summed dims keep size 1. @see sumproduct_pair */
export function sumProductPair(left: Tensor, right: Tensor, dims: readonly number[]): Tensor {
  if (dims.length === 0) return mul(left, right);
  const both: number[] = [];
  const onlyLeft: number[] = [];
  const onlyRight: number[] = [];
  let a = left;
  let b = right;
  for (let d = 0; d < left.ndim; d++) {
    const inLeft = left.sizes[d] !== 1;
    const inRight = right.sizes[d] !== 1;
    if (dims.includes(d)) {
      // What only one side has is summed at once.
      if (inLeft && !inRight) a = sum(a, [d], { keepdim: true, dtype: a.dtype });
      else if (inRight && !inLeft) b = sum(b, [d], { keepdim: true, dtype: b.dtype });
    } else if (inLeft && inRight) both.push(d);
    else if (inLeft) onlyLeft.push(d);
    else onlyRight.push(d);
  }
  const sizesOf = (x: Tensor, list: readonly number[]): number[] => list.map((d) => x.sizes[d]!);
  const summed = numelOf(sizesOf(a, dims));
  const batch = numelOf(sizesOf(a, both));
  const rows = numelOf(sizesOf(a, onlyLeft));
  const columns = numelOf(sizesOf(b, onlyRight));
  const matrices = bmm(
    reshape(permute(a, [...both, ...onlyLeft, ...dims, ...onlyRight]), [batch, rows, summed]),
    reshape(permute(b, [...both, ...dims, ...onlyRight, ...onlyLeft]), [batch, summed, columns]),
  );
  const order = [...both, ...onlyLeft, ...dims, ...onlyRight];
  const spread = view(matrices, [
    ...sizesOf(a, both),
    ...sizesOf(a, onlyLeft),
    ...dims.map(() => 1),
    ...sizesOf(b, onlyRight),
  ]);
  return permute(
    spread,
    order.map((_, d) => order.indexOf(d)),
  );
}

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
      { hints: ['Name as many dimensions of one tensor as of the other.'] },
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
        { hints: ['Contracted dimensions have equal sizes or size 1.'] },
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

/** `tensor` with dimensions of size 1 inserted at `dims`, ascending. */
function inserted(tensor: Tensor, dims: readonly number[]): Tensor {
  return [...dims].sort((a, b) => a - b).reduce((x, dim) => unsqueeze(x, dim), tensor);
}

const trilinearOp = defineOp(
  'aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor',
  {
    decompose: ({ i1, i2, i3, expand1, expand2, expand3, sumdim: over }) => {
      const [a, b, c] = [inserted(i1, expand1), inserted(i2, expand2), inserted(i3, expand3)];
      // Dimensions that the third factor lacks are summed with the first product.
      const early = over.filter((dim) => expand3.includes(dim));
      const late = over.filter((dim) => !early.includes(dim));
      const result = sumProductPair(sumProductPair(a, b, early), c, late);
      return contiguous(over.length === 0 ? result : squeeze(result, over));
    },
  },
);

const bilinearOp = defineOp(
  'aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor',
  {
    decompose: ({ input1: a, input2: b, weight: w, bias }) => {
      checkBilinear(a, b, w, bias);
      const lead = a.sizes.slice(0, -1);
      const rows = numelOf(lead);
      const result = callOp(trilinearOp, [
        reshape(a, [rows, a.sizes.at(-1)!]),
        w,
        reshape(b, [rows, b.sizes.at(-1)!]),
        [1, 3],
        [0],
        [1, 2],
        [2, 3],
        1,
      ]);
      const shaped = reshape(result, [...lead, w.sizes[0]!]);
      return bias === null ? shaped : add(shaped, bias);
    },
  },
);

/** @throws shape-mismatch */
function checkBilinear(a: Tensor, b: Tensor, w: Tensor, bias: Tensor | null): void {
  const fits =
    a.ndim >= 1 &&
    a.ndim === b.ndim &&
    a.sizes.slice(0, -1).every((size, i) => size === b.sizes[i]) &&
    w.ndim === 3 &&
    a.sizes.at(-1) === w.sizes[1] &&
    b.sizes.at(-1) === w.sizes[2] &&
    (bias === null || (bias.ndim === 1 && bias.sizes[0] === w.sizes[0]));
  if (fits) return;
  throw new TesseraError(
    'shape-mismatch',
    `bilinear(): input1 ${formatSizes(a.sizes)}, input2 ${formatSizes(b.sizes)}, weight ${formatSizes(w.sizes)} and bias ${bias === null ? 'none' : formatSizes(bias.sizes)} do not fit: input dimensions and sizes do not match`,
    { hints: ['Shapes are [..., in1], [..., in2], [out, in1, in2] and [out].'] },
  );
}

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
  return callOp(tensordotOp, [self, other, lists[0], lists[1]]);
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

/** input1ᵀ · weight[o] · input2 + bias[o]: [..., I], [..., J], [O, I, J] → [..., O]. @throws shape-mismatch */
export function bilinear(
  input1: Tensor,
  input2: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
): Tensor {
  return callOp(bilinearOp, [input1, input2, weight, bias]);
}
