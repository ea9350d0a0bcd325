/**
 * @file Building blocks of pointwise lowerings: operands, broadcasting, promotion.
 */
import { SymInt, TesseraError } from '@tessera/shared';
import { type DType, defaultDType, isFloatingPoint } from '@tessera/tensor';
import { kindType, numberType, promotedType } from '@tessera/tensor/internal';
import type { Expr, ScalarOp } from '../../ir/expr.js';
import { isHalf, roundToHalf } from '../../ir/scalar-eval.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { type LoweredArg, RuntimeScalar } from '../registry.js';
import type { Operand } from '../typed-lowering.js';
import { type Shape, broadcastSizes, numelOf } from '../shape-math.js';

/** Whether an argument may be a pointwise operand. */
export function isOperand(arg: LoweredArg): arg is Operand {
  return (
    arg instanceof LoweredTensor ||
    arg instanceof RuntimeScalar ||
    arg instanceof SymInt ||
    typeof arg === 'number' ||
    typeof arg === 'boolean'
  );
}

/** The argument as a tensor. @throws invalid-argument */
export function tensorArg(arg: LoweredArg, op: string): LoweredTensor {
  if (arg instanceof LoweredTensor) return arg;
  throw new TesseraError(
    'invalid-argument',
    `${op}: expected a tensor while lowering, got ${String(arg)}.`,
    {
      hints: ['Arguments of graph nodes are positional, in the order of the schema.'],
    },
  );
}

/** The argument as an operand. @throws invalid-argument */
export function operandArg(arg: LoweredArg, op: string): Operand {
  if (isOperand(arg)) return arg;
  throw new TesseraError(
    'invalid-argument',
    `${op}: expected a tensor or number while lowering, got ${String(arg)}.`,
    {
      hints: ['Arguments of graph nodes are positional, in the order of the schema.'],
    },
  );
}

/** An argument that is a list of whole numbers. */
export type IntListArg = number | readonly (number | SymInt | RuntimeScalar)[] | null | undefined;

/** A list of integers; a single number stands for all of `length`. */
export function intList(arg: IntListArg, length?: number): number[] {
  if (typeof arg === 'number') return new Array<number>(length ?? 1).fill(arg);
  const list = (arg ?? []).map(Number);
  return length !== undefined && list.length === 1 && length > 1
    ? new Array<number>(length).fill(list[0]!)
    : list;
}

function scalarDtype(operand: RuntimeScalar | SymInt | number | boolean): DType {
  if (operand instanceof SymInt) return 'int64';
  return operand instanceof RuntimeScalar ? kindType(operand.kind) : numberType(operand);
}

/** PyTorch's promotion over tensors, 0-d tensors and numbers. */
export function promoted(operands: readonly Operand[]): DType {
  return promotedType(
    operands,
    (operand) => (operand instanceof LoweredTensor ? (operand.shape.length > 0 ? 0 : 1) : 2),
    (operand) => (operand instanceof LoweredTensor ? operand.dtype : scalarDtype(operand)),
  );
}

/** The type itself if floating, else the default float type. */
export function floating(dtype: DType): DType {
  return isFloatingPoint(dtype) ? dtype : defaultDType();
}

/** Shape that the operands broadcast to. @throws shape-mismatch */
export function broadcastOperands(operands: readonly Operand[], op: string): Shape {
  return broadcastSizes(
    operands.flatMap((o) => (o instanceof LoweredTensor ? [o.shape] : [])),
    op,
  );
}

/** Coordinates at which a tensor of `sizes` is read when broadcast to `target` at `coords`. */
export function broadcastCoords(
  lowering: Lowering,
  sizes: Shape,
  target: Shape,
  coords: readonly IndexExpr[],
): IndexExpr[] {
  const lead = target.length - sizes.length;
  return sizes.map((size, d) => (size === 1 ? lowering.ir.int(0) : coords[d + lead]!));
}

/** The operand at the canonical variables of `sizes`, converted to `dtype`. */
export function operandExpr(
  lowering: Lowering,
  operand: Operand,
  sizes: Shape,
  dtype: DType,
): Expr {
  const { ir } = lowering;
  if (operand instanceof RuntimeScalar) return ir.cast(operand.expr, dtype);
  if (operand instanceof SymInt) return ir.sizeValue(dtype, operand);
  if (!(operand instanceof LoweredTensor)) {
    const number = Number(operand);
    const isRounded = lowering.emulatesPrecisionCasts;
    return ir.const(dtype, isRounded ? roundToHalf(number, dtype) : number);
  }
  const same =
    operand.shape.length === sizes.length && operand.shape.every((size, d) => size === sizes[d]);
  const value = same
    ? operand.expr
    : operand.load(broadcastCoords(lowering, operand.shape, sizes, lowering.vars(sizes)));
  return ir.cast(value, dtype);
}

/** A lazy pointwise value: operands broadcast, converted to `dtype` and combined. */
export function elementwise(
  lowering: Lowering,
  operands: readonly Operand[],
  dtype: DType,
  combine: (...args: Expr[]) => Expr,
  op = 'op',
): LoweredTensor {
  for (const operand of operands)
    if (operand instanceof LoweredTensor) realizeForExpansion(lowering, operand, operands, op);
  const sizes = broadcastOperands(operands, op);
  return lowering.pointwise(
    sizes,
    combine(...operands.map((o) => operandExpr(lowering, o, sizes, dtype))),
  );
}

/**
 * As `elementwise`, for operators that take a number with all its digits beside 16-bit floats. A number that is not
 * known while lowering, or one that is to be as eager has it, would be rounded to the type that is computed in.
 */
export function elementwiseWithNumbers(
  lowering: Lowering,
  operands: readonly Operand[],
  dtype: DType,
  combine: (...args: Expr[]) => Expr,
  op: string,
  numbers: readonly LoweredArg[] = operands,
): LoweredTensor {
  const isExact = numbers.every(
    (operand) =>
      operand instanceof LoweredTensor ||
      (typeof operand === 'number' && !lowering.emulatesPrecisionCasts),
  );
  const computed = !isExact && isHalf(dtype) ? 'float32' : dtype;
  return castTensor(lowering, elementwise(lowering, operands, computed, combine, op), dtype);
}

/**
 * As `elementwiseWithNumbers`, for products and quotients: beside 16-bit floats, what they multiply or divide by keeps its
 * digits also if it is a tensor without dimensions.
 */
export function elementwiseByFactor(
  lowering: Lowering,
  [self, other]: readonly [Operand, Operand],
  dtype: DType,
  combine: (a: Expr, b: Expr) => Expr,
  op: string,
): LoweredTensor {
  const isScalar = other instanceof LoweredTensor && other.shape.length === 0;
  if (!isScalar || other.dtype === dtype || !isHalf(dtype))
    return elementwiseWithNumbers(lowering, [self, other], dtype, combine, op);
  return castTensor(lowering, elementwise(lowering, [self, other], 'float32', combine, op), dtype);
}

/** One scalar operation over operands of a common type. */
export function scalarOp(
  lowering: Lowering,
  op: ScalarOp,
  operands: readonly Operand[],
  dtype: DType,
): LoweredTensor {
  return elementwise(lowering, operands, dtype, (...args) => lowering.ir.op(op, args), op);
}

/** The tensor converted to another type. */
export function castTensor(lowering: Lowering, tensor: LoweredTensor, dtype: DType): LoweredTensor {
  return tensor.dtype === dtype
    ? tensor
    : lowering.pointwise(tensor.shape, lowering.ir.cast(tensor.expr, dtype));
}

/** Expensive values that are broadcast would be computed once per copy: they get memory first. */
function realizeForExpansion(
  lowering: Lowering,
  operand: LoweredTensor,
  operands: readonly Operand[],
  op: string,
): void {
  if (operand.isRealized) return;
  const own = numelOf(operand.shape);
  if (own === 0 || own === 1 || own === numelOf(broadcastOperands(operands, op))) return;
  const cost = lowering.costOf(operand.expr);
  if (cost.expensive || cost.loads > 4) operand.realize();
}
