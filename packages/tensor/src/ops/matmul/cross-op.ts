/**
 * @file The operator of cross products of 3-vectors, which `cross` and `linalg.cross` call.
 */
import { TesseraError } from '@tessera/shared';
import { checkNumbers, expectType } from '../../kernels/restrict-dtypes.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { contiguous } from '../arrange/copy.js';
import { broadcastTensors } from '../arrange/meshgrid.js';
import { roll } from '../arrange/rearrange.js';
import { mul, sub } from '../pointwise/arithmetic.js';

/** @throws shape-mismatch */
export function refuseVectors(message: string): never {
  throw new TesseraError('shape-mismatch', message, {
    hints: ['Give 3 elements.'],
  });
}

export const linalgCrossOp: OpOverload<Tensor> = defineOp(
  'aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor',
  {
    decompose: ({ self, other, dim }) => {
      if (self.ndim !== other.ndim)
        refuseVectors(`linalg.cross: inputs have ${self.ndim} and ${other.ndim} dimensions`);
      const at = wrapDim(dim, self.ndim, 'linalg_cross');
      if (self.sizes[at] !== 3 || other.sizes[at] !== 3)
        refuseVectors(
          `linalg.cross: dimension ${dim} has length ${self.sizes[at]} and ${other.sizes[at]}, not 3`,
        );
      expectType(other, self.dtype);
      checkNumbers('cross', self);
      const [a, b] = broadcastTensors([self, other]);
      const forth = mul(roll(a, -1, at), roll(b, -2, at));
      const back = mul(roll(a, -2, at), roll(b, -1, at));
      return contiguous(sub(forth, back));
    },
  },
);
