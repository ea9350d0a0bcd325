/**
 * @file What a coordinate of a sampling grid reads along one axis of the image: elements with weights and the
 * derivatives of those. Steps are PyTorch's; of 16-bit images each is rounded to their type.
 */
import { type Size, sizeSub } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprMath, type Term } from '../expr-math.js';
import type { Lowering } from '../lowering.js';
import { clampedIndex } from './resample.js';

/** ATen's numbers of the modes. */
const NEAREST = 1;
export const BICUBIC = 2;
const BORDER = 1;
const REFLECTION = 2;
const A = -0.75;

/** How positions are read. */
export interface Sampling {
  readonly interpolation: number;
  readonly padding: number;
  readonly alignCorners: boolean;
  /** Axes of the image. */
  readonly rank: number;
  /** Type of the image; positions are computed in its compute type. */
  readonly dtype: DType;
}

/** One element along an axis; it takes part only where it `exists`. */
export interface GridTap {
  readonly at: IndexExpr;
  readonly exists: Expr;
  readonly weight: Expr;
  /** Derivative of the weight by the grid's coordinate. */
  readonly slope: Expr;
}

interface Position {
  readonly at: Expr;
  readonly slope: Expr;
}

/** A value as the type of the image holds it. */
export function roundedTo(m: ExprMath, value: Expr, dtype: DType): Expr {
  return dtype === 'float16' || dtype === 'bfloat16'
    ? m.cast(m.cast(value, dtype), value.dtype)
    : value;
}

function half(m: ExprMath, size: Size, dtype: DType): Term {
  return typeof size === 'number' ? size / 2 : m.mul(m.term(size, dtype), 0.5);
}

/** Position of coordinate `c` (-1 to 1) among the elements. */
function unnormalized(m: ExprMath, c: Expr, size: Size, call: Sampling): Expr {
  const round = (value: Expr): Expr => roundedTo(m, value, call.dtype);
  const shifted = round(m.add(c, 1));
  if (call.rank === 3)
    return call.alignCorners
      ? round(m.mul(round(m.mul(shifted, 0.5)), sizeSub(size, 1)))
      : round(m.mul(round(m.sub(round(m.mul(shifted, size)), 1)), 0.5));
  if (call.alignCorners) return round(m.mul(shifted, half(m, sizeSub(size, 1), c.dtype)));
  return round(m.sub(round(m.mul(shifted, half(m, size, c.dtype))), 0.5));
}

/** Mirrors a position at the ends until it lies between them. */
function reflected(m: ExprMath, { at, slope }: Position, size: Size, corners: boolean): Position {
  const low = corners ? 0 : -0.5;
  const span = corners ? sizeSub(size, 1) : size;
  const zero = m.term(0, at.dtype);
  if (span === 0) return { at: zero, slope: zero };
  const distance = m.abs(m.sub(at, low));
  const flips = m.floor(m.div(distance, span));
  const extra = m.ir.op('fmod', [distance, m.term(span, at.dtype)]);
  const isEven = m.eq(m.mul(m.floor(m.mul(flips, 0.5)), 2), flips);
  const forward = m.where(m.lt(at, low), m.neg(slope), slope);
  return {
    at: m.where(isEven, m.add(extra, low), m.add(m.sub(span, extra), low)),
    slope: m.where(isEven, forward, m.neg(forward)),
  };
}

function clipped(m: ExprMath, { at, slope }: Position, size: Size): Position {
  const last = sizeSub(size, 1);
  const isInside = m.and(m.gt(at, 0), m.lt(at, last));
  return {
    at: m.where(m.gt(at, 0), m.min(at, last), 0),
    slope: m.where(isInside, slope, 0),
  };
}

function padded(m: ExprMath, position: Position, size: Size, call: Sampling): Position {
  if (call.padding === BORDER) return clipped(m, position, size);
  if (call.padding === REFLECTION)
    return clipped(m, reflected(m, position, size, call.alignCorners), size);
  return position;
}

/** Cubic convolution at distance `x`, up to 1 or between 1 and 2, and its derivative. */
function cubic(m: ExprMath, x: Expr, isNear: boolean): [value: Expr, derivative: Expr] {
  if (isNear)
    return [
      m.add(m.mul(m.mul(m.sub(m.mul(x, A + 2), A + 3), x), x), 1),
      m.mul(m.sub(m.mul(x, 3 * (A + 2)), 2 * (A + 3)), x),
    ];
  return [
    m.sub(m.mul(m.add(m.mul(m.sub(m.mul(x, A), 5 * A), x), 8 * A), x), 4 * A),
    m.add(m.mul(m.sub(m.mul(x, 3 * A), 10 * A), x), 8 * A),
  ];
}

/** What coordinate `c` (-1 to 1) reads along an axis of `size` elements. */
export function gridTaps(l: Lowering, c: Expr, size: Size, call: Sampling): GridTap[] {
  const m = new ExprMath(l.ir);
  const number = (value: number): Expr => m.term(value, c.dtype);
  const factor = m.term(half(m, call.alignCorners ? sizeSub(size, 1) : size, c.dtype), c.dtype);
  const tap = (at: Expr, weight: Expr, slope: Expr): GridTap => {
    const exists = m.and(m.ge(at, 0), m.lt(at, size));
    return {
      at: clampedIndex(l, m.where(exists, at, 0), 0, sizeSub(size, 1)),
      exists,
      weight,
      slope,
    };
  };
  const raw: Position = { at: unnormalized(m, c, size, call), slope: factor };
  if (call.interpolation === BICUBIC) {
    const first = m.floor(raw.at);
    const t = m.sub(raw.at, first);
    return [-1, 0, 1, 2].map((step) => {
      const isBefore = step <= 0;
      const distance = isBefore ? m.sub(t, step) : m.sub(step, t);
      const [weight, derivative] = cubic(m, distance, step === 0 || step === 1);
      const { at } = padded(m, { at: m.add(first, step), slope: number(0) }, size, call);
      const slope = m.mul(isBefore ? derivative : m.neg(derivative), factor);
      return tap(m.trunc(at), weight, slope);
    });
  }
  const { at, slope } = padded(m, raw, size, call);
  if (call.interpolation === NEAREST) return [tap(m.round(at), number(1), number(0))];
  const first = m.floor(at);
  const t = roundedTo(m, m.sub(at, first), call.dtype);
  return [
    tap(first, roundedTo(m, m.sub(m.add(first, 1), at), call.dtype), m.neg(slope)),
    tap(m.add(first, 1), t, slope),
  ];
}
