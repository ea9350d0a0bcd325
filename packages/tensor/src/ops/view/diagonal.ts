/**
 * @file Matrices from diagonals and diagonals of matrices: diag, diag_embed, diagflat, trace.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { checkNumbers } from '../../kernels/restrict-dtypes.js';
import { defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import { sum } from '../reduction/reduction.js';
import { diagonalCopy } from './copy.js';
import { diagonalScatter } from './scatter.js';
import { diagonal } from './slice.js';
import { ravel } from './rank.js';

const diagEmbedOp = defineOp(
  'aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor',
  {
    decompose: ({ self, offset, dim1, dim2 }) => {
      const ndim = self.ndim + 1;
      const a = wrapDim(dim1, ndim, 'diag_embed');
      const b = wrapDim(dim2, ndim, 'diag_embed');
      if (a === b || self.ndim === 0)
        throw new TesseraError(
          'invalid-dim',
          `diagonal dimensions cannot be identical ${dim1}, ${dim2}`,
          { hints: ['Name two different dimensions.'] },
        );
      const sizes = self.sizes.slice(0, -1);
      const length = self.sizes.at(-1)! + Math.abs(offset);
      sizes.splice(Math.min(a, b), 0, length);
      sizes.splice(Math.max(a, b), 0, length);
      const blank = zeros(sizes, { dtype: self.dtype, device: self.device });
      return diagonalScatter(blank, self, offset, a, b);
    },
  },
);
const diagOp = defineOp('aten::diag(Tensor self, int diagonal=0) -> Tensor', {
  decompose: ({ self, diagonal: offset }) => {
    if (self.ndim === 1) return diagEmbed(self, offset);
    if (self.ndim === 2) return diagonalCopy(self, offset);
    throw new TesseraError('invalid-dim', `diag(): Supports 1D or 2D tensors. Got ${self.ndim}D`, {
      hints: ['Use diagonal() or diagEmbed() for batches.'],
    });
  },
});
const diagflatOp = defineOp('aten::diagflat(Tensor self, int offset=0) -> Tensor', {
  decompose: ({ self, offset }) => diagEmbed(ravel(self), offset),
});
const traceOp = defineOp('aten::trace(Tensor self) -> Tensor', {
  decompose: ({ self }) => {
    if (self.ndim !== 2)
      throw new TesseraError(
        'invalid-dim',
        `trace: expected a matrix, but got tensor with dim ${self.ndim}`,
        { hints: ['Sum diagonal() for batches of matrices.'] },
      );
    checkNumbers('trace', self);
    return sum(diagonal(self));
  },
});

/** [..., N] → [..., N, N] with the last dimension on a diagonal of two new ones. @throws invalid-dim */
export function diagEmbed(self: Tensor, offset = 0, dim1 = -2, dim2 = -1): Tensor {
  return callOp(diagEmbedOp, [self, offset, dim1, dim2]);
}

/** The matrix with a vector on its diagonal, or a copy of the diagonal of a matrix. @throws invalid-dim */
export function diag(self: Tensor, diagonalOffset = 0): Tensor {
  return callOp(diagOp, [self, diagonalOffset]);
}

/** The matrix with all elements on its diagonal. */
export function diagflat(self: Tensor, offset = 0): Tensor {
  return callOp(diagflatOp, [self, offset]);
}

/** Sum of the diagonal of a matrix. @throws invalid-dim */
export function trace(self: Tensor): Tensor {
  return callOp(traceOp, [self]);
}
