/**
 * @file Comparisons and tests: bool results, no gradients; floats that one overwrites have a gradient of zero.
 *
 * A comparison with a number is the `.Scalar` overload, as in PyTorch's graphs.
 */
import type { ScalarLike } from '@tessera/shared';
import { pointwise, unary } from '../../kernels/pointwise-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { type Binary, type Unary, binaryFunctionOf, unaryFunction } from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { zerosLike } from '../factory/like.js';

interface Comparison {
  readonly tensor: OpOverload<Tensor>;
  readonly scalar: OpOverload<Tensor>;
  readonly fn: Binary;
  readonly inplace: Binary;
}

function define(name: string, test: (a: number, b: number) => boolean): Comparison {
  const record: OpRecord<{ self: Tensor; other: Tensor | ScalarLike }, never> = {
    ...pointwise((a, b) => (test(a, b) ? 1 : 0), { result: 'bool', name }),
    // In place on floats.
    vjp: (_args, { grad }) => ({ self: () => zerosLike(grad), other: () => zerosLike(grad) }),
  };
  const tensor = defineOp(`aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`, record);
  const scalar = defineOp(`aten::${name}.Scalar(Tensor self, Scalar other) -> Tensor`, record);
  return {
    tensor,
    scalar,
    fn: binaryFunctionOf(tensor, scalar),
    inplace: binaryFunctionOf(defineInplace(tensor), defineInplace(scalar)),
  };
}

const equal = define('eq', (a, b) => a === b);
const notEqual = define('ne', (a, b) => a !== b);
const less = define('lt', (a, b) => a < b);
const lessEqual = define('le', (a, b) => a <= b);
const greater = define('gt', (a, b) => a > b);
const greaterEqual = define('ge', (a, b) => a >= b);

const isnanOp = defineOp(
  'aten::isnan(Tensor self) -> Tensor',
  unary((x) => (Number.isNaN(x) ? 1 : 0), { result: 'bool' }),
);
const isinfOp = defineOp(
  'aten::isinf(Tensor self) -> Tensor',
  unary((x) => (x === Infinity || x === -Infinity ? 1 : 0), { result: 'bool' }),
);
const isposinfOp = defineOp(
  'aten::isposinf(Tensor self) -> Tensor',
  unary((x) => (x === Infinity ? 1 : 0), { result: 'bool' }),
);
const isneginfOp = defineOp(
  'aten::isneginf(Tensor self) -> Tensor',
  unary((x) => (x === -Infinity ? 1 : 0), { result: 'bool' }),
);
const isfiniteOp = defineOp(
  'aten::isfinite(Tensor self) -> Tensor',
  unary((x) => (x > -Infinity && x < Infinity ? 1 : 0), { result: 'bool' }),
);

/** Where self equals other. */
export const eq: Binary = equal.fn;
/** self = (self == other), in self's dtype. */
export const eq_: Binary = equal.inplace;
/** Where self differs from other. */
export const ne: Binary = notEqual.fn;
/** self = (self != other) */
export const ne_: Binary = notEqual.inplace;
/** Where self < other. */
export const lt: Binary = less.fn;
/** self = (self < other) */
export const lt_: Binary = less.inplace;
/** Where self ≤ other. */
export const le: Binary = lessEqual.fn;
/** self = (self <= other) */
export const le_: Binary = lessEqual.inplace;
/** Where self > other. */
export const gt: Binary = greater.fn;
/** self = (self > other) */
export const gt_: Binary = greater.inplace;
/** Where self ≥ other. */
export const ge: Binary = greaterEqual.fn;
/** self = (self >= other) */
export const ge_: Binary = greaterEqual.inplace;
/** Where self is NaN. */
export const isnan: Unary = unaryFunction(isnanOp);
/** Where self is +∞ or -∞. */
export const isinf: Unary = unaryFunction(isinfOp);
/** Where self is +∞. */
export const isposinf: Unary = unaryFunction(isposinfOp);
/** Where self is -∞. */
export const isneginf: Unary = unaryFunction(isneginfOp);
/** Where self is neither NaN nor infinite. */
export const isfinite: Unary = unaryFunction(isfiniteOp);
