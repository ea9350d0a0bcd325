/**
 * @file Grid sampling: sums of a few elements per point; the gradient of the image is a product with the
 * weights that each point gives each element, so that nothing is written twice.
 */
import { affordable } from '../affordable.js';
import { readyOperand } from '../ready-operand.js';
import { type DType, isFloatingPoint } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { contract } from './contract.js';
import { reduceOver } from './distance.js';
import { ExprMath } from '../expr-math.js';
import { BICUBIC, type GridTap, type Sampling, gridTaps, roundedTo } from './grid-taps.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { combinesFaster, sumAtPlaces } from '../put-combined.js';
import { accumulateDtype } from '../reduce.js';
import { type Shape, isEmpty, numelOf } from '../shape-math.js';
import type { LoweredArg } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

function samplingOf(x: LoweredTensor, [mode, padding, corners]: readonly LoweredArg[]): Sampling {
  return {
    interpolation: Number(mode),
    padding: Number(padding),
    alignCorners: corners === true,
    rank: x.shape.length - 2,
    dtype: x.dtype,
  };
}

/** Taps along every axis for the point at `place` (batch, then points). */
function tapsOf(
  l: Lowering,
  grid: LoweredTensor,
  spatial: Shape,
  call: Sampling,
  place: readonly IndexExpr[],
): GridTap[][] {
  const acc = accumulateDtype(call.dtype);
  // Coordinate 0 belongs to the last axis.
  return spatial.map((size, d) => {
    const coordinate = l.ir.int(call.rank - 1 - d);
    return gridTaps(l, l.ir.cast(grid.load([...place, coordinate]), acc), size, call);
  });
}

/** All combinations of one tap per axis. */
function combinations(axes: readonly (readonly GridTap[])[]): readonly GridTap[][] {
  return axes.reduce<GridTap[][]>(
    (all, axis) => all.flatMap((taps) => axis.map((tap) => [...taps, tap])),
    [[]],
  );
}

/** Σ over all combinations of one tap per axis of the element read times what `factor` makes of the taps. */
function sumOfTaps(
  l: Lowering,
  x: LoweredTensor,
  lead: readonly IndexExpr[],
  axes: readonly (readonly GridTap[])[],
  sampling: Sampling,
  factor: (taps: readonly GridTap[]) => Expr,
): Expr {
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(x.dtype);
  return combinations(axes)
    .map((taps) => {
      const exists = taps.map((tap) => tap.exists).reduce((a, b) => m.and(a, b));
      const places = taps.map(({ at }, d) => (x.shape[d + 2] === 1 ? l.ir.int(0) : at));
      const value = l.ir.masked(exists, m.cast(x.load([...lead, ...places]), acc), 0);
      const part = m.mul(value, factor(taps));
      // Outside a volume is nothing; outside an image is 0, and NaN by a weight that is no number.
      return sampling.rank === 3 ? m.where(exists, part, 0) : part;
    })
    .reduce((a, b) => m.add(a, b));
}

function product(m: ExprMath, factors: readonly Expr[], dtype: DType): Expr {
  return factors.reduce((a, b) => roundedTo(m, m.mul(a, b), dtype));
}

/** input, grid, interpolation_mode, padding_mode, align_corners. */
const forward: LoweringOf<'aten::grid_sampler_2d' | 'aten::grid_sampler_3d'> = (
  l,
  [input, grid, ...options],
  call,
) => {
  if (isEmpty(call.shape)) return l.pointwise(call.shape, l.ir.const(call.dtype, 0));
  const x = readyOperand(l, input);
  const g = readyOperand(l, grid);
  const sampling = samplingOf(x, options);
  const m = new ExprMath(l.ir);
  const [n, c, ...points] = l.vars(call.shape);
  const axes = tapsOf(l, g, x.shape.slice(2), sampling, [n, ...points]);
  const value = sumOfTaps(l, x, [n, c], axes, sampling, (taps) =>
    product(
      m,
      taps.map((tap) => tap.weight),
      x.dtype,
    ),
  );
  return l.pointwise(call.shape, m.cast(value, call.dtype));
};

/** Share of each point in each element of the image, times the gradients of the points. */
function imageGradient(
  l: Lowering,
  gradient: LoweredTensor,
  grid: LoweredTensor,
  sizes: Shape,
  sampling: Sampling,
): LoweredTensor {
  const m = new ExprMath(l.ir);
  const [batch, channels, ...spatial] = sizes;
  const acc = accumulateDtype(sampling.dtype);
  const share = (place: readonly IndexExpr[], element: readonly IndexExpr[]): Expr => {
    const axes = tapsOf(l, grid, spatial, sampling, place).map((taps, d) => {
      const reads = taps.map(({ at, exists }) =>
        m.and(exists, m.eq(indexValue(l, at), indexValue(l, element[d]!))),
      );
      const weights = taps.map(({ weight }, i) => m.where(reads[i]!, weight, 0));
      return { reads, weight: weights.reduce((a, b) => m.add(a, b)) };
    });
    const weight = axes.map((axis) => axis.weight).reduce((a, b) => m.mul(a, b));
    if (sampling.interpolation !== BICUBIC) return weight;
    // A weight of one axis that is no number is none of elements that the other does not read.
    const isRead = axes.map(({ reads }) => reads.reduce((a, b) => m.or(a, b)));
    return m.where(
      isRead.reduce((a, b) => m.and(a, b)),
      weight,
      0,
    );
  };
  return contract(l, {
    shape: { batch: [batch], m: [channels], n: spatial, k: grid.shape.slice(1, -1) },
    a: ([n], [c], points) => m.cast(gradient.load([n!, c!, ...points]), acc),
    b: ([n], points, element) => share([n!, ...points], element),
    sizes,
    dtype: sampling.dtype,
    layout: null,
    coords: ({ batch: [n], m: [c], n: element }) => [n!, c!, ...element],
    decode: ([n, c, ...element]) => ({ batch: [n!], m: [c!], n: element }),
  });
}

/** The same as sums of what points give their taps. */
function imageGradientAtPlaces(
  l: Lowering,
  gradient: LoweredTensor,
  grid: LoweredTensor,
  sizes: Shape,
  sampling: Sampling,
): LoweredTensor | null {
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(sampling.dtype);
  const { shape } = gradient;
  const [n, c, ...points] = l.vars(shape);
  const given = m.cast(gradient.expr, acc);
  const axes = tapsOf(l, grid, sizes.slice(2), sampling, [n!, ...points]);
  const terms = combinations(axes).map((taps) => {
    const exists = taps.map((tap) => tap.exists).reduce((a, b) => m.and(a, b));
    const share = taps.map(({ weight }) => weight).reduce((a, b) => m.mul(a, b));
    const places = taps.map(({ at }, d) => (sizes[d + 2] === 1 ? l.ir.int(0) : at));
    return { coords: [n!, c!, ...places], value: m.where(exists, m.mul(given, share), 0) };
  });
  const along = points.map((_, d) => d + 2);
  return sumAtPlaces(l, sizes, sampling.dtype, { sizes: shape, along }, terms);
}

/** An index as a number; a computed one is the number that it was made of. */
function indexValue(l: Lowering, index: IndexExpr): Expr {
  return index.kind === 'value' ? index.value : l.ir.index('int32', index);
}

/** Σ over channels of gradient times the derivative of what the point reads, by each coordinate. */
function gridGradient(
  l: Lowering,
  gradient: LoweredTensor,
  x: LoweredTensor,
  grid: LoweredTensor,
  sampling: Sampling,
): LoweredTensor {
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(x.dtype);
  const vars = l.vars(grid.shape);
  const [n, ...points] = vars.slice(0, -1);
  const coordinate = l.ir.index('int32', vars.at(-1)!);
  const axes = tapsOf(l, grid, x.shape.slice(2), sampling, [n, ...points]);
  const total = reduceOver(l, 'sum', grid.shape, x.shape[1]!, (c) => {
    const slopes = axes.map((_, axis) =>
      sumOfTaps(l, x, [n, c], axes, sampling, (taps) =>
        taps.map((tap, d) => (d === axis ? tap.slope : tap.weight)).reduce((a, b) => m.mul(a, b)),
      ),
    );
    const own = slopes.reduce((other, slope, axis) =>
      m.where(m.eq(coordinate, axes.length - 1 - axis), slope, other),
    );
    return m.mul(m.cast(gradient.load([n, c, ...points]), acc), own);
  });
  return l.pointwise(grid.shape, m.cast(total, grid.dtype));
}

/** grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask. */
const backward: LoweringOf<'aten::grid_sampler_2d_backward' | 'aten::grid_sampler_3d_backward'> = (
  l,
  [grad, input, grid, ...options],
  call,
) => {
  const dy = readyOperand(l, grad);
  const x = readyOperand(l, input);
  const g = readyOperand(l, grid);
  if (!isFloatingPoint(x.dtype)) return null;
  const sampling = samplingOf(x, options);
  const [wantsImage, wantsGrid] = options[3];
  const none = (dtype: DType, sizes: Shape): LoweredTensor =>
    l.pointwise(sizes, l.ir.const(dtype, 0));
  const isNothing = isEmpty(dy.shape);
  const [dInput, dGrid] = call.results.map((result) => result!.shape);
  const points = numelOf(dy.shape.slice(2));
  const [elements, sources] = [numelOf(dInput), numelOf(dy.shape)];
  const isProduct =
    affordable(l, elements, points, sources, 'product') &&
    !combinesFaster(l, elements, points, sources, 'float32');
  const gradient = isProduct ? imageGradient : imageGradientAtPlaces;
  const dImage =
    wantsImage && !isNothing ? gradient(l, dy, g, dInput, sampling) : none(x.dtype, dInput);
  if (dImage === null) return null;
  return [
    dImage,
    wantsGrid && !isNothing ? gridGradient(l, dy, x, g, sampling) : none(g.dtype, dGrid),
  ];
};

/** Lowerings by overload name. */
export const gridSampleLowerings: LoweringTable = lowerings({
  'aten::grid_sampler_2d': forward,
  'aten::grid_sampler_3d': forward,
  'aten::grid_sampler_2d_backward': backward,
  'aten::grid_sampler_3d_backward': backward,
});
