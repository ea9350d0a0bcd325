/**
 * @file Cumulative sums and products, and flip, which reverses them.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { isGradEnabled } from '../../autograd/grad-mode.js';
import { callOp } from '../../dispatch/dispatcher.js';
import type { DType } from '../../dtype.js';
import { isFloatingPoint } from '../../dtype.js';
import { readElements, roundingTo, writeNumbers } from '../../kernels/elements.js';
import { exactIn } from '../../kernels/integer-arithmetic.js';
import { mapRows } from '../../kernels/reduce-kernel.js';
import { metaOfSelf } from '../../memory-format.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { refuseMoreDims, wrapDim, wrapDims } from '../../shape.js';
import { makeTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { eq } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { logicalAnd } from '../pointwise/logical.js';
import { mul } from '../pointwise/arithmetic.js';
import { where } from '../pointwise/where.js';
import { ones } from '../factory/factory.js';
import { movedim, unsqueeze } from '../view/dims.js';
import { select } from '../view/slice.js';

interface ScanArgs {
  readonly self: Tensor;
  readonly dim: number;
  readonly dtype: DType | null;
}

/** Running values along a dimension: integers give int64. */
function scanMeta(name: string): (args: ScanArgs) => TensorMeta {
  return ({ self, dim, dtype }) => {
    wrapDim(dim, self.ndim, name);
    if (dtype === 'bool')
      throw new TesseraError('dtype-unsupported', `${name}: not implemented for bool.`, {
        hints: ["Convert the result: x.cumsum(0).to('bool')."],
      });
    return denseMeta(
      self,
      self.sizes,
      dtype ?? (isFloatingPoint(self.dtype) ? self.dtype : 'int64'),
    );
  };
}

/** Running values: `step` joins the value so far, from `start` on, with the next element, in the result's dtype. */
function scanKernel(
  start: number,
  step: (held: number, value: number) => number,
): (args: ScanArgs, outs: readonly Tensor[]) => void {
  return ({ self, dim }, outs) => {
    const { dtype } = outs[0]!;
    const enter = dtype === self.dtype ? (value: number) => value : roundingTo(dtype);
    const join = exactIn(dtype, step);
    mapRows(self, wrapDim(dim, self.ndim), outs, (values, [results]) => {
      let held = start;
      values.forEach((value, i) => (results![i] = held = join(held, enter(value))));
    });
  };
}

const cumsumOp = defineOp(
  'aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor',
  {
    meta: scanMeta('cumsum'),
    kernel: scanKernel(0, (held, value) => held + value),
    vjp: ({ dim }, { grad }) => ({ self: () => sumFromEnd(grad, dim) }),
  },
);
const cumsumInplace = defineInplace(cumsumOp);

/** Sums from each element to the end of a dimension. */
function sumFromEnd(x: Tensor, dim: number): Tensor {
  return flip(cumsum(flip(x, dim), dim), dim);
}

/**
 * The same with derivatives of its own, which are not those of a choice where there are zeros: of every element, the
 * products without it.
 */
function ofAllProducts(grad: Tensor, self: Tensor, dim: number): Tensor {
  const row = (x: Tensor): Tensor => unsqueeze(movedim(x, dim, -1), -2);
  const places = cumsum(ones([self.size(dim)], { device: self.device }), 0);
  const own = eq(places, unsqueeze(places, 1));
  const products = cumprod(where(own, 1, row(self)), -1, { dtype: grad.dtype });
  const held = where(eq(cumsum(own, -1), 1), mul(row(grad), products), 0);
  return movedim(select(cumsum(held, -1), -1, -1), -1, dim);
}

/**
 * Before the first zero, Σ gᵢ outᵢ / x over the products that an element takes part in. At the first zero
 * the products without it. After it, every product holds that zero, so nothing.
 */
function productGradient(grad: Tensor, self: Tensor, out: Tensor, dim: number): Tensor {
  if (isGradEnabled() && self.ndim > 0 && self.numel > 0) return ofAllProducts(grad, self, dim);
  const isZero = eq(self, 0);
  const zerosSoFar = cumsum(isZero, dim);
  const isFirst = logicalAnd(isZero, eq(zerosSoFar, 1));
  const without = cumprod(where(isFirst, 1, self), dim, { dtype: grad.dtype });
  const before = div(sumFromEnd(mul(grad, out), dim), where(isZero, 1, self));
  const atFirst = where(
    isFirst,
    sumFromEnd(mul(where(eq(zerosSoFar, 1), grad, 0), without), dim),
    0,
  );
  return where(eq(zerosSoFar, 0), before, atFirst);
}

const cumprodOp = defineOp(
  'aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor',
  {
    meta: scanMeta('cumprod'),
    kernel: scanKernel(1, (held, value) => held * value),
    saved: ['self', 'out'],
    vjp: ({ self, dim }, { grad, out }) => ({
      self: () => productGradient(grad, self, out, dim),
    }),
  },
);
const cumprodInplace = defineInplace(cumprodOp);

const flipOp = defineOp('aten::flip(Tensor self, int[] dims) -> Tensor', {
  meta: ({ self, dims }) => {
    if (dims.length > 0) wrapDims(dims, self.ndim, 'flip');
    return metaOfSelf({ self });
  },
  kernel: ({ self, dims }, [out]) => {
    let { storageOffset } = self;
    // From the last element of a dimension back.
    const strides = [...self.strides];
    for (const dim of self.ndim > 0 ? dims : []) {
      const at = wrapDim(dim, self.ndim);
      storageOffset += (self.sizes[at]! - 1) * strides[at]!;
      strides[at]! *= -1;
    }
    const { storage, dtype, device, sizes } = self;
    writeNumbers(
      out!,
      readElements(makeTensor(storage, dtype, device, sizes, strides, storageOffset)),
    );
  },
  vjp: ({ dims }, { grad }) => ({ self: () => flip(grad, dims) }),
});

const DTYPE: OptionNames<{ dtype?: DType }> = { dtype: true };

/** Running sums along a dimension; integers give int64. @throws invalid-dim */
export function cumsum(self: Tensor, dim: number, options?: { dtype?: DType }): Tensor {
  checkOptionNames('cumsum', options, DTYPE);
  return callOp(cumsumOp, [self, dim, options?.dtype ?? null]);
}

/** self = cumsum(self) */
export function cumsum_(self: Tensor, dim: number): Tensor {
  return callOp(cumsumInplace, [self, dim, null]);
}

/** Running products along a dimension; integers give int64. @throws invalid-dim */
export function cumprod(self: Tensor, dim: number, options?: { dtype?: DType }): Tensor {
  checkOptionNames('cumprod', options, DTYPE);
  return callOp(cumprodOp, [self, dim, options?.dtype ?? null]);
}

/** self = cumprod(self) */
export function cumprod_(self: Tensor, dim: number): Tensor {
  return callOp(cumprodInplace, [self, dim, null]);
}

/** Elements in reverse order along dims. @throws invalid-dim */
export function flip(self: Tensor, dims: number | readonly number[]): Tensor {
  refuseMoreDims('flip', arguments);
  return callOp(flipOp, [self, typeof dims === 'number' ? [dims] : dims]);
}
