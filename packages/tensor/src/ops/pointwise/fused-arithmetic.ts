/**
 * @file Three-operand arithmetic: lerp, addcmul, addcdiv.
 */
import { type ScalarLike, type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { factorFor } from '../../kernels/factor.js';
import { productIn } from '../../kernels/integer-arithmetic.js';
import {
  operandsOf,
  pointwise,
  pointwiseWith,
  scalarValue,
} from '../../kernels/pointwise-kernel.js';
import { NUMBERS, checkDtype, restrictedTo } from '../../kernels/restrict-dtypes.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import type { OpRecord } from '../../op/op-record.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { resultType } from '../../type-promotion.js';
import { div } from './division.js';
import { mul, neg, sub } from './arithmetic.js';

/** Exact at both ends. */
function interpolate(a: number, b: number, weight: number): number {
  return weight < 0.5 ? a + weight * (b - a) : b - (b - a) * (1 - weight);
}

/** A record that interpolates between tensors of one dtype. */
function lerping<Args extends { self: Tensor; end: Tensor; weight: Tensor | ScalarLike }>(
  record: OpRecord<Args, never>,
): OpRecord<Args, never> {
  return restrictedTo('floating', 'lerp', {
    ...record,
    meta: (args) => {
      const { self, end, weight } = args;
      checkDtype('lerp', 'end', end, self.dtype);
      if (isTensor(weight) && weight.ndim > 0) checkDtype('lerp', 'weight', weight, self.dtype);
      return record.meta!(args);
    },
  });
}

const lerpScalarOp = defineOp(
  'aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor',
  lerping(
    pointwiseWith(
      ({ weight }) =>
        (
          (w) => (a, b) =>
            interpolate(a, b, w)
        )(scalarValue(weight)),
      {
        name: 'lerp',
        operands: ['self', 'end'],
        vjp: ({ weight }, { grad }) => ({
          self: () => sub(grad, mul(grad, weight)),
          end: () => mul(grad, weight),
        }),
      },
    ),
  ),
);
const lerpTensorOp = defineOp(
  'aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor',
  lerping(
    pointwise(interpolate, {
      name: 'lerp',
      operands: ['self', 'end', 'weight'],
      savedFor: { self: ['weight'], end: ['weight'], weight: ['self', 'end'] },
      vjp: ({ self, end, weight }, { grad }) => ({
        self: () => sub(grad, mul(grad, weight)),
        end: () => mul(grad, weight),
        weight: () => mul(grad, sub(end, self)),
      }),
    }),
  ),
);

const ADDCMUL = ['self', 'tensor1', 'tensor2'];

const addcmulOp = defineOp(
  'aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor',
  restrictedTo(
    NUMBERS,
    'addcmul',
    pointwiseWith(
      (args) => {
        const dtype = resultType(operandsOf(args, ADDCMUL));
        const value = factorFor(dtype, args.value);
        const times = productIn(dtype);
        return (a, b, c) => a + times(times(value, b), c);
      },
      {
        name: 'addcmul',
        operands: ADDCMUL,
        savedFor: { tensor1: ['tensor2'], tensor2: ['tensor1'] },
        vjp: ({ tensor1, tensor2, value }, { grad }) => ({
          self: grad,
          tensor1: () => mul(grad, mul(tensor2, value)),
          tensor2: () => mul(grad, mul(tensor1, value)),
        }),
      },
    ),
  ),
);

/** @throws dtype-unsupported where integers are divided by integers */
function dividing<Args extends { tensor1: Tensor; tensor2: Tensor }>(
  record: OpRecord<Args, never>,
): OpRecord<Args, never> {
  return {
    ...record,
    meta: (args) => {
      if (![args.tensor1, args.tensor2].some((t) => !isTensor(t) || isFloatingPoint(t.dtype)))
        throw new TesseraError(
          'dtype-unsupported',
          'Integer division with addcdiv is no longer supported.',
          { hints: ["Convert one of them: x.to('float32')."] },
        );
      return record.meta!(args);
    },
  };
}

const addcdivOp = defineOp(
  'aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor',
  dividing(
    pointwiseWith(
      ({ value }) =>
        (
          (v) => (a, b, c) =>
            a + (v * b) / c
        )(scalarValue(value)),
      {
        name: 'addcdiv',
        operands: ['self', 'tensor1', 'tensor2'],
        savedFor: { tensor1: ['tensor2'], tensor2: ['tensor1', 'tensor2'] },
        vjp: ({ tensor1, tensor2, value }, { grad }) => ({
          self: grad,
          tensor1: () => mul(div(grad, tensor2), value),
          tensor2: () => neg(mul(grad, div(mul(tensor1, value), mul(tensor2, tensor2)))),
        }),
      },
    ),
  ),
);
const lerpScalarInplace = defineInplace(lerpScalarOp);
const lerpTensorInplace = defineInplace(lerpTensorOp);
const addcmulInplace = defineInplace(addcmulOp);
const addcdivInplace = defineInplace(addcdivOp);

/** self + weight · (end - self). @throws shape-mismatch */
export function lerp(self: Tensor, end: Tensor, weight: Tensor | ScalarLike): Tensor {
  return callOp(isTensor(weight) ? lerpTensorOp : lerpScalarOp, [self, end, weight]);
}

/** self += weight · (end - self) */
export function lerp_(self: Tensor, end: Tensor, weight: Tensor | ScalarLike): Tensor {
  return callOp(isTensor(weight) ? lerpTensorInplace : lerpScalarInplace, [self, end, weight]);
}

const VALUE: OptionNames<{ value?: ScalarLike }> = { value: true };

/** self + value · tensor1 · tensor2. @throws shape-mismatch */
export function addcmul(
  self: Tensor,
  tensor1: Tensor,
  tensor2: Tensor,
  options?: { value?: ScalarLike },
): Tensor {
  checkOptionNames('addcmul', options, VALUE);
  return callOp(addcmulOp, [self, tensor1, tensor2, options?.value ?? 1]);
}

/** self += value · tensor1 · tensor2 */
export function addcmul_(
  self: Tensor,
  tensor1: Tensor,
  tensor2: Tensor,
  options?: { value?: ScalarLike },
): Tensor {
  checkOptionNames('addcmul_', options, VALUE);
  return callOp(addcmulInplace, [self, tensor1, tensor2, options?.value ?? 1]);
}

/** self + value · tensor1 / tensor2. @throws shape-mismatch */
export function addcdiv(
  self: Tensor,
  tensor1: Tensor,
  tensor2: Tensor,
  options?: { value?: ScalarLike },
): Tensor {
  checkOptionNames('addcdiv', options, VALUE);
  return callOp(addcdivOp, [self, tensor1, tensor2, options?.value ?? 1]);
}

/** self += value · tensor1 / tensor2 */
export function addcdiv_(
  self: Tensor,
  tensor1: Tensor,
  tensor2: Tensor,
  options?: { value?: ScalarLike },
): Tensor {
  checkOptionNames('addcdiv_', options, VALUE);
  return callOp(addcdivInplace, [self, tensor1, tensor2, options?.value ?? 1]);
}
