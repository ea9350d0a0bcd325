/**
 * @file Positions of the elements other than 0.
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { coordinatesIn, positionsOfHits } from '../../kernels/coordinates.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import { contiguousStrides } from '../../shape.js';
import { emptyFromMeta } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { unsqueeze } from '../view/dims.js';
import { unbind } from '../view/split.js';

/** One row of coordinates per row-major position. */
function coordinates(sizes: readonly number[], positions: Uint32Array): Float64Array {
  const rows = new Float64Array(positions.length * sizes.length);
  for (let d = 0; d < sizes.length; d++) {
    const column = coordinatesIn(sizes, d, positions);
    for (let i = 0; i < column.length; i++) rows[i * sizes.length + d] = column[i]!;
  }
  return rows;
}

const nonzeroOp = defineOp('aten::nonzero(Tensor self) -> Tensor', {
  tags: ['data-dependent', 'non-differentiable'],
  awaited: 'nonzeroAsync(x), or await indexAsync(x, mask)',
  produce: ({ self }) => {
    const found = positionsOfHits(readNumbers(self));
    // One column of positions per dimension, each contiguous.
    const out = emptyFromMeta({
      sizes: [found.length, self.ndim],
      strides: [1, Math.max(found.length, 1)],
      dtype: 'int64',
      device: self.device,
    });
    writeNumbers(out, coordinates(self.sizes, found));
    return out;
  },
});

const argwhereOp = defineOp('aten::argwhere(Tensor self) -> Tensor', {
  tags: ['data-dependent', 'non-differentiable'],
  decompose: ({ self }) => callOp(nonzeroOp, [self]),
});

const nonzeroNumpyOp = defineOp('aten::nonzero_numpy(Tensor self) -> Tensor[]', {
  tags: ['data-dependent', 'non-differentiable'],
  decompose: ({ self }) => unbind(nonzero(self.ndim === 0 ? unsqueeze(self, 0) : self), 1),
});

const nonzeroStaticOp = defineOp(
  'aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor',
  {
    tags: ['non-differentiable'],
    meta: ({ self, size }) => {
      if (!(size >= 0))
        throw new TesseraError(
          'invalid-argument',
          `nonzero_static: 'size' must be an non-negative integer, but got ${size}`,
          { hints: ['It is the number of rows of the result.'] },
        );
      const sizes = [size, self.ndim];
      return { sizes, strides: contiguousStrides(sizes), dtype: 'int64', device: self.device };
    },
    kernel: ({ self, size, fill_value }, [out]) => {
      const found = positionsOfHits(readNumbers(self)).subarray(0, size);
      const rows = new Float64Array(out!.numel).fill(fill_value);
      rows.set(coordinates(self.sizes, found));
      writeNumbers(out!, rows);
    },
  },
);

/**
 * Positions of the non-zero elements, one row of `ndim` indices each; the shape depends on the values.
 *
 * @throws invalid-argument for options: `nonzeroNumpy` is PyTorch's `as_tuple`
 */
export function nonzero(self: Tensor, options?: undefined): Tensor {
  if (options !== undefined)
    throw new TesseraError('invalid-argument', 'nonzero has no options.', {
      hints: ["nonzeroNumpy() gives one vector per dimension, as PyTorch's as_tuple=True."],
    });
  return callOp(nonzeroOp, [self]);
}

/** Positions of the non-zero elements, one vector per dimension. @see torch.nonzero(as_tuple=True) */
export function nonzeroNumpy(self: Tensor): Tensor[] {
  return callOp(nonzeroNumpyOp, [self]);
}

const STATIC = { size: true, fillValue: true } as const;

/** Positions of the first `size` non-zero elements; rows that are left over hold `fillValue`. @throws invalid-argument */
export function nonzeroStatic(self: Tensor, options: { size: number; fillValue?: number }): Tensor {
  checkOptionNames('nonzeroStatic', options, STATIC);
  return callOp(nonzeroStaticOp, [self, options.size, options.fillValue ?? -1]);
}

/** Positions of the non-zero elements, as `nonzero`. */
export function argwhere(self: Tensor): Tensor {
  return callOp(argwhereOp, [self]);
}
