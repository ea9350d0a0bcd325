/**
 * @file Reductions: sum and its kin.
 */
import { callOp } from '../dispatch/dispatcher.js';
import type { DType } from '../dtype.js';
import { DTYPES } from '../dtype.js';
import { reduceKernel, reduceMeta } from '../kernels/reduce-kernel.js';
import { defineOp } from '../op/op-overload.js';
import type { NamedArgs } from '../op/op-record.js';
import { sameNumbers, wrapDims } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { expand, reshape } from './view.js';

/** Integers and bools are summed as int64. */
function sumType(self: Tensor, args: NamedArgs): DType {
  return (args.dtype as DType | null) ?? (DTYPES[self.dtype].category === 'floating' ? self.dtype : 'int64');
}

/** Gradient of a reduction spread back over the reduced dims. */
export function spread(grad: Tensor, self: Tensor, dim: readonly number[] | number | null, keepdim: boolean): Tensor {
  const dims = wrapDims(dim, self.ndim);
  const kept = self.sizes.map((size, i) => (dims.includes(i) ? 1 : size));
  return expand(keepdim || sameNumbers(kept, grad.sizes) ? grad : reshape(grad, kept), self.sizes);
}

const sumOp = defineOp('aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor', {
  tags: ['reduction'],
  meta: reduceMeta('sum', sumType),
  kernel: reduceKernel('sum', (values) => {
    let total = 0;
    for (const value of values) total += value;
    return total;
  }),
  vjp: ({ self, dim, keepdim }, { grad }) => ({ self: () => spread(grad, self as Tensor, dim as number[] | null, keepdim as boolean) }),
});

defineOp('aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor', {
  decompose: ({ self, dtype }) => callOp(sumOp, [self, null, false, dtype]),
});

defineOp('aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor', {
  decompose: ({ self, size }) => {
    const target = size as number[];
    const lead = self.ndim - target.length;
    const dims = (self.sizes as number[]).flatMap((s, i) => (i < lead || (target[i - lead] === 1 && s !== 1) ? [i] : []));
    if (dims.length === 0) return self;
    const summed = callOp(sumOp, [self, dims, true, null]) as Tensor;
    return lead > 0 ? reshape(summed, target) : summed;
  },
});

/** Options of reductions: `dim` null reduces all dimensions. */
export interface ReduceOptions {
  readonly keepdim?: boolean;
  readonly dtype?: DType;
}

function dimList(dim: number | readonly number[] | null | undefined): readonly number[] | null {
  return dim === null || dim === undefined ? null : typeof dim === 'number' ? [dim] : dim;
}

/** Sum over dims (all by default). Integers give int64. @throws invalid-dim */
export function sum(self: Tensor, dim: number | readonly number[] | null = null, options: ReduceOptions = {}): Tensor {
  return callOp(sumOp, [self, dimList(dim), options.keepdim ?? false, options.dtype ?? null]) as Tensor;
}
