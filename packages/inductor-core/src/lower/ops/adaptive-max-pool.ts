/**
 * @file Adaptive max pooling and its gradient: windows of unequal sizes, masked by each one's end.
 */
import { within } from '../within.js';
import { isFloatingPoint } from '@tessera/tensor';
import { sizeAdd, sizeCeilDiv } from '@tessera/shared';
import { numelOf } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { adaptiveEnd, adaptiveStart, equalWindows, mostCovering } from './adaptive-avg-pool.js';
import { digits } from './contract.js';
import { ExprMath } from '../expr-math.js';
import { ready, sumOver } from './pool-backward.js';
import { UNROLLED_WINDOW, flatPosition, maxPool } from './pool.js';
import { accumulateDtype, reducePlan } from '../reduce.js';
import { isNumbers, numelOf as shapeNumel } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

function adaptiveMaxPool(
  spatial: number,
): LoweringOf<'aten::adaptive_max_pool2d' | 'aten::adaptive_max_pool3d'> {
  return (l, [x], call) => {
    const lead = x.shape.length - spatial;
    const input = x.shape.slice(lead);
    const output = call.shape.slice(lead);
    if (output.includes(0))
      return [x.dtype, 'int64' as const].map((dtype) =>
        l.pointwise(call.shape, l.ir.const(dtype, 0)),
      );
    const kernel = equalWindows(input, output);
    if (kernel !== null) {
      const zeros = kernel.map(() => 0);
      const ones = kernel.map(() => 1);
      return maxPool(spatial)(l, [x, kernel, kernel, zeros, ones, false], call);
    }
    const m = new ExprMath(l.ir);
    const vars = l.vars(call.shape);
    ready(l, x);
    const lowest = isFloatingPoint(x.dtype) ? -Infinity : -(2 ** 31);
    const largest = input.map((size, s) => sizeAdd(sizeCeilDiv(size, output[s]!), 1));
    const tapAt = (tap: readonly IndexExpr[]): { value: Expr; place: IndexExpr; inside: Expr } => {
      let inside: Expr = l.ir.const('bool', 1);
      const coords = vars.map((v, d) => {
        if (d < lead) return v;
        const s = d - lead;
        const at = l.ir.add(adaptiveStart(l, v, input[s]!, output[s]!), tap[s]!);
        const end = l.ir.index('int32', adaptiveEnd(l, v, input[s]!, output[s]!));
        inside = m.and(inside, m.lt(l.ir.index('int32', at), end));
        return input[s] === 1 ? l.ir.int(0) : at;
      });
      return {
        value: l.ir.masked(inside, x.load(coords), lowest),
        place: flatPosition(l, coords.slice(lead), input),
        inside,
      };
    };
    if (!isNumbers(largest) || numelOf(largest) > UNROLLED_WINDOW) {
      const taps = largest.map((size, s) => l.freshVar(`w${s}`, size));
      const inner = taps.flatMap((tap) => tap.vars);
      const order = [...l.loopVars(call.shape), ...inner];
      const { value } = tapAt(taps.map((tap) => tap.index));
      const plan = { dtype: x.dtype, sizes: call.shape, inner, order, value };
      const [best] = reducePlan(l, { ...plan, op: 'max' });
      const [winner] = reducePlan(l, { ...plan, op: 'argmax' });
      const tap = l.ir.value(winner!.expr);
      const chosen = largest.map((size, s) =>
        l.ir.mod(l.ir.div(tap, shapeNumel(largest.slice(s + 1))), size),
      );
      return [best!, l.pointwise(call.shape, l.ir.index('int64', tapAt(chosen).place))];
    }
    let best: Expr | null = null;
    let place: Expr | null = null;
    for (let i = 0; i < numelOf(largest); i++) {
      const tap = tapAt(digits(l, i, largest));
      const index = l.ir.index('int64', tap.place);
      if (best === null || place === null) {
        // The first element of a window always exists.
        [best, place] = [tap.value, index];
        continue;
      }
      const wins = m.and(tap.inside, m.or(m.gt(tap.value, best), m.isnan(tap.value)));
      place = m.where(wins, index, place);
      best = m.max(best, tap.value);
    }
    return [l.pointwise(call.shape, best!), l.pointwise(call.shape, place!)];
  };
}

/** Arguments: grad_output, self, indices. Every element sums the windows whose maximum it is. */
function adaptiveMaxPoolBackward(
  spatial: number,
): LoweringOf<'aten::adaptive_max_pool2d_backward' | 'aten::adaptive_max_pool3d_backward'> {
  return (l, [grad, x, indices], call) => {
    const g = ready(l, grad);
    const places = ready(l, indices);
    const lead = x.shape.length - spatial;
    const input = x.shape.slice(lead);
    const output = g.shape.slice(lead);
    if (output.includes(0)) return l.pointwise(x.shape, l.ir.const(call.dtype, 0));
    const vars = l.vars(x.shape);
    const m = new ExprMath(l.ir);
    const acc = accumulateDtype(g.dtype);
    const own = l.ir.index('int64', flatPosition(l, vars.slice(lead), input));
    const counts = input.map((size, s) => mostCovering(size, output[s]!));
    const total = sumOver(l, x.shape, counts, (step) => {
      let exists: Expr = l.ir.const('bool', 1);
      const out = vars.map((v, d) => {
        if (d < lead) return v;
        const s = d - lead;
        const o = l.ir.add(l.ir.div(l.ir.scale(v, output[s]!), input[s]!), step[s]!);
        exists = m.and(exists, within(l, o, 0, output[s]!));
        return output[s] === 1 ? l.ir.int(0) : o;
      });
      const value = m.where(m.eq(places.load(out), own), l.ir.cast(g.load(out), acc), 0);
      return l.ir.masked(exists, value, 0);
    });
    return l.pointwise(x.shape, l.ir.cast(total, call.dtype));
  };
}

/** Lowerings by overload name. */
export const adaptiveMaxPoolLowerings: LoweringTable = lowerings({
  'aten::adaptive_max_pool2d': adaptiveMaxPool(2),
  'aten::adaptive_max_pool3d': adaptiveMaxPool(3),
  'aten::adaptive_max_pool2d_backward': adaptiveMaxPoolBackward(2),
  'aten::adaptive_max_pool3d_backward': adaptiveMaxPoolBackward(3),
});
