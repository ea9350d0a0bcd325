/**
 * @file Positions of the elements other than 0.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { coordinatesIn, positionsOfHits } from '../../kernels/coordinates.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { defineOp } from '../../op/op-overload.js';
import { emptyFromMeta } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { unsqueeze } from '../view/dims.js';
import { unbind } from '../view/split.js';

/** Puts coordinates of row-major positions: those of a dimension are `column` apart, those of a position `row`. */
function withCoordinates<To extends Int32Array | Float64Array>(
  to: To,
  { sizes }: Tensor,
  positions: Uint32Array,
  column: number,
  row: number,
): To {
  sizes.forEach((_, d) => {
    const found = coordinatesIn(sizes, d, positions);
    for (let i = 0; i < found.length; i++) to[d * column + i * row] = found[i]!;
  });
  return to;
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
    const columns = withCoordinates(new Int32Array(out.numel), self, found, found.length, 1);
    const { dtype, storage, storageOffset } = out;
    writeNumbers({ dtype, storage, storageOffset, sizes: [out.numel], strides: [1] }, columns);
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
      return denseMeta(self, sizes, 'int64');
    },
    kernel: ({ self, size, fill_value }, [out]) => {
      const found = positionsOfHits(readNumbers(self)).subarray(0, size);
      const rows = new Float64Array(out!.numel).fill(fill_value);
      writeNumbers(out!, withCoordinates(rows, self, found, 1, self.ndim));
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
      hints: ['nonzeroNumpy() is as_tuple=True.'],
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
  return callOp(nonzeroStaticOp, [self, options?.size, options?.fillValue ?? -1]);
}

/** Positions of the non-zero elements, as `nonzero`. */
export function argwhere(self: Tensor): Tensor {
  return callOp(argwhereOp, [self]);
}
