/**
 * @file Evenly spaced numbers and powers of a base, counted from both ends as PyTorch computes them.
 */
import { overloads } from './pointwise.js';
import { sizeFloorDiv, sizeSub } from '@tessera/shared';
import { isFloatingPoint } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import { operandExpr } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { Lowering } from '../lowering.js';
import type { LoweringCall } from '../registry.js';
import { isLarger } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings, type Operand } from '../typed-lowering.js';

/** Values from start to end; `rounds`: each step is rounded to a result of 16 bits. */
function spaced(
  l: Lowering,
  start: Operand,
  end: Operand,
  call: LoweringCall,
  rounds: boolean,
): Expr {
  const m = new ExprMath(l.ir);
  const steps = call.shape[0]!;
  const gaps = sizeSub(steps, 1);
  const wide = l.capabilities.dtypes.has('float64') ? 'float64' : 'float32';
  const isFloat = isFloatingPoint(call.dtype);
  const isHalf = call.dtype === 'float16' || call.dtype === 'bfloat16';
  const dtype = isHalf ? 'float32' : isFloat ? call.dtype : wide;
  const held = (value: Expr): Expr => (isHalf ? m.cast(m.cast(value, call.dtype), dtype) : value);
  const round = rounds ? held : (value: Expr): Expr => value;
  const bound = (arg: Operand): Expr => {
    const value = operandExpr(l, arg, call.shape, dtype);
    return isFloat ? held(value) : m.trunc(value);
  };
  const from = bound(start);
  if (!isLarger(steps, 1)) return from;
  const to = bound(end);
  const [position] = l.vars(call.shape);
  const at = l.ir.index('int32', position!);
  const step = round(m.div(round(m.sub(to, from)), gaps));
  const low = m.add(from, round(m.mul(step, m.cast(at, dtype))));
  const left = l.ir.index('int32', l.ir.sub(l.ir.size(gaps), position!));
  const high = m.sub(to, round(m.mul(step, m.cast(left, dtype))));
  return m.where(m.lt(at, sizeFloorDiv(steps, 2)), low, high);
}

/** Whole numbers where there is no float64 that could hold them: an exact division, null if it might overflow. */
function wholeSpaced(l: Lowering, start: Operand, end: Operand, call: LoweringCall): Expr | null {
  if (typeof start !== 'number' || typeof end !== 'number') return null;
  const gaps = call.sizes[0]! - 1;
  const [from, to] = [Math.trunc(start), Math.trunc(end)];
  if (gaps < 1 || gaps * (Math.abs(from) + 2 * Math.abs(to)) >= 2 ** 31) return null;
  const m = new ExprMath(l.ir);
  const at = l.ir.index('int32', l.vars(call.sizes)[0]!);
  const scaled = m.add(m.mul(at, to - from), from * gaps);
  return l.ir.op('truncdiv', [scaled, l.ir.const('int32', gaps)]);
}

/** start, end, steps. */
const linspace: LoweringOf<
  | 'aten::linspace'
  | 'aten::linspace.Tensor_Tensor'
  | 'aten::linspace.Tensor_Scalar'
  | 'aten::linspace.Scalar_Tensor'
> = (l, [start, end], call) => {
  const isNarrow = !isFloatingPoint(call.dtype) && !l.capabilities.dtypes.has('float64');
  const whole = isNarrow ? wholeSpaced(l, start, end, call) : null;
  return l.pointwise(call.shape, l.ir.cast(whole ?? spaced(l, start, end, call, true), call.dtype));
};

/** start, end, steps, base. */
const logspace: LoweringOf<
  | 'aten::logspace'
  | 'aten::logspace.Tensor_Tensor'
  | 'aten::logspace.Tensor_Scalar'
  | 'aten::logspace.Scalar_Tensor'
> = (l, [start, end, , base], call) => {
  // Powers just below a whole number would lose one when they become integers.
  if (!isFloatingPoint(call.dtype) && !l.capabilities.dtypes.has('float64')) return null;
  const m = new ExprMath(l.ir);
  const exponents = spaced(l, start, end, call, false);
  const powers = m.pow(operandExpr(l, base ?? 10, [], exponents.dtype), exponents);
  return l.pointwise(call.shape, m.cast(powers, call.dtype));
};

const FORMS = ['', '.Tensor_Tensor', '.Tensor_Scalar', '.Scalar_Tensor'] as const;

/** Lowerings by overload name. */
export const spaceLowerings: LoweringTable = lowerings({
  ...overloads('linspace', linspace, FORMS),
  ...overloads('logspace', logspace, FORMS),
});

/** See `takesSizes`. */
export const SIZED_SPACES: readonly string[] = Object.keys(spaceLowerings);
