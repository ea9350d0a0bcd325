/**
 * @file `diff`: differences of neighbours.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { clone } from '../arrange/copy.js';
import { cat } from '../arrange/join.js';
import { logicalXor } from '../pointwise/logical.js';
import { sub } from '../pointwise/arithmetic.js';
import { narrow } from '../view/slice.js';

const diffOp = defineOp(
  'aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor',
  {
    decompose: ({ self, n, dim, prepend, append }) => {
      if (self.ndim === 0 || !(n >= 0))
        throw new TesseraError(
          'invalid-argument',
          self.ndim === 0
            ? 'diff expects input to be at least one-dimensional'
            : `order must be non-negative but got ${n}`,
          { hints: ['Pass a tensor with a dimension, and a count from 0.'] },
        );
      const at = wrapDim(dim, self.ndim, 'diff');
      if (n === 0) return clone(self);
      const parts = [prepend, self, append].filter((part) => part !== null);
      let result = parts.length === 1 ? self : cat(parts, at);
      const times = Math.min(n, result.sizes[at]!);
      for (let i = 0; i < times; i++) {
        const length = result.sizes[at]! - 1;
        const later = narrow(result, at, 1, length);
        const earlier = narrow(result, at, 0, length);
        result = result.dtype === 'bool' ? logicalXor(later, earlier) : sub(later, earlier);
      }
      return result;
    },
  },
);

const PREPEND_APPEND: OptionNames<{ prepend?: Tensor | null; append?: Tensor | null }> = {
  prepend: true,
  append: true,
};

/** nth differences of neighbours along a dimension, after joining `prepend` and `append`. @throws invalid-argument, invalid-dim */
export function diff(
  self: Tensor,
  n = 1,
  dim = -1,
  options?: { prepend?: Tensor | null; append?: Tensor | null },
): Tensor {
  checkOptionNames('diff', options, PREPEND_APPEND);
  return callOp(diffOp, [self, n, dim, options?.prepend ?? null, options?.append ?? null]);
}
