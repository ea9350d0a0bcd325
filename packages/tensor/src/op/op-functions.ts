/**
 * @file The functions that people call for ops with common signatures.
 *
 * Ops with options of their own have a written function; for the many that take one or two operands
 * these make it from the overload.
 */
import type { ScalarLike } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import type { OpOverload } from './op-overload.js';

/** Function of one tensor. */
export type Unary = (self: Tensor) => Tensor;

/** Function of a tensor and a tensor or number. */
export type Binary = (self: Tensor, other: Tensor | ScalarLike) => Tensor;

/** Function of two tensors. */
export type TensorBinary = (self: Tensor, other: Tensor) => Tensor;

/** The function of a unary op. */
export function unaryFunction(op: OpOverload<Tensor>): Unary {
  return (self) => callOp(op, [self]);
}

/** The function of a binary op whose second operand may be a number. */
export function binaryFunction(op: OpOverload<Tensor>): Binary {
  return (self, other) => callOp(op, [self, other]);
}

/** The function of a binary op with one overload for tensors and one for numbers. */
export function binaryFunctionOf(
  tensorOp: OpOverload<Tensor>,
  scalarOp: OpOverload<Tensor>,
): Binary {
  return (self, other) => callOp(isTensor(other) ? tensorOp : scalarOp, [self, other]);
}
