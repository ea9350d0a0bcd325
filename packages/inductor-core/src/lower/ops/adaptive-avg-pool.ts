/**
 * @file Adaptive pools: where their windows are, and averages of them.
 */
import { type Size, sizeAdd, sizeCeilDiv, sizeSub } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reducePlan } from '../reduce.js';
import { type Shape, isLarger, isNumbers } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { type Window, averaged } from './pool.js';
import { meanOf } from './reduction.js';

/** Start of window `out` of an adaptive pool, as an index. */
export function adaptiveStart(l: Lowering, out: IndexExpr, input: Size, output: Size): IndexExpr {
  return l.ir.div(l.ir.scale(out, input), output);
}

/** End (exclusive) of window `out` of an adaptive pool. */
export function adaptiveEnd(l: Lowering, out: IndexExpr, input: Size, output: Size): IndexExpr {
  const more = l.ir.size(sizeSub(sizeAdd(input, output), 1));
  return l.ir.div(l.ir.add(l.ir.scale(out, input), more), output);
}

/**
 * Windows of an adaptive pool that may cover an element: element i is first covered by window floor(i · out / in),
 * and a window covers at least in / out elements.
 */
export function mostCovering(input: Size, output: Size): Size {
  return isLarger(output, input) ? sizeAdd(sizeCeilDiv(output, input), 1) : 2;
}

/** The windows of an adaptive pool where they are known to be equal and to lie side by side. */
export function equalWindows(input: Shape, output: Shape): readonly number[] | null {
  if (!isNumbers(input) || !isNumbers(output)) return null;
  const kernel = input.map((size, s) => size / output[s]!);
  return kernel.every(Number.isInteger) ? kernel : null;
}

function adaptiveAvgPool(
  spatial: number,
): LoweringOf<
  'aten::_adaptive_avg_pool2d' | 'aten::_adaptive_avg_pool3d' | 'aten::adaptive_avg_pool1d'
> {
  return (l, [x], call) => {
    const lead = x.shape.length - spatial;
    if (call.shape.slice(lead).every((size) => size === 1)) {
      const dims = Array.from({ length: spatial }, (_, s) => lead + s);
      return meanOf(l, x, dims, true, call.dtype);
    }
    const input = x.shape.slice(lead);
    const output = call.shape.slice(lead);
    // No element of an input is divided into no windows.
    if (output.includes(0)) return l.pointwise(call.shape, l.ir.const(call.dtype, 0));
    const kernel = equalWindows(input, output);
    if (kernel === null) return adaptiveWindows(l, x, lead, input, output, call.shape);
    const plain: Window = {
      kernel,
      stride: kernel,
      padding: kernel.map(() => 0),
      dilation: kernel.map(() => 1),
    };
    return averaged(l, x, plain, call.shape, { countPadding: true, override: null });
  };
}

/** Windows of unequal sizes: sums over the largest, masked by each one's end. */
function adaptiveWindows(
  l: Lowering,
  x: LoweredTensor,
  lead: number,
  input: Shape,
  output: Shape,
  sizes: Shape,
): LoweredTensor {
  const acc = accumulateDtype(x.dtype);
  const m = new ExprMath(l.ir);
  const vars = l.vars(sizes);
  if (!x.isRealized) x.realize();
  const largest = input.map((size, s) => sizeAdd(sizeCeilDiv(size, output[s]!), 1));
  const taps = largest.map((size, s) => l.freshVar(`w${s}`, size));
  const inner = taps.flatMap((tap) => tap.vars);
  let inside: Expr = l.ir.const('bool', 1);
  let count: Expr = l.ir.const('int32', 1);
  const coords = vars.map((v, d) => {
    if (d < lead) return v;
    const s = d - lead;
    const position = l.ir.add(adaptiveStart(l, v, input[s]!, output[s]!), taps[s]!.index);
    const end = l.ir.index('int32', adaptiveEnd(l, v, input[s]!, output[s]!));
    inside = m.and(inside, m.lt(l.ir.index('int32', position), end));
    count = m.mul(
      count,
      m.sub(end, l.ir.index('int32', adaptiveStart(l, v, input[s]!, output[s]!))),
    );
    return position;
  });
  const value = l.ir.masked(inside, l.ir.cast(x.load(coords), acc), 0);
  const [total] = reducePlan(l, {
    op: 'sum',
    dtype: acc,
    sizes,
    inner,
    order: [...l.loopVars(sizes), ...inner],
    value,
  });
  return l.pointwise(sizes, m.cast(m.div(total!.expr, m.cast(count, acc)), x.dtype));
}

/** Lowerings by overload name. */
export const adaptiveAvgPoolLowerings: LoweringTable = lowerings({
  'aten::_adaptive_avg_pool2d': adaptiveAvgPool(2),
  'aten::_adaptive_avg_pool3d': adaptiveAvgPool(3),
  'aten::adaptive_avg_pool1d': adaptiveAvgPool(1),
});

/** See `takesSizes`: how many windows adaptive pools make. */
export const SIZED_POOLS: readonly string[] = [
  'aten::_adaptive_avg_pool2d',
  'aten::_adaptive_avg_pool3d',
  'aten::adaptive_avg_pool1d',
  'aten::adaptive_max_pool2d',
  'aten::adaptive_max_pool3d',
];
