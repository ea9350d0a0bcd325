/**
 * @file Logical and bitwise operators.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { pointwise, pointwiseMeta, unary } from '../../kernels/pointwise-kernel.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { TesseraError } from '@tessera/shared';
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
import type { NamedArgs, TensorMeta } from '../../op/op-record.js';
import { isTensor } from '../../tensor-factory.js';
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

/** Bits are combined in 64 bits where 32 would not do. */
function bitwiseKernel(
  fn: (a: bigint, b: bigint) => bigint,
): (args: NamedArgs, outs: readonly Tensor[]) => void {
  return ({ self, other }, [out]) => {
    const column = (operand: unknown): ArrayLike<number> =>
      isTensor(operand)
        ? readNumbers(operand, out!.sizes)
        : new Float64Array(out!.numel).fill(Number(operand));
    const a = column(self);
    const b = column(other);
    writeNumbers(
      out!,
      Float64Array.from({ length: a.length }, (_, i) =>
        Number(BigInt.asIntN(64, fn(BigInt(a[i]!), BigInt(b[i]!)))),
      ),
    );
  };
}

interface Bitwise {
  readonly fn: Binary;
  readonly inplace: Binary;
}

function bitwise(name: string, fn: (a: bigint, b: bigint) => bigint): Bitwise {
  const record = {
    tags: ['pointwise', 'non-differentiable'] as const,
    meta: bitwiseMeta(name, ['self', 'other']),
    kernel: bitwiseKernel(fn),
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
  tags: ['pointwise', 'non-differentiable'],
  meta: bitwiseMeta('bitwise_not', ['self']),
  kernel: ({ self }, [out]) =>
    writeNumbers(
      out!,
      readNumbers(self).map((x) => (self.dtype === 'bool' ? 1 - x : -1 - x)),
    ),
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
