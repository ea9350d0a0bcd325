/**
 * @file Products of many matrices, of vectors along a dimension, and matrices of powers.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { broadcastShapes, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { cat } from '../arrange/join.js';
import { ones } from '../factory/factory.js';
import { dot, mm } from '../matmul/matmul.js';
import { mul } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';
import { cumprod } from '../scan/scan.js';
import { squeeze, unsqueeze } from '../view/dims.js';
import { expand } from '../view/view.js';
import { checkSameDtype } from './shape.js';

/** @throws shape-mismatch, invalid-argument */
function refuseChain(code: 'shape-mismatch' | 'invalid-argument', why: string): never {
  throw new TesseraError(code, `multi_dot(): ${why}`, {
    hints: ['A chain of matrices; the first may be a row vector and the last a column vector.'],
  });
}

/** @throws shape-mismatch, invalid-argument */
function checkChain(tensors: readonly Tensor[]): void {
  if (tensors.length < 2)
    refuseChain('invalid-argument', `expected at least 2 tensors but got ${tensors.length}`);
  tensors.forEach((x, i) => {
    const outer =
      i === 0 ? 'the first tensor' : i === tensors.length - 1 ? 'the last tensor' : null;
    if (outer !== null && x.ndim !== 1 && x.ndim !== 2)
      refuseChain('shape-mismatch', `${outer} must be 1D or 2D but got ${x.ndim}D`);
    if (outer === null && x.ndim !== 2)
      refuseChain('shape-mismatch', `tensor ${i} must be 2D but got ${x.ndim}D`);
  });
}

/** Where to split each part of the chain so that all products together cost least. @see Cormen et al., Introduction to Algorithms, 15.2 */
function bestSplits(sizes: readonly number[]): number[][] {
  const count = sizes.length - 1;
  const cost = Array.from({ length: count }, () => new Array<number>(count).fill(0));
  const split = Array.from({ length: count }, () => new Array<number>(count).fill(0));
  for (let length = 1; length < count; length++)
    for (let i = 0; i + length < count; i++) {
      const j = i + length;
      cost[i]![j] = Infinity;
      for (let k = i; k < j; k++) {
        const own = cost[i]![k]! + cost[k + 1]![j]! + sizes[i]! * sizes[k + 1]! * sizes[j + 1]!;
        if (own < cost[i]![j]!) [cost[i]![j], split[i]![j]] = [own, k];
      }
    }
  return split;
}

const multiDotOp = defineOp('aten::linalg_multi_dot(Tensor[] tensors) -> Tensor', {
  decompose: ({ tensors: list }) => {
    checkChain(list);
    const [first, last] = [list[0]!, list.at(-1)!];
    if (list.length === 2 && first.ndim === 1 && last.ndim === 1) return dot(first, last);
    const matrices = list.map((x, i) => (x.ndim === 2 ? x : unsqueeze(x, i === 0 ? 0 : 1)));
    for (let i = 0; i + 1 < matrices.length; i++)
      if (matrices[i]!.sizes[1] !== matrices[i + 1]!.sizes[0])
        refuseChain(
          'shape-mismatch',
          `tensors ${i} and ${i + 1} with shapes [${matrices[i]!.sizes.join(', ')}] and [${matrices[i + 1]!.sizes.join(', ')}] cannot be multiplied`,
        );
    const split = bestSplits([matrices[0]!.sizes[0]!, ...matrices.map((x) => x.sizes[1]!)]);
    const product = (i: number, j: number): Tensor => {
      if (i === j) return matrices[i]!;
      const k = split[i]![j]!;
      return mm(product(i, k), product(k + 1, j));
    };
    const whole = product(0, matrices.length - 1);
    const dims = [...(first.ndim === 1 ? [0] : []), ...(last.ndim === 1 ? [1] : [])];
    return dims.length === 0 ? whole : squeeze(whole, dims);
  },
});

const vecdotOp = defineOp('aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor', {
  decompose: ({ x: a, y: b, dim }) => {
    checkSameDtype('linalg.vecdot', a, b);
    const { length } = broadcastShapes([a.sizes, b.sizes], 'linalg.vecdot');
    return sum(mul(a, b), wrapDim(dim, length, 'linalg.vecdot'));
  },
});

const vanderOp = defineOp('aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor', {
  decompose: ({ x, N }) => {
    const vector = x.ndim === 0 ? unsqueeze(x, 0) : x;
    const nodes = vector.dtype === 'bool' ? toDtype(vector, 'int64') : vector;
    const columns = N ?? nodes.sizes.at(-1)!;
    if (columns <= 1)
      throw new TesseraError('invalid-argument', 'N must be greater than 1.', {
        hints: ['x holds at least one node; N counts powers from 0.'],
      });
    const { dtype, device } = nodes;
    const powers = cumprod(expand(unsqueeze(nodes, -1), [...nodes.sizes, columns - 1]), -1);
    const one = ones([...nodes.sizes, 1], {
      dtype: powers.dtype === dtype ? dtype : powers.dtype,
      device,
    });
    return cat([one, powers], -1);
  },
});

/** The product of a chain of matrices, in the order that costs least; the ends may be vectors. @throws shape-mismatch, invalid-argument */
export function multiDot(tensors: readonly Tensor[]): Tensor {
  return callOp(multiDotOp, [tensors]);
}

const DIM: OptionNames<{ readonly dim?: number }> = { dim: true };

/** Sums of products along a dimension, the last by default. @throws shape-mismatch, dtype-mismatch, invalid-dim */
export function vecdot(self: Tensor, other: Tensor, options?: { readonly dim?: number }): Tensor {
  checkOptionNames('vecdot', options, DIM);
  return callOp(vecdotOp, [self, other, options?.dim ?? -1]);
}

const N: OptionNames<{ readonly n?: number | null }> = { n: true };

/** Powers 0 to n - 1 of nodes, [.., M] → [.., M, n]; n is M by default. @throws invalid-argument */
export function vander(self: Tensor, options?: { readonly n?: number | null }): Tensor {
  checkOptionNames('vander', options, N);
  return callOp(vanderOp, [self, options?.n ?? null]);
}
