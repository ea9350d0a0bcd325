/**
 * @file The trapezoidal rule, in whole and as a running integral.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { defaultDType } from '../../default-dtype.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import { formatSizes, wrapDim } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { div } from '../pointwise/division.js';
import { zeros } from '../factory/factory.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';
import { cumsum } from './scan.js';
import { reshape } from '../view/view.js';
import { select, slice } from '../view/slice.js';

/** @throws dtype-unsupported for bools */
function checkTypes(op: string, ...tensors: readonly Tensor[]): void {
  if (tensors.every((tensor) => tensor.dtype !== 'bool')) return;
  throw new TesseraError(
    'dtype-unsupported',
    `${op}: received a bool input for \`x\` or \`y\`, but bool is not supported`,
    { hints: ["Convert it: y.to('float32')."] },
  );
}

/** A number of the rule is a float even where it is whole, so integers become the default float type. */
function floating(x: Tensor): Tensor {
  return isFloatingPoint(x.dtype) ? x : toDtype(x, defaultDType());
}

function lefts(x: Tensor, dim: number): Tensor {
  return slice(x, dim, 0, -1);
}

function rights(x: Tensor, dim: number): Tensor {
  return slice(x, dim, 1);
}

/** Widths between sample points. A vector lies along `dim`; more dims align from the last. @throws shape-mismatch */
function widths(op: string, y: Tensor, x: Tensor, dim: number): Tensor {
  let points = x;
  if (x.ndim === 1) {
    if (x.sizes[0] !== y.sizes[dim])
      throw new TesseraError(
        'shape-mismatch',
        `${op}: There must be one \`x\` value for each sample point`,
        {
          context: { x: x.sizes, y: y.sizes, dim },
          hints: [`x has ${x.sizes[0]} values, y has sizes ${formatSizes(y.sizes)}.`],
        },
      );
    points = reshape(
      x,
      y.sizes.map((_, d) => (d === dim ? x.sizes[0]! : 1)),
    );
  } else if (x.ndim < y.ndim) {
    points = reshape(x, [...new Array<number>(y.ndim - x.ndim).fill(1), ...x.sizes]);
  }
  return sub(rights(points, dim), lefts(points, dim));
}

function blank(y: Tensor, dim: number): Tensor {
  return zeros(
    y.sizes.filter((_, d) => d !== dim),
    { dtype: y.dtype, device: y.device },
  );
}

const trapezoidX: OpOverload<Tensor> = withOverloads(
  defineOp('aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor', {
    decompose: ({ y, x, dim }) => {
      const at = wrapDim(dim, y.ndim, 'trapezoid');
      if (y.sizes[at] === 0) return blank(y, at);
      checkTypes('trapezoid', y, x);
      const pairs = add(lefts(y, at), rights(y, at));
      return div(sum(mul(pairs, widths('trapezoid', y, x, at)), at), 2);
    },
  }),
  defineOp('aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor', {
    decompose: ({ y, x, dim }) => callOp(trapezoidX, [y, x, dim]),
  }),
);
const trapezoidDx: OpOverload<Tensor> = withOverloads(
  defineOp('aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor', {
    decompose: ({ y, dx, dim }) => {
      const at = wrapDim(dim, y.ndim, 'trapezoid');
      if (y.sizes[at] === 0) return blank(y, at);
      checkTypes('trapezoid', y);
      const ends = add(select(y, at, 0), select(y, at, -1));
      return mul(sub(sum(y, at), mul(floating(ends), 0.5)), dx);
    },
  }),
  defineOp('aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor', {
    decompose: ({ y, dx, dim }) => callOp(trapezoidDx, [y, dx, dim]),
  }),
);

const cumulativeX = defineOp(
  'aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor',
  {
    decompose: ({ y, x, dim }) => {
      const at = wrapDim(dim, y.ndim, 'cumulative_trapezoid');
      checkTypes('cumulative_trapezoid', y, x);
      const pairs = add(lefts(y, at), rights(y, at));
      const areas = mul(pairs, widths('cumulative_trapezoid', y, x, at));
      return div(cumsum(areas, at), 2);
    },
  },
);
const cumulativeDx = defineOp(
  'aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor',
  {
    decompose: ({ y, dx, dim }) => {
      const at = wrapDim(dim, y.ndim, 'cumulative_trapezoid');
      checkTypes('cumulative_trapezoid', y);
      const pairs = add(lefts(y, at), rights(y, at));
      const areas =
        typeof dx === 'number' ? mul(floating(pairs), dx / 2) : mul(mul(floating(pairs), dx), 0.5);
      return cumsum(areas, at);
    },
  },
);

/** Where samples lie: at the points `x`, or `dx` apart (1 by default), along `dim` (the last by default). */
export interface TrapezoidOptions {
  readonly x?: Tensor;
  readonly dx?: number;
  readonly dim?: number;
}
const TRAPEZOID: OptionNames<TrapezoidOptions> = { x: true, dx: true, dim: true };

/** Integral along a dimension by the trapezoidal rule. @throws invalid-dim, shape-mismatch, dtype-unsupported */
export function trapezoid(y: Tensor, options: TrapezoidOptions = {}): Tensor {
  checkOptionNames('trapezoid', options, TRAPEZOID);
  const { x, dx = 1, dim = -1 } = options;
  return callOp(isTensor(x) ? trapezoidX : trapezoidDx, isTensor(x) ? [y, x, dim] : [y, dx, dim]);
}

/** The running integral along a dimension: one element less than there are samples. @throws invalid-dim, shape-mismatch, dtype-unsupported */
export function cumulativeTrapezoid(y: Tensor, options: TrapezoidOptions = {}): Tensor {
  checkOptionNames('cumulativeTrapezoid', options, TRAPEZOID);
  const { x, dx = 1, dim = -1 } = options;
  return callOp(isTensor(x) ? cumulativeX : cumulativeDx, isTensor(x) ? [y, x, dim] : [y, dx, dim]);
}
