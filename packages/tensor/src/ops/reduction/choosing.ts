/**
 * @file Reductions that choose an element of each row: max, min, kthvalue, median, mode.
 */
import { TesseraError } from '@tessera/shared';
import { roomFor, writeNumbers } from '../../kernels/elements.js';
import type { RowOrder } from '../../kernels/order-kernel.js';
import { readRows } from '../../kernels/ordered-rows.js';
import { type ReduceArgs, reduceDims, reduceMeta } from '../../kernels/reduce-kernel.js';
import type { OpRecord } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import { scatter } from '../indexing/scatter.js';
import { mul } from '../pointwise/arithmetic.js';
import { eq, isnan } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { logicalAnd, logicalOr } from '../pointwise/logical.js';
import { sum } from './reduction.js';
import { keepDims } from './spread.js';

/** @throws shape-mismatch where a reduced dim is empty */
export function checkNotEmpty(name: string, args: ReduceArgs): void {
  const { self } = args;
  const empty = reduceDims(args, name).find((d) => self.sizes[d] === 0);
  if (empty !== undefined) {
    throw new TesseraError(
      'shape-mismatch',
      `${name}(): Expected reduction dim ${empty} to have non-zero size.`,
      { hints: ['Choose another dimension.'] },
    );
  }
}

/** Values and positions of the element of each row that `choose` names; the gradient goes back to it. */
export function choosing<Args extends { self: Tensor; dim: number; keepdim: boolean }>(
  name: string,
  choose: (order: RowOrder, start: number, args: NoInfer<Args>) => number,
  check: (args: NoInfer<Args>) => void = () => undefined,
): OpRecord<Args, never> {
  const rule = reduceMeta(name, (self) => self.dtype);
  return {
    tags: ['reduction'],
    meta: (args) => {
      check(args);
      checkNotEmpty(name, args);
      const values = rule(args);
      return [values, { ...values, dtype: 'int64' }];
    },
    kernel: (args, [values, indices]) => {
      const from = readRows(args.self, args.dim);
      const chosen = roomFor(args.self.dtype, from.rows);
      const at = new Int32Array(from.rows);
      for (let row = 0; row < from.rows; row++) {
        const start = row * from.length;
        at[row] = choose(from.order, start, args);
        chosen[row] = from.values[start + at[row]!]!;
      }
      writeNumbers(values!, chosen);
      writeNumbers(indices!, at);
    },
    saved: ['out.1'],
    vjp: ({ self, dim }, { grad, outs }) => ({
      self: () => {
        const { sizes } = self;
        const blank = zeros(sizes, { dtype: grad.dtype, device: grad.device });
        return scatter(blank, dim, keepDims(outs[1]!, sizes, dim), keepDims(grad, sizes, dim));
      },
    }),
  };
}

/** The gradient of one element of all goes to those that equal it, in equal parts; NaN equals NaN. */
export function shareGradient(grad: Tensor, self: Tensor, out: Tensor): Tensor {
  const mask = logicalOr(eq(self, out), logicalAnd(isnan(self), isnan(out)));
  return mul(div(grad, sum(mask)), mask);
}
