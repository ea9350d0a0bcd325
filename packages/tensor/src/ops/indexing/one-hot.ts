/**
 * @file Class numbers as rows of zeros and a one: no method of tensors, as in PyTorch.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { itemAtOnce } from '../../read-values.js';
import type { Tensor } from '../../tensor.js';
import { ones, zeros } from '../factory/factory.js';
import { max } from '../reduction/extremum.js';
import { unsqueeze } from '../view/dims.js';
import { expand } from '../view/view.js';
import { scatter } from './scatter.js';

const oneHotOp = defineOp('aten::one_hot(Tensor self, int num_classes=-1) -> Tensor', {
  decompose: ({ self: labels, num_classes }) => {
    if (labels.dtype !== 'int64')
      throw new TesseraError(
        'dtype-mismatch',
        `one_hot is only applicable to index tensor of type LongTensor, not ${labels.dtype}`,
        { hints: ["Convert it: labels.to('int64')."] },
      );
    if (labels.numel === 0 && num_classes <= 0)
      throw new TesseraError(
        'invalid-argument',
        'one_hot: Can not infer total number of classes from empty tensor.',
        { hints: ['Pass the number of classes: oneHot(labels, 10).'] },
      );
    // Counting the classes reads the values: pass their number inside compiled functions.
    const classes = num_classes === -1 ? itemAtOnce(max(labels)) + 1 : num_classes;
    const sizes = [...labels.sizes, classes];
    const rows = unsqueeze(labels, -1);
    return scatter(
      zeros(sizes, { dtype: 'int64', device: labels.device }),
      -1,
      rows,
      expand(ones([], { dtype: 'int64', device: labels.device }), rows.sizes),
    );
  },
});

/** [..] of class indices → [.., C] of zeros and ones. @throws index-out-of-range, dtype-mismatch, invalid-argument */
export function oneHot(self: Tensor, numClasses = -1): Tensor {
  return callOp(oneHotOp, [self, numClasses]);
}
