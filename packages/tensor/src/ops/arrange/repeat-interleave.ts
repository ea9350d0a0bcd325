/**
 * @file Repeating each element: repeat_interleave.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import { emptyContiguous, isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { clone } from './copy.js';
import { indexSelect } from '../indexing/select.js';
import { flatten, unsqueeze } from '../view/dims.js';
import { expand, reshape } from '../view/view.js';

const HINT = 'Give non-negative counts, one per element of the dimension or one for all.';

function refuse(message: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [HINT] });
}

const positionsOp = defineOp(
  'aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor',
  {
    tags: ['data-dependent', 'non-differentiable'],
    produce: ({ repeats, output_size }) => {
      const counts = repeats;
      if (counts.ndim !== 1) refuse('repeat_interleave only accept 1D vector as repeat');
      if (counts.dtype !== 'int64' && counts.dtype !== 'int32')
        refuse('repeats has to be Long or Int tensor');
      const positions: number[] = [];
      readNumbers(counts).forEach((count, i) => {
        if (count < 0) refuse('repeats can not be negative');
        for (let n = 0; n < count; n++) positions.push(i);
      });
      if (output_size !== null && output_size !== positions.length)
        refuse(
          `repeat_interleave: allocated size does not match required size: ${output_size} and ${positions.length}`,
        );
      const out = emptyContiguous([positions.length], counts.dtype, counts.device);
      writeNumbers(out, positions);
      return out;
    },
  },
);

const byTensorOp = defineOp(
  'aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor',
  {
    tags: ['data-dependent'],
    decompose: ({ self, repeats, dim, output_size }) => {
      const input = dim === null ? flatten(self) : self;
      const at = wrapDim(dim ?? 0, input.ndim, 'repeat_interleave');
      const length = input.ndim === 0 ? 1 : input.sizes[at]!;
      const counts = repeats;
      if (counts.ndim > 1) refuse('repeats must be 0-dim or 1-dim tensor');
      if (counts.ndim === 1 && counts.numel !== 1 && counts.numel !== length)
        refuse(
          `repeats must have the same size as input along dim, but got repeats.size(0) = ${counts.numel} and input.size(${at}) = ${length}`,
        );
      const all = counts.numel === 1 ? expand(reshape(counts, [1]), [length]) : counts;
      return indexSelect(input, at, callOp(positionsOp, [all, output_size]));
    },
  },
);

const byNumberOp = defineOp(
  'aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor',
  {
    decompose: ({ self, repeats, dim, output_size }) => {
      const input = dim === null ? flatten(self) : self;
      const at = wrapDim(dim ?? 0, input.ndim, 'repeat_interleave');
      if (repeats < 0) refuse('Repeats must be non-negative');
      const spread = unsqueeze(input.ndim === 0 ? reshape(input, [1]) : input, at + 1);
      const sizes = [...spread.sizes];
      sizes[at + 1] = repeats;
      const total = sizes[at]! * repeats;
      if (output_size !== null && output_size !== total)
        refuse(`repeat_interleave: Invalid output_size, expected ${total} but got ${output_size}`);
      return flatten(clone(expand(spread, sizes), { memoryFormat: 'contiguous' }), at, at + 1);
    },
  },
);

const OUTPUT_SIZE: OptionNames<{ outputSize?: number }> = { outputSize: true };

/**
 * Each element of a dimension (of the flattened tensor if null) repeated: as often as a number says, or by
 * a tensor of counts. @throws invalid-argument, invalid-dim
 */
export function repeatInterleave(
  self: Tensor,
  repeats: number | Tensor,
  dim: number | null = null,
  options?: { outputSize?: number },
): Tensor {
  checkOptionNames('repeatInterleave', options, OUTPUT_SIZE);
  const op = isTensor(repeats) ? byTensorOp : byNumberOp;
  return callOp(op, [self, repeats, dim, options?.outputSize ?? null]);
}
