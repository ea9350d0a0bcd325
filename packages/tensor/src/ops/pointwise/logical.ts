/**
 * @file Logical and bitwise operators.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { pointwise, pointwiseMeta, pointwiseWith, unary } from '../../kernels/pointwise-kernel.js';
import { isBig } from '../../kernels/integer-arithmetic.js';
import { type ScalarLike, TesseraError } from '@tessera/shared';
import { DTYPES } from '../../dtype.js';
import { defineInplace } from '../../op/inplace.js';
import {
  type Binary,
  type Unary,
  binaryFunction,
  binaryFunctionOf,
  unaryFunction,
} from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { NamedArgs, OpRecord, TensorMeta } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';

function logical(name: string, test: (a: boolean, b: boolean) => boolean): OpOverload<Tensor> {
  return defineOp(
    `aten::logical_${name}(Tensor self, Tensor other) -> Tensor`,
    pointwise((a, b) => (test(a !== 0, b !== 0) ? 1 : 0), {
      result: 'bool',
      name: `logical_${name}`,
    }),
  );
}

const logicalAndOp = logical('and', (a, b) => a && b);
const logicalOrOp = logical('or', (a, b) => a || b);
const logicalXorOp = logical('xor', (a, b) => a !== b);
const logicalNotOp = defineOp(
  'aten::logical_not(Tensor self) -> Tensor',
  unary((x) => (x === 0 ? 1 : 0), { result: 'bool' }),
);

/** @throws dtype-unsupported for floats */
function bitwiseMeta(name: string, operands: readonly string[]): (args: NamedArgs) => TensorMeta {
  const rule = pointwiseMeta({ operands, name });
  return (args) => {
    const meta = rule(args);
    if (DTYPES[meta.dtype].category === 'floating') {
      throw new TesseraError('dtype-unsupported', `${name} is not implemented for ${meta.dtype}`, {
        hints: ['Bitwise operators take integers and bools.'],
      });
    }
    return meta;
  };
}

interface Bitwise {
  readonly fn: Binary;
  readonly inplace: Binary;
}

function bitwise(name: string, fn: (a: number, b: number) => number): Bitwise {
  const record: OpRecord<{ self: Tensor; other: Tensor | ScalarLike }, never> = {
    // Numbers have 32 bits here.
    ...pointwise((a, b) => (isBig(a) || ((a | 0) === a && (b | 0) === b) ? fn(a, b) : NaN)),
    meta: bitwiseMeta(name, ['self', 'other']),
  };
  const tensor = defineOp(`aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`, record);
  const scalar = defineOp(`aten::${name}.Scalar(Tensor self, Scalar other) -> Tensor`, record);
  return {
    fn: binaryFunctionOf(tensor, scalar),
    inplace: binaryFunctionOf(defineInplace(tensor), defineInplace(scalar)),
  };
}

const and = bitwise('bitwise_and', (a, b) => a & b);
const or = bitwise('bitwise_or', (a, b) => a | b);
const xor = bitwise('bitwise_xor', (a, b) => a ^ b);
const bitwiseNotOp = defineOp('aten::bitwise_not(Tensor self) -> Tensor', {
  ...pointwiseWith(
    ({ self }) => (self.dtype === 'bool' ? (x) => 1 - x : (x) => (isBig(x) ? ~x : -1 - x)),
    { operands: ['self'] },
  ),
  meta: bitwiseMeta('bitwise_not', ['self']),
});
const bitwiseNotInplace = defineInplace(bitwiseNotOp);

/** Where both are non-zero. */
export const logicalAnd: Binary = binaryFunction(logicalAndOp);
/** self = self and other */
export const logicalAnd_: Binary = binaryFunction(defineInplace(logicalAndOp));
/** Where either is non-zero. */
export const logicalOr: Binary = binaryFunction(logicalOrOp);
/** self = self or other */
export const logicalOr_: Binary = binaryFunction(defineInplace(logicalOrOp));
/** Where exactly one is non-zero. */
export const logicalXor: Binary = binaryFunction(logicalXorOp);
/** self = self xor other */
export const logicalXor_: Binary = binaryFunction(defineInplace(logicalXorOp));
/** Where self is zero. */
export const logicalNot: Unary = unaryFunction(logicalNotOp);
/** self = not self */
export const logicalNot_: Unary = unaryFunction(defineInplace(logicalNotOp));
/** Bitwise and of integers, logical and of bools. @throws dtype-unsupported */
export const bitwiseAnd: Binary = and.fn;
/** self &= other */
export const bitwiseAnd_: Binary = and.inplace;
/** Bitwise or. @throws dtype-unsupported */
export const bitwiseOr: Binary = or.fn;
/** self |= other */
export const bitwiseOr_: Binary = or.inplace;
/** Bitwise exclusive or. @throws dtype-unsupported */
export const bitwiseXor: Binary = xor.fn;
/** self ^= other */
export const bitwiseXor_: Binary = xor.inplace;

/** Inverted bits; logical not of bools. @throws dtype-unsupported */
export function bitwiseNot(self: Tensor): Tensor {
  return callOp(bitwiseNotOp, [self]);
}

/** self = ~self */
export function bitwiseNot_(self: Tensor): Tensor {
  return callOp(bitwiseNotInplace, [self]);
}
