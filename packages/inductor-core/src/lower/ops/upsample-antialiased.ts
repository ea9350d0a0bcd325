/**
 * @file Resizing with a triangle as wide as an output element, or a cubic filter: along one dimension after the other,
 * each element of the result sums what lies under its filter, and in gradients the filters that it lies under.
 */
import { upsampleTaps } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { readyOperand } from '../ready-operand.js';
import { accumulateDtype } from '../reduce.js';
import type { LoweredArg } from '../registry.js';
import { type Shape, isNumbers } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { within } from '../within.js';
import { reduceOver } from './distance.js';
import { castTensor } from './elementwise.js';
import { positionDtype, reach } from './resample.js';
import { type SizedResize, factorOf, ratioOf } from './resize-ratio.js';
import { type Readers, boundedBy, outputsPerInput, readers } from './resize-readers.js';

/** What input element `i` weighs in output element `o`, before weights are made to add up to 1. */
type Filter = (o: IndexExpr, i: IndexExpr) => Expr;

interface FilteredResize extends SizedResize {
  readonly isCubic: boolean;
}

/** See `cubicFilter` of the reference kernel. */
function cubicFilter(m: ExprMath, x: Expr): Expr {
  const cube = (a: number, b: number, c: number, d: number): Expr =>
    m.add(m.mul(m.add(m.mul(m.add(m.mul(x, a), b), x), c), x), d);
  return m.where(m.lt(x, 1), cube(1.5, -2.5, 0, 1), m.where(m.lt(x, 2), cube(-0.5, 2.5, -4, 2), 0));
}

function filterOf(l: Lowering, resize: FilteredResize, x: LoweredTensor): Filter {
  const m = new ExprMath(l.ir);
  const dtype = positionDtype(x.dtype);
  const ratio = ratioOf(l, resize, dtype);
  const support = typeof ratio === 'number' ? Math.max(ratio, 1) : m.max(ratio, 1);
  return (o, i) => {
    const centre = m.mul(m.add(l.ir.index(dtype, o), 0.5), ratio);
    const offset = m.add(m.sub(l.ir.index(dtype, i), centre), 0.5);
    const distance = m.div(m.abs(offset), support);
    return resize.isCubic ? cubicFilter(m, distance) : m.max(m.sub(1, distance), 0);
  };
}

/** The elements that element `t` has to do with: those under its filter, or backward those whose filters it is under. */
function reachOf(
  l: Lowering,
  resize: FilteredResize,
  x: LoweredTensor,
  backward: boolean,
): Readers {
  const sizes = [resize.input, resize.output];
  const [from, to] = backward ? [resize.output, resize.input] : [resize.input, resize.output];
  if (isNumbers(sizes)) {
    const [input, output] = sizes;
    const kind = resize.isCubic ? 'cubic-antialiased' : 'linear-antialiased';
    const table = upsampleTaps(kind, { ...resize, input, output }, x.dtype);
    const { before, count } = reach({ input, output, table }, backward);
    return readers(l, [from, to], before, count);
  }
  const [outputs, inputs] = outputsPerInput(resize);
  const quotient = backward ? ([outputs, inputs] as const) : ([inputs, outputs] as const);
  // `|t · S + S / 2 - 1 / 2 - f|` is less than S, or than 1 where S is less; a cubic filter is twice as wide.
  const width = resize.isCubic ? 2 : 1;
  return boundedBy(l, quotient, from, [2 * width, 1], [2 * width + 1, -1]);
}

/** Resizes dimension `at`; backward, `x` is the gradient of the result. */
function resized(
  l: Lowering,
  given: LoweredTensor,
  at: number,
  resize: FilteredResize,
  backward: boolean,
): LoweredTensor {
  const x = readyOperand(l, given);
  const m = new ExprMath(l.ir);
  const { input, output } = resize;
  const [from, to] = backward ? [output, input] : [input, output];
  const filter = filterOf(l, resize, x);
  const { first, count } = reachOf(l, resize, x, backward);
  const [each] = l.vars([output]);
  const totals = l.pointwise(
    [output],
    reduceOver(l, 'sum', [output], input, (i) => filter(each!, i)),
  );
  totals.realize();
  const sizes = x.shape.map((size, d) => (d === at ? to : size));
  const vars = l.vars(sizes);
  const t = vars[at]!;
  const sum = reduceOver(l, 'sum', sizes, count, (step) => {
    const f = l.ir.add(first(t), step);
    const [o, i] = backward ? [f, t] : [t, f];
    const share = filter(o, i);
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
  [input, output]: readonly Shape[],
  [corners, ...scales]: readonly LoweredArg[],
  { isCubic = false, backward = false },
): LoweredTensor {
  const whole = castTensor(l, x, accumulateDtype(x.dtype));
  const done = [3, 2].reduce((image, at) => {
    return resized(
      l,
      image,
      at,
      {
        input: input![at - 2]!,
        output: output![at - 2]!,
        alignCorners: corners === true,
        scale: factorOf(scales[at - 2]),
        isCubic,
      },
      backward,
    );
  }, whole);
  return castTensor(l, done, x.dtype);
}

/** self, output_size, align_corners, scales. */
const forward =
  (
    isCubic: boolean,
  ): LoweringOf<'aten::_upsample_bilinear2d_aa' | 'aten::_upsample_bicubic2d_aa'> =>
  (l, [x, , ...rest], call) =>
    // Bytes are resized in fixed point, which the reference kernel does.
    x.dtype === 'uint8'
      ? null
      : resizedImage(l, x, [x.shape.slice(2), call.shape.slice(2)], rest, { isCubic });

/** grad_output, output_size, input_size, align_corners, scales. */
const backward =
  (
    isCubic: boolean,
  ): LoweringOf<
    'aten::_upsample_bilinear2d_aa_backward' | 'aten::_upsample_bicubic2d_aa_backward'
  > =>
  (l, [g, , , ...rest], call) =>
    resizedImage(l, g, [call.shape.slice(2), g.shape.slice(2)], rest, { isCubic, backward: true });

/** Lowerings by overload name. */
export const antialiasedLowerings: LoweringTable = lowerings({
  'aten::_upsample_bilinear2d_aa': forward(false),
  'aten::_upsample_bilinear2d_aa_backward': backward(false),
  'aten::_upsample_bicubic2d_aa': forward(true),
  'aten::_upsample_bicubic2d_aa_backward': backward(true),
});

/** See `takesSizes`. */
export const SIZED_AVERAGES: readonly string[] = Object.keys(antialiasedLowerings);
