/**
 * @file Triangles of matrices, and one-hot vectors.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readElements, writeNumbers } from '../../kernels/elements.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';

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
        return denseMeta(self);
      },
      kernel: ({ self, diagonal }, [out]) => {
        const [rows, columns] = self.sizes.slice(-2);
        const values = readElements(self);
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
