/**
 * @file Lowerings of operators that make a tensor from numbers: they are constants and loop indices
 * inside whatever kernel reads them, and cost memory only as outputs.
 */
import { type Size, SymInt } from '@tessera/shared';
import { isFloatingPoint } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import { operandArg, operandExpr } from './elementwise.js';
import type { Lowering } from '../lowering.js';
import type { LoweredArg, LoweringCall, LoweringFn } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** A shape filled with the argument at position `at`. */
function filledWith(at: number): LoweringFn {
  return (l, args, call) =>
    l.pointwise(call.shape, operandExpr(l, operandArg(args[at]!, call.op), call.shape, call.dtype));
}

function constant(value: number): LoweringFn {
  return (l, _args, call) => l.pointwise(call.shape, l.ir.const(call.dtype, value));
}

/** start + step · index, computed in integers where the result is one. */
function arange(start: LoweredArg, step: LoweredArg): LoweringOf<'aten::arange'> {
  return (l, _args, call) => rangeValue(l, call, start, step);
}

function rangeValue(
  l: Lowering,
  call: LoweringCall,
  start: LoweredArg,
  step: LoweredArg,
): ReturnType<Lowering['pointwise']> {
  const { ir } = l;
  const [position] = l.vars(call.shape);
  const isWhole = (arg: LoweredArg): arg is Size =>
    arg instanceof SymInt || (typeof arg === 'number' && Number.isSafeInteger(arg));
  if (isWhole(start) && isWhole(step))
    return l.pointwise(
      call.shape,
      ir.cast(ir.index('int64', ir.add(ir.scale(position, step), ir.size(start))), call.dtype),
    );
  const dtype = isFloatingPoint(call.dtype) ? call.dtype : 'float32';
  const operand = (arg: LoweredArg): Expr =>
    operandExpr(l, operandArg(arg, call.op), call.shape, dtype);
  const scaled = ir.op('mul', [operand(step), ir.cast(ir.index('int32', position), dtype)]);
  return l.pointwise(call.shape, ir.cast(ir.op('add', [operand(start), scaled]), call.dtype));
}

const eye: LoweringOf<'aten::eye' | 'aten::eye.m'> = (l, _args, call) => {
  const [row, column] = l.vars(call.shape).map((v) => l.ir.index('int32', v));
  return l.pointwise(call.shape, l.ir.cast(l.ir.op('eq', [row, column]), call.dtype));
};

/** Keeps the elements on one side of a diagonal. */
function triangle(upper: boolean): LoweringOf<'aten::tril' | 'aten::triu'> {
  return (l, [self, diagonal], call) => {
    const vars = l.vars(call.shape);
    const [row, column] = vars.slice(-2).map((v) => l.ir.index('int32', v));
    const edge = l.ir.op('add', [row, l.ir.const('int32', Number(diagonal ?? 0))]);
    const keep = l.ir.op(upper ? 'ge' : 'le', [column, edge]);
    const value = operandExpr(l, self, call.shape, call.dtype);
    return l.pointwise(call.shape, l.ir.op('where', [keep, value, l.ir.const(call.dtype, 0)]));
  };
}

/** Operators whose lowerings take symbolic sizes among their arguments. */
export const SIZED_FACTORIES: readonly string[] = [
  ...['full', 'zeros', 'ones', 'new_full', 'new_zeros', 'new_ones', 'new_empty', 'eye', 'eye.m'],
  ...['empty.memory_format', 'empty_strided', 'new_empty_strided', 'scalar_tensor', 'fill.Scalar'],
  ...['arange', 'arange.start', 'arange.start_step', 'full_like', '_efficientzerotensor'],
].map((name) => `aten::${name}`);

/** Lowerings by overload name. */
export const factoryLowerings: LoweringTable = lowerings({
  'aten::full': filledWith(1),
  'aten::full_like': filledWith(1),
  'aten::fill.Scalar': filledWith(1),
  'aten::fill.Tensor': filledWith(1),
  'aten::new_full': filledWith(2),
  'aten::scalar_tensor': filledWith(0),
  'aten::zero': constant(0),
  'aten::zeros': constant(0),
  'aten::_efficientzerotensor': constant(0),
  'aten::zeros_like': constant(0),
  'aten::new_zeros': constant(0),
  'aten::ones': constant(1),
  'aten::ones_like': constant(1),
  'aten::new_ones': constant(1),
  // Unspecified contents: zero is as good as any and needs no memory.
  'aten::empty.memory_format': constant(0),
  'aten::empty_like': constant(0),
  'aten::new_empty': constant(0),
  'aten::new_empty_strided': constant(0),
  'aten::arange': arange(0, 1),
  'aten::arange.start': (l, args, call) => rangeValue(l, call, args[0], 1),
  'aten::arange.start_step': (l, args, call) => rangeValue(l, call, args[0], args[2]),
  'aten::eye': eye,
  'aten::eye.m': eye,
  'aten::tril': triangle(false),
  'aten::triu': triangle(true),
});
