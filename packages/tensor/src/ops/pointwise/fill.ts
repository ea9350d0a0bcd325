/**
 * @file Filling tensors with a number, wholly or under a mask.
 */
import { TesseraError, type ScalarLike } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { pointwiseKernel, pointwiseWith, scalarValue } from '../../kernels/pointwise-kernel.js';
import { checkingFill } from '../../kernels/fill-value.js';
import { readElements, roundTo, writeNumbers } from '../../kernels/elements.js';
import { denseMeta } from '../../kernels/suggest-format.js';
import { metaOfSelf } from '../../memory-format.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { broadcastShapes } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { zerosLike } from '../factory/like.js';
import { where } from './where.js';

const fillOp = defineOp('aten::fill.Scalar(Tensor self, Scalar value) -> Tensor', {
  tags: ['pointwise', 'uniform'],
  meta: checkingFill('value', metaOfSelf),
  kernel: ({ value }, [out]) =>
    writeNumbers(out!, new Float64Array(out!.numel).fill(scalarValue(value))),
  vjp: (_args, { grad }) => ({ self: () => zerosLike(grad) }),
});
const fillTensorOp = defineOp('aten::fill.Tensor(Tensor self, Tensor value) -> Tensor', {
  tags: ['pointwise'],
  meta: metaOfSelf,
  kernel: ({ value }, [out]) => writeNumbers(out!, readElements(value, out!.sizes)),
  // The engine sums the gradient to the 0-d value.
  vjp: (_args, { grad }) => ({ self: () => zerosLike(grad), value: grad }),
});
const zeroOp = defineOp('aten::zero(Tensor self) -> Tensor', {
  tags: ['pointwise', 'uniform'],
  meta: metaOfSelf,
  kernel: (_args, [out]) => writeNumbers(out!, new Float64Array(out!.numel)),
  vjp: (_args, { grad }) => ({ self: () => zerosLike(grad) }),
});
const fillInplace = defineInplace(fillOp);
const fillTensorInplace = defineInplace(fillTensorOp);
const zeroInplace = defineInplace(zeroOp);

/** @throws dtype-mismatch unless the mask is bool */
function maskedMeta({ self, mask }: { self: Tensor; mask: Tensor }): TensorMeta {
  if (mask.dtype !== 'bool') {
    throw new TesseraError(
      'dtype-mismatch',
      `masked_fill_ only supports boolean masks, but got mask with dtype ${mask.dtype}`,
      { hints: ['Compare first, e.g. mask.ne(0).'] },
    );
  }
  return denseMeta(self, broadcastShapes([self.sizes, mask.sizes], 'masked_fill'));
}

const maskedFillOp = defineOp(
  'aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor',
  {
    ...pointwiseWith(
      ({ self, value }) =>
        ((v) => (x, mask) => (mask ? v : x))(roundTo(self.dtype, scalarValue(value))),
      { operands: ['self', 'mask'] },
    ),
    tags: ['pointwise'],
    meta: checkingFill('value', maskedMeta),
    saved: ['mask'],
    vjp: ({ mask }, { grad }) => ({ self: () => maskedFill(grad, mask, 0) }),
  },
);
const maskedFillTensorOp = defineOp(
  'aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor',
  {
    tags: ['pointwise'],
    meta: (args) => {
      const { ndim } = args.value;
      if (ndim === 0) return maskedMeta(args);
      throw new TesseraError(
        'shape-mismatch',
        `masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ${ndim} dimension(s).`,
        { hints: ['For a value per element use where().'] },
      );
    },
    kernel: pointwiseKernel((x, mask, value) => (mask ? value : x), {
      operands: ['self', 'mask', 'value'],
    }),
    saved: ['mask'],
    vjp: ({ mask }, { grad }) => ({
      self: () => maskedFill(grad, mask, 0),
      value: () => where(mask, grad, 0),
    }),
  },
);
const maskedFillInplace = defineInplace(maskedFillOp);
const maskedFillTensorInplace = defineInplace(maskedFillTensorOp);

/** A tensor like self filled with a number (or a 0-d tensor). */
export function fill(self: Tensor, value: Tensor | ScalarLike): Tensor {
  return callOp(isTensor(value) ? fillTensorOp : fillOp, [self, value]);
}

/** Sets every element to a number (or a 0-d tensor's). */
export function fill_(self: Tensor, value: Tensor | ScalarLike): Tensor {
  return callOp(isTensor(value) ? fillTensorInplace : fillInplace, [self, value]);
}

/** Sets every element to zero. */
export function zero_(self: Tensor): Tensor {
  return callOp(zeroInplace, [self]);
}

/** self with `value` where the mask holds. @throws dtype-mismatch, shape-mismatch */
export function maskedFill(self: Tensor, mask: Tensor, value: Tensor | ScalarLike): Tensor {
  return callOp(isTensor(value) ? maskedFillTensorOp : maskedFillOp, [self, mask, value]);
}

/** Writes `value` where the mask holds. @throws dtype-mismatch, shape-mismatch */
export function maskedFill_(self: Tensor, mask: Tensor, value: Tensor | ScalarLike): Tensor {
  return callOp(isTensor(value) ? maskedFillTensorInplace : maskedFillInplace, [self, mask, value]);
}
