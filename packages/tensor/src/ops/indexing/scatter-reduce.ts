/**
 * @file Scatters that combine what meets at a position: sum, product, mean, extremes.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { indexedPositions } from '../../kernels/coordinates.js';
import { readElements, readNumbers, roundingTo, writeNumbers } from '../../kernels/elements.js';
import { exactIn, larger, smaller } from '../../kernels/integer-arithmetic.js';
import { floorQuotient } from '../../kernels/special-functions.js';
import { scatterMeta, sourceUnderIndex } from '../../kernels/scatter-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { eq } from '../pointwise/comparison.js';
import { toDtype } from '../arrange/copy.js';
import { div } from '../pointwise/division.js';
import { clampMin } from '../pointwise/extremum.js';
import { full } from '../factory/factory.js';
import { onesLike, zerosLike } from '../factory/like.js';
import { maskedFill } from '../pointwise/fill.js';
import { logicalAnd } from '../pointwise/logical.js';
import { mul } from '../pointwise/arithmetic.js';
import { gather, scatter, scatterAdd } from './scatter.js';
import { underIndex } from './under-index.js';
import { where } from '../pointwise/where.js';

/** How elements that meet are combined. */
export type ScatterReduction = 'sum' | 'prod' | 'mean' | 'amax' | 'amin';

interface Combination {
  /** Value that changes nothing. */
  readonly start: number;
  readonly combine: (held: number, value: number) => number;
}

const SUM: Combination = { start: 0, combine: (a, b) => a + b };
const COMBINATIONS: Readonly<Record<string, Combination>> = {
  sum: SUM,
  mean: SUM,
  prod: { start: 1, combine: (a, b) => a * b },
  amax: { start: -Infinity, combine: larger },
  amin: { start: Infinity, combine: smaller },
} satisfies Record<ScatterReduction, Combination>;

/** @throws invalid-argument */
function checkReduction(reduce: string): void {
  if (reduce in COMBINATIONS) return;
  throw new TesseraError(
    'invalid-argument',
    `reduce argument must be either sum, prod, mean, amax or amin, got ${reduce}.`,
    { hints: ['scatter() takes the older names add and multiply.'] },
  );
}

interface ReduceArgs {
  readonly self: Tensor;
  readonly dim: number;
  readonly index: Tensor;
  readonly src: Tensor;
  readonly reduce: string;
  readonly include_self: boolean;
}

function kernel(args: ReduceArgs, [out]: readonly Tensor[]): void {
  const { self, index, src, reduce } = args;
  const { start, combine } = COMBINATIONS[reduce]!;
  // An extreme starts from infinity, which is no whole number, and compares what it is given.
  const join = Number.isFinite(start) ? exactIn(self.dtype, combine) : combine;
  const result = readElements(self);
  const own = args.include_self === true ? 1 : 0;
  const counts = new Float64Array(result.length).fill(own);
  const source = sourceUnderIndex(index.sizes, src);
  const at = wrapDim(args.dim, self.ndim);
  const indices = readNumbers(index);
  const round = roundingTo(self.dtype);
  const positions = indexedPositions(index.sizes, self.sizes, at, indices, 'scatter_reduce');
  for (let i = 0; i < positions.length; i++) {
    const to = positions[i]!;
    const held = counts[to] === 0 ? start : result[to]!;
    // The running value is an element of the result: it is rounded, or wraps, at each step.
    result[to] = round(join(held, source[i]!));
    counts[to]!++;
  }
  if (reduce === 'mean') {
    const share = isFloatingPoint(self.dtype)
      ? (total: number, count: number) => total / count
      : exactIn(self.dtype, floorQuotient);
    result.forEach((total, i) => (result[i] = share(total, Math.max(counts[i]!, 1))));
  }
  writeNumbers(out!, result);
}

type Pair = readonly [self: Tensor, src: Tensor];

/** Gradients before positions that self does not take part in are blanked. */
function gradients(args: ReduceArgs, grad: Tensor, out: Tensor): Pair {
  const { self, index, src, dim } = args;
  const at = (x: Tensor): Tensor => gather(x, dim, index);
  const options = { includeSelf: args.include_self };
  switch (args.reduce) {
    case 'sum':
      return [grad, at(grad)];
    case 'mean': {
      const own = args.include_self === true ? onesLike(grad) : zerosLike(grad);
      const count = clampMin(scatterAdd(own, dim, index, onesLike(src)), 1);
      return [div(grad, count), div(at(grad), at(count))];
    }
    case 'prod': {
      const product = (a: Tensor, b: Tensor): Tensor =>
        scatterReduce(a, dim, index, b, 'prod', options);
      const known = maskedFill(self, eq(self, 0), 1);
      const isZero = eq(src, 0);
      const zeros = at(scatterAdd(zerosLike(self), dim, index, toDtype(isZero, self.dtype)));
      const single = logicalAnd(isZero, eq(zeros, 1));
      const without = product(self, maskedFill(src, single, 1));
      return [
        div(mul(grad, product(known, src)), known),
        where(single, at(mul(grad, without)), div(at(mul(grad, out)), maskedFill(src, isZero, 1))),
      ];
    }
    default: {
      const ownWins = toDtype(eq(self, out), grad.dtype);
      const srcWins = toDtype(eq(src, at(out)), grad.dtype);
      const share = div(grad, scatterAdd(ownWins, dim, index, srcWins));
      return [mul(ownWins, share), mul(srcWins, at(share))];
    }
  }
}

const scatterReduceOp = defineOp(
  'aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor',
  {
    meta: (args) => {
      checkReduction(args.reduce);
      return scatterMeta('scatter_reduce')(args);
    },
    kernel,
    saved: ['self', 'index', 'src', 'out'],
    vjp: (args, { grad, out }) => ({
      self: () => {
        const [own] = gradients(args, grad, out);
        return args.include_self === true ? own : scatter(own, args.dim, args.index, 0);
      },
      src: () => gradients(args, grad, out)[1],
    }),
  },
);
const scatterReduceInplace = defineInplace(scatterReduceOp);

/** The names that scatter() knows. @throws invalid-argument */
function olderName(reduce: string): ScatterReduction {
  if (reduce === 'add') return 'sum';
  if (reduce === 'multiply') return 'prod';
  throw new TesseraError(
    'invalid-argument',
    `reduce argument must be either add or multiply, got ${reduce}.`,
    { hints: ['scatterReduce() knows more reductions.'] },
  );
}

const scatterWithOp = defineOp(
  'aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor',
  {
    decompose: ({ self, dim, index, src, reduce }) =>
      scatterReduce(self, dim, index, src, olderName(reduce)),
  },
);
const scatterValueWithOp = defineOp(
  'aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor',
  {
    decompose: ({ self, dim, index, value, reduce }) =>
      scatterReduce(
        self,
        dim,
        index,
        full(index.sizes, value, {
          dtype: self.dtype,
          device: self.device,
        }),
        olderName(reduce),
      ),
  },
);
export const scatterWithInplaceOp: OpOverload<Tensor> = defineInplace(scatterWithOp);
export const scatterValueWithInplaceOp: OpOverload<Tensor> = defineInplace(scatterValueWithOp);

const INCLUDE_SELF: OptionNames<{ includeSelf?: boolean }> = { includeSelf: true };

/** A copy of self with `src` combined into it at the indices along a dimension. @throws index-out-of-range, shape-mismatch, invalid-argument */
export function scatterReduce(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor,
  reduce: ScatterReduction,
  options?: { includeSelf?: boolean },
): Tensor {
  checkOptionNames('scatterReduce', options, INCLUDE_SELF);
  const include = options?.includeSelf ?? true;
  return callOp(scatterReduceOp, [self, dim, index, underIndex(index, src), reduce, include]);
}

/** Combines `src` into self at the indices along a dimension. */
export function scatterReduce_(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor,
  reduce: ScatterReduction,
  options?: { includeSelf?: boolean },
): Tensor {
  checkOptionNames('scatterReduce_', options, INCLUDE_SELF);
  const include = options?.includeSelf ?? true;
  return callOp(scatterReduceInplace, [self, dim, index, underIndex(index, src), reduce, include]);
}
