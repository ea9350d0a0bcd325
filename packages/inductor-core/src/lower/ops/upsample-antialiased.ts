/**
 * @file Resizing with a triangle as wide as an output element: along one dimension after the other, each element of the
 * result sums what lies under its triangle, and in gradients the triangles that it lies under.
 */
import { type Resize, resizeRatio, upsampleTaps } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { readyOperand } from '../ready-operand.js';
import { accumulateDtype } from '../reduce.js';
import type { LoweredArg } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { within } from '../within.js';
import { reduceOver } from './distance.js';
import { castTensor, intList } from './elementwise.js';
import { positionDtype, reach } from './resample.js';

/** What input element `i` weighs in output element `o`, before weights are made to add up to 1. */
type Triangle = (o: IndexExpr, i: IndexExpr) => Expr;

function triangleOf(l: Lowering, resize: Resize, x: LoweredTensor): Triangle {
  const m = new ExprMath(l.ir);
  const dtype = positionDtype(x.dtype);
  const ratio = resizeRatio(resize, dtype === 'float64' ? (value) => value : Math.fround);
  return (o, i) => {
    const centre = m.mul(m.add(l.ir.index(dtype, o), 0.5), ratio);
    const distance = m.add(m.sub(l.ir.index(dtype, i), centre), 0.5);
    return m.max(m.sub(1, m.div(m.abs(distance), Math.max(ratio, 1))), 0);
  };
}

/** Resizes dimension `at`; backward, `x` is the gradient of the result. */
function resized(
  l: Lowering,
  given: LoweredTensor,
  at: number,
  resize: Resize,
  backward: boolean,
): LoweredTensor {
  const x = readyOperand(l, given);
  const m = new ExprMath(l.ir);
  const { input, output } = resize;
  const [from, to] = backward ? [output, input] : [input, output];
  const triangle = triangleOf(l, resize, x);
  const table = upsampleTaps('linear-antialiased', resize, x.dtype);
  const { before, count } = reach({ input, output, table }, backward);
  const [each] = l.vars([output]);
  const totals = l.pointwise(
    [output],
    reduceOver(l, 'sum', [output], input, (i) => triangle(each!, i)),
  );
  totals.realize();
  const sizes = x.sizes.map((size, d) => (d === at ? to : size));
  const vars = l.vars(sizes);
  const t = vars[at]!;
  const sum = reduceOver(l, 'sum', sizes, count, (step) => {
    const f = l.ir.add(l.ir.div(l.ir.scale(t, from), to), l.ir.int(-before), step);
    const [o, i] = backward ? [f, t] : [t, f];
    const share = triangle(o, i);
    const weight = m.cast(m.div(share, totals.load([o])), x.dtype);
    const value = x.load(vars.map((v, d) => (d === at ? f : v)));
    // Not a product where the weight is 0: what is infinite elsewhere must not become NaN here.
    const term = m.where(m.eq(share, 0), 0, m.mul(value, weight));
    return l.ir.masked(within(l, f, 0, from), term, 0);
  });
  return l.pointwise(sizes, sum);
}

function resizedImage(
  l: Lowering,
  x: LoweredTensor,
  [input, output]: readonly (readonly number[])[],
  [corners, ...scales]: readonly LoweredArg[],
  backward: boolean,
): LoweredTensor {
  const whole = castTensor(l, x, accumulateDtype(x.dtype));
  const done = [3, 2].reduce((image, at) => {
    const scale = scales[at - 2];
    return resized(
      l,
      image,
      at,
      {
        input: input![at - 2]!,
        output: output![at - 2]!,
        alignCorners: corners === true,
        scale: typeof scale === 'number' ? scale : null,
      },
      backward,
    );
  }, whole);
  return castTensor(l, done, x.dtype);
}

/** self, output_size, align_corners, scales. */
const forward: LoweringOf<'aten::_upsample_bilinear2d_aa'> = (l, [x, output, ...rest]) =>
  // Bytes are resized in fixed point, which the reference kernel does.
  x.dtype === 'uint8' ? null : resizedImage(l, x, [x.sizes.slice(2), intList(output)], rest, false);

/** grad_output, output_size, input_size, align_corners, scales. */
const backward: LoweringOf<'aten::_upsample_bilinear2d_aa_backward'> = (
  l,
  [g, output, input, ...rest],
) => resizedImage(l, g, [intList(input).slice(2), intList(output)], rest, true);

/** Lowerings by overload name. */
export const antialiasedLowerings: LoweringTable = lowerings({
  'aten::_upsample_bilinear2d_aa': forward,
  'aten::_upsample_bilinear2d_aa_backward': backward,
});
