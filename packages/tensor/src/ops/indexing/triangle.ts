/**
 * @file Triangles of matrices, and one-hot vectors.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { contiguousStrides } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { ones, zeros } from '../factory/factory.js';
import { max } from '../reduction/extremum.js';
import { scatter } from './scatter.js';
import { expand } from '../view/view.js';
import { unsqueeze } from '../view/dims.js';
import { itemAtOnce } from '../../read-values.js';

function define(
  name: 'tril' | 'triu',
  keeps: (column: number, row: number, diagonal: number) => boolean,
): OpOverload<Tensor> {
  const op: OpOverload<Tensor> = defineOp(
    `aten::${name}(Tensor self, SymInt diagonal=0) -> Tensor`,
    {
      meta: ({ self }) => {
        if (self.ndim < 2)
          throw new TesseraError(
            'invalid-dim',
            `${name}: input tensor must have at least 2 dimensions`,
            { hints: ['Use unsqueeze() to make a matrix of a vector.'] },
          );
        return {
          sizes: self.sizes,
          strides: contiguousStrides(self.sizes),
          dtype: self.dtype,
          device: self.device,
        };
      },
      kernel: ({ self, diagonal }, [out]) => {
        const [rows, columns] = self.sizes.slice(-2);
        const values = readNumbers(self);
        writeNumbers(
          out!,
          values.map((value, i) =>
            keeps(i % columns, Math.floor(i / columns) % rows, diagonal) ? value : 0,
          ),
        );
      },
      vjp: ({ diagonal }, { grad }) => ({ self: () => callOp(op, [grad, diagonal]) }),
    },
  );
  return op;
}

const trilOp = define('tril', (column, row, diagonal) => column - row <= diagonal);
const triuOp = define('triu', (column, row, diagonal) => column - row >= diagonal);
const trilInplace = defineInplace(trilOp);
const triuInplace = defineInplace(triuOp);

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

/** The part of the last two dimensions on and below a diagonal, zeros above. @throws invalid-dim */
export function tril(self: Tensor, diagonal = 0): Tensor {
  return callOp(trilOp, [self, diagonal]);
}

/** self = tril(self) */
export function tril_(self: Tensor, diagonal = 0): Tensor {
  return callOp(trilInplace, [self, diagonal]);
}

/** The part of the last two dimensions on and above a diagonal, zeros below. @throws invalid-dim */
export function triu(self: Tensor, diagonal = 0): Tensor {
  return callOp(triuOp, [self, diagonal]);
}

/** self = triu(self) */
export function triu_(self: Tensor, diagonal = 0): Tensor {
  return callOp(triuInplace, [self, diagonal]);
}

/** [..] of class indices → [.., C] of zeros and ones. @throws index-out-of-range, dtype-mismatch, invalid-argument */
export function oneHot(self: Tensor, numClasses = -1): Tensor {
  return callOp(oneHotOp, [self, numClasses]);
}
