/**
 * @file A sum of products over chosen dimensions, of which einsum and bilinear are made: one batched matrix product, with
 * the dimensions ordered as PyTorch orders them, so that the results have its strides.
 */
import { numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { bmm } from './matmul.js';
import { mul } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';
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
