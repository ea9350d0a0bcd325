/**
 * @file Cauchy and geometric numbers, for devices without reference kernels: functions of one uniform number.
 */
import { ExprMath } from '../expr-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { operandArg, operandExpr } from './elementwise.js';
import { draw } from './random.js';

/**
 * self, median, sigma: the tangent of an angle between -π/2 and π/2. Near those, where it is infinite, it is one over the
 * tangent of what is left, which uniform numbers say exactly. Reference kernels compute it in float64.
 */
const cauchy: LoweringOf<'aten::cauchy'> = (l, [, median, sigma], call) => {
  if (l.hasFallback) return null;
  const m = new ExprMath(l.ir);
  const [center, width] = [median, sigma].map((arg) =>
    operandExpr(l, operandArg(arg!, call.op), call.shape, 'float32'),
  );
  const turn = m.sub(draw(l, 'uniform', call.shape), 0.5 - 2 ** -25);
  const size = m.abs(turn);
  const isNear = m.le(size, 0.25);
  const tangent = m.tan(m.mul(m.where(isNear, size, m.sub(0.5, size)), Math.PI));
  const slope = m.copysign(m.where(isNear, tangent, m.reciprocal(tangent)), turn);
  return l.pointwise(call.shape, m.cast(m.add(center, m.mul(slope, width)), call.dtype));
};

/** self, p: trials up to the first success. */
const geometric: LoweringOf<'aten::geometric'> = (l, [, p], call) => {
  if (l.hasFallback) return null;
  const m = new ExprMath(l.ir);
  const chance = operandExpr(l, operandArg(p, call.op), call.shape, 'float32');
  const failed = m.log1p(m.neg(draw(l, 'uniform', call.shape)));
  const trials = l.ir.op('ceil', [m.div(failed, m.log1p(m.neg(chance)))]);
  return l.pointwise(call.shape, m.cast(m.max(trials, 1), call.dtype));
};

/** Lowerings by overload name. */
export const rareDrawLowerings: LoweringTable = lowerings({
  'aten::cauchy': cauchy,
  'aten::geometric': geometric,
});
