/**
 * @file Running extremes: cummax and cummin. Of equal values the last one counts; NaN stays once met.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { mapRows } from '../../kernels/reduce-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import type { ValuesAndIndices } from '../reduction/extremum.js';
import { scatterAdd } from '../indexing/scatter.js';

function define(
  name: 'cummax' | 'cummin',
  replaces: (a: number, b: number) => boolean,
): OpOverload<[Tensor, Tensor]> {
  return defineOp(`aten::${name}(Tensor self, int dim) -> (Tensor values, Tensor indices)`, {
    meta: ({ self, dim }) => {
      wrapDim(dim, self.ndim, name);
      const values = denseMeta(self);
      return [values, { ...values, dtype: 'int64' }];
    },
    kernel: ({ self, dim }, outs) =>
      mapRows(self, wrapDim(dim, self.ndim), outs, (row, [values, indices]) => {
        let best = 0;
        row.forEach((value, i) => {
          const held = row[best]!;
          if (Number.isNaN(value) || (!Number.isNaN(held) && replaces(value, held))) best = i;
          values![i] = row[best]!;
          indices![i] = best;
        });
      }),
    saved: ['out.1'],
    vjp: ({ self, dim }, { grad, outs }) => ({
      self: () =>
        scatterAdd(
          zeros(self.sizes, { dtype: grad.dtype, device: grad.device }),
          dim,
          outs[1]!,
          grad,
        ),
    }),
  });
}

const cummaxOp = define('cummax', (a, b) => a >= b);
const cumminOp = define('cummin', (a, b) => a <= b);

/** The largest element so far along a dimension, and where it is. @throws invalid-dim */
export function cummax(self: Tensor, dim: number): ValuesAndIndices {
  return callOp(cummaxOp, [self, dim]);
}

/** The smallest element so far along a dimension, and where it is. @throws invalid-dim */
export function cummin(self: Tensor, dim: number): ValuesAndIndices {
  return callOp(cumminOp, [self, dim]);
}
