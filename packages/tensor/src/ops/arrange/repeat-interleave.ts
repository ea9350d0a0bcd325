/**
 * @file Repeating each element: repeat_interleave.
 */
import { checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import { emptyContiguous, isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { clone } from './copy.js';
import {
  NEGATIVE,
  OUTPUT_SIZE,
  checkCounts,
  checkedRepeats,
  refuseRepeats,
} from './repeat-counts.js';
import { indexSelect } from '../indexing/select.js';
import { flatten, unsqueeze } from '../view/dims.js';
import { expand, reshape } from '../view/view.js';

const positionsOp = defineOp(
  'aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor',
  {
    tags: ['data-dependent', 'non-differentiable'],
    awaited: 'repeatInterleaveAsync(x, repeats)',
    produce: ({ repeats: counts, output_size }) => {
      checkCounts(counts);
      const repeats = readNumbers(counts);
      if (repeats.some((count) => count < 0)) refuseRepeats(NEGATIVE);
      const total = repeats.reduce((sum, count) => sum + count, 0);
      if (output_size !== null && output_size !== total)
        refuseRepeats(
          `repeat_interleave: allocated size does not match required size: ${output_size} and ${total}`,
        );
      // Memory for any count of positions is asked for before they are made.
      const out = emptyContiguous([total], counts.dtype, counts.device);
      const positions = new Float64Array(total);
      let end = 0;
      repeats.forEach((count, i) => positions.fill(i, end, (end += count)));
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
      const { input, at, counts } = checkedRepeats(self, repeats, dim);
      return indexSelect(input, at, callOp(positionsOp, [counts, output_size]));
    },
  },
);

const byNumberOp = defineOp(
  'aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor',
  {
    decompose: ({ self, repeats, dim, output_size }) => {
      const input = dim === null ? flatten(self) : self;
      const at = wrapDim(dim ?? 0, input.ndim, 'repeat_interleave');
      if (repeats < 0) refuseRepeats('Repeats must be non-negative');
      const spread = unsqueeze(input.ndim === 0 ? reshape(input, [1]) : input, at + 1);
      const sizes = [...spread.sizes];
      sizes[at + 1] = repeats;
      const total = sizes[at]! * repeats;
      if (output_size !== null && output_size !== total)
        refuseRepeats(
          `repeat_interleave: Invalid output_size, expected ${total} but got ${output_size}`,
        );
      return flatten(clone(expand(spread, sizes), { memoryFormat: 'contiguous' }), at, at + 1);
    },
  },
);

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
