/**
 * @file Resizing: nearest, linear and cubic interpolation.
 */
import { sizeAdd, sizeMul } from '@tessera/shared';
import { overloads } from './pointwise.js';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprMath } from '../expr-math.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype } from '../reduce.js';
import { type Shape, isLarger, isSame } from '../shape-math.js';
import type { LoweredArg } from '../registry.js';
import {
  type Axis,
  type TapExpr,
  clampedIndex,
  positionDtype,
  resampled,
  resampledBackward,
} from './resample.js';
import { type SizedResize, factorOf, ratioOf } from './resize-ratio.js';
import { type Kind, readersOf } from './resize-readers.js';
import type { LoweringOf, LoweringTable } from '../typed-lowering.js';

/** Position of an output element among the input elements. */
function source(
  l: Lowering,
  resize: SizedResize,
  o: IndexExpr,
  cubic: boolean,
  dtype: DType,
): Expr {
  const m = new ExprMath(l.ir);
  const ratio = ratioOf(l, resize, dtype);
  const at = l.ir.index(dtype, o);
  if (resize.alignCorners) return m.mul(at, ratio);
  const position = m.sub(m.mul(m.add(at, 0.5), ratio), 0.5);
  return cubic ? position : m.max(position, 0);
}

function nearestTaps(l: Lowering, resize: SizedResize, exact: boolean, o: IndexExpr): TapExpr[] {
  const m = new ExprMath(l.ir);
  const ratio = ratioOf(l, resize, 'float32');
  const times = typeof ratio === 'number' ? 1 / ratio : 0;
  if (
    !exact &&
    Number.isInteger(times) &&
    times > 0 &&
    !isLarger(resize.output, sizeMul(resize.input, times))
  )
    return [{ at: l.ir.div(o, times), weight: null }];
  const at = l.ir.index('float32', o);
  const position = m.mul(exact ? m.add(at, 0.5) : at, ratio);
  const index = l.ir.op('floor', [position]);
  return [{ at: clampedIndex(l, index, 0, sizeAdd(resize.input, -1)), weight: null }];
}

/** First element and the share of the way to the next one. */
function between(
  l: Lowering,
  resize: SizedResize,
  position: Expr,
): { readonly first: Expr; readonly share: Expr } {
  const m = new ExprMath(l.ir);
  const first = m.min(l.ir.op('floor', [position]), sizeAdd(resize.input, -1));
  return { first, share: m.min(m.max(m.sub(position, first), 0), 1) };
}

function linearTaps(l: Lowering, resize: SizedResize, o: IndexExpr, dtype: DType): TapExpr[] {
  if (isSame(resize.input, resize.output)) return [{ at: o, weight: null }];
  const m = new ExprMath(l.ir);
  const { first, share } = between(l, resize, source(l, resize, o, false, dtype));
  const last = sizeAdd(resize.input, -1);
  return [
    { at: clampedIndex(l, first, 0, last), weight: m.sub(l.ir.const(dtype, 1), share) },
    { at: clampedIndex(l, m.add(first, 1), 0, last), weight: share },
  ];
}

function cubicTaps(l: Lowering, resize: SizedResize, o: IndexExpr, dtype: DType): TapExpr[] {
  const m = new ExprMath(l.ir);
  const { first, share } = between(l, resize, source(l, resize, o, true, dtype));
  const a = -0.75;
  const near = (x: Expr): Expr => m.add(m.mul(m.mul(m.sub(m.mul(x, a + 2), a + 3), x), x), 1);
  const far = (x: Expr): Expr =>
    m.sub(m.mul(m.add(m.mul(m.sub(m.mul(x, a), 5 * a), x), 8 * a), x), 4 * a);
  const rest = m.sub(l.ir.const(dtype, 1), share);
  const weights = [far(m.add(share, 1)), near(share), near(rest), far(m.add(rest, 1))];
  return weights.map((weight, i) => ({
    at: clampedIndex(l, m.add(first, i - 1), 0, sizeAdd(resize.input, -1)),
    weight,
  }));
}

function axesOf(
  l: Lowering,
  kind: Kind,
  input: Shape,
  output: Shape,
  rest: readonly LoweredArg[],
  dtype: DType,
): Axis[] {
  const corners = !kind.startsWith('nearest');
  const scales = corners ? rest.slice(1) : rest;
  const acc = accumulateDtype(dtype);
  return output.map((size, s) => {
    const resize: SizedResize = {
      input: input[s]!,
      output: size,
      alignCorners: corners && rest[0] === true,
      scale: factorOf(scales[s]),
    };
    const weighted = (taps: TapExpr[]): TapExpr[] =>
      taps.map(({ at, weight }) => ({ at, weight: weight && l.ir.cast(weight, acc) }));
    const positions = positionDtype(dtype);
    return {
      input: input[s]!,
      output: size,
      readers: () => readersOf(l, kind, resize, dtype),
      taps: (o) =>
        kind === 'linear'
          ? weighted(linearTaps(l, resize, o, positions))
          : kind === 'cubic'
            ? weighted(cubicTaps(l, resize, o, positions))
            : nearestTaps(l, resize, kind === 'nearest-exact', o),
    };
  });
}

/** Operators that resize, without namespace. */
type Resizing =
  | 'upsample_nearest1d'
  | 'upsample_nearest2d'
  | 'upsample_nearest3d'
  | '_upsample_nearest_exact1d'
  | '_upsample_nearest_exact2d'
  | '_upsample_nearest_exact3d'
  | 'upsample_linear1d'
  | 'upsample_bilinear2d'
  | 'upsample_trilinear3d'
  | 'upsample_bicubic2d';

/** Arguments: self, output_size, (align_corners,) scales. */
function forward(kind: Kind): LoweringOf<`aten::${Resizing}`> {
  return (l, [x, , ...rest], call) => {
    // Bytes are resized in fixed point, which the reference kernel does.
    if (x.dtype === 'uint8' && !kind.startsWith('nearest')) return null;
    const axes = axesOf(l, kind, x.shape.slice(2), call.shape.slice(2), rest, x.dtype);
    return resampled(l, x, axes, call);
  };
}

/** Arguments: grad_output, output_size, input_size, (align_corners,) scales. */
function backward(kind: Kind): LoweringOf<`aten::${Resizing}_backward`> {
  return (l, [g, , , ...rest], call) => {
    const [input, output] = [call, g].map(({ shape }) => shape.slice(2));
    const axes = axesOf(l, kind, input!, output!, rest, g.dtype);
    return resampledBackward(l, g, axes, call);
  };
}

/** A resizing operator and its gradient. */
function resizing(name: Resizing, kind: Kind): LoweringTable {
  return {
    ...overloads(name, forward(kind), ['']),
    ...overloads(name, backward(kind), ['_backward']),
  };
}

/** Lowerings by overload name. */
export const upsampleLowerings: LoweringTable = {
  ...resizing('upsample_nearest1d', 'nearest'),
  ...resizing('upsample_nearest2d', 'nearest'),
  ...resizing('upsample_nearest3d', 'nearest'),
  ...resizing('_upsample_nearest_exact1d', 'nearest-exact'),
  ...resizing('_upsample_nearest_exact2d', 'nearest-exact'),
  ...resizing('_upsample_nearest_exact3d', 'nearest-exact'),
  ...resizing('upsample_linear1d', 'linear'),
  ...resizing('upsample_bilinear2d', 'linear'),
  ...resizing('upsample_trilinear3d', 'linear'),
  ...resizing('upsample_bicubic2d', 'cubic'),
};

/** See `takesSizes`: batches, channels, and sizes that are a given number of times others. */
export const SIZED_RESIZING: readonly string[] = Object.keys(upsampleLowerings);
