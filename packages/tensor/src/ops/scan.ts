/**
 * @file Cumulative sums, and flip, which reverses them.
 */
import { callOp } from '../dispatch/dispatcher.js';
import type { DType } from '../dtype.js';
import { DTYPES } from '../dtype.js';
import { readNumbers, writeNumbers } from '../kernels/elements.js';
import { mapRows } from '../kernels/reduce-kernel.js';
import { formatStrides } from '../memory-format.js';
import { defineInplace } from '../op/inplace.js';
import { defineOp } from '../op/op-overload.js';
import { contiguousStrides, wrapDim, wrapDims } from '../shape.js';
import type { Tensor } from '../tensor.js';

const cumsumOp = defineOp(
  'aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor',
  {
    meta: ({ self, dim, dtype }) => {
      wrapDim(dim as number, self.ndim, 'cumsum');
      const result =
        (dtype as DType | null) ??
        (DTYPES[self.dtype as DType].category === 'floating' ? self.dtype : 'int64');
      return {
        sizes: self.sizes,
        strides: formatStrides(self as Tensor, null),
        dtype: result,
        device: self.device,
      };
    },
    kernel: ({ self, dim }, outs) => {
      mapRows(self as Tensor, wrapDim(dim as number, self.ndim), outs, (values, [sums]) => {
        let total = 0;
        values.forEach((value, i) => (sums![i] = total += value));
      });
    },
    vjp: ({ dim }, { grad }) => ({
      self: () => flip(cumsum(flip(grad, dim as number), dim as number), dim as number),
    }),
  },
);
const cumsumInplace = defineInplace(cumsumOp);

const flipOp = defineOp('aten::flip(Tensor self, int[] dims) -> Tensor', {
  meta: ({ self, dims }) => {
    if ((dims as number[]).length > 0) wrapDims(dims as number[], self.ndim, 'flip');
    return {
      sizes: self.sizes,
      strides: formatStrides(self as Tensor, null),
      dtype: self.dtype,
      device: self.device,
    };
  },
  kernel: ({ self, dims }, [out]) => {
    const reversed = (dims as number[]).map((dim) => wrapDim(dim, self.ndim));
    const values = readNumbers(self as Tensor);
    const strides = contiguousStrides(self.sizes as number[]);
    const results = values.map((_, i) => {
      let from = i;
      if (self.ndim > 0) {
        for (const dim of reversed) {
          const at = Math.floor(i / strides[dim]!) % self.sizes[dim];
          from += (self.sizes[dim] - 1 - 2 * at) * strides[dim]!;
        }
      }
      return values[from]!;
    });
    writeNumbers(out!, results);
  },
  vjp: ({ dims }, { grad }) => ({ self: () => flip(grad, dims as number[]) }),
});

/** Running sums along a dimension; integers give int64. @throws invalid-dim */
export function cumsum(self: Tensor, dim: number, options: { dtype?: DType } = {}): Tensor {
  return callOp(cumsumOp, [self, dim, options.dtype ?? null]) as Tensor;
}

/** self = cumsum(self) */
export function cumsum_(self: Tensor, dim: number): Tensor {
  return callOp(cumsumInplace, [self, dim, null]) as Tensor;
}

/** Elements in reverse order along dims. @throws invalid-dim */
export function flip(self: Tensor, dims: number | readonly number[]): Tensor {
  return callOp(flipOp, [self, typeof dims === 'number' ? [dims] : dims]) as Tensor;
}
