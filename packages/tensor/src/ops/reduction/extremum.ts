/**
 * @file Largest and smallest elements: amax, amin, max, min, argmax, argmin.
 */
import { checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { checkNumbers } from '../../kernels/restrict-dtypes.js';
import type { Elements } from '../../kernels/elements.js';
import { type ReduceArgs, reduceKernel, reduceMeta } from '../../kernels/reduce-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { eq } from '../pointwise/comparison.js';
import { maximum, minimum } from '../pointwise/extremum.js';
import { div } from '../pointwise/division.js';
import { mul } from '../pointwise/arithmetic.js';
import { sum } from './reduction.js';
import { checkNotEmpty, choosing, shareGradient } from './choosing.js';
import { type Dims, keepDims, spread } from './spread.js';
import { KEEPDIM, type KeepdimOptions } from './reduce-options.js';

/** Position of the winner: the first NaN, else the first best. */
function winner(values: Elements, better: (a: number, b: number) => boolean): number {
  let best = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i])) return i;
    if (better(values[i]!, values[best]!)) best = i;
  }
  return best;
}

const larger = (a: number, b: number): boolean => a > b;
const smaller = (a: number, b: number): boolean => a < b;

function checkedMeta(
  name: string,
  dtypeOf: (self: Tensor) => Tensor['dtype'],
): (args: ReduceArgs) => TensorMeta {
  const rule = reduceMeta(name, dtypeOf);
  return (args) => {
    checkNotEmpty(name, args);
    return rule(args);
  };
}

/** The gradient goes to all winners in equal parts. */
function shareAlong(grad: Tensor, self: Tensor, out: Tensor, dim: Dims): Tensor {
  const mask = eq(self, keepDims(out, self.sizes, dim));
  const count = keepDims(sum(mask, dim), self.sizes, dim);
  return div(mul(spread(grad, self.sizes, dim), mask), count);
}

interface Extremum {
  readonly all: OpOverload<Tensor>;
  readonly along: OpOverload<[Tensor, Tensor]>;
  readonly over: OpOverload<Tensor>;
  readonly position: OpOverload<Tensor>;
}

function define(name: 'max' | 'min', better: (a: number, b: number) => boolean): Extremum {
  const pick = (values: Elements): number => values[winner(values, better)]!;
  const over = defineOp(
    `aten::a${name}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor`,
    {
      tags: ['reduction'],
      meta: checkedMeta(`a${name}`, (self) => self.dtype),
      kernel: reduceKernel(`a${name}`, pick),
      saved: ['self', 'out'],
      vjp: ({ self, dim }, { grad, out }) => ({
        self: () => shareAlong(grad, self, out, dim),
      }),
    },
  );
  const all = defineOp(`aten::${name}(Tensor self) -> Tensor`, {
    tags: ['reduction'],
    meta: checkedMeta(name, (self) => self.dtype),
    kernel: reduceKernel(name, pick),
    saved: ['self', 'out'],
    vjp: ({ self }, { grad, out }) => ({ self: () => shareGradient(grad, self, out) }),
  });
  const along = defineOp(
    `aten::${name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)`,
    choosing(name, (order, start) => winner(order.row(start), better)),
  );
  const position = defineOp(
    `aten::arg${name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor`,
    {
      tags: ['reduction', 'non-differentiable'],
      meta: checkedMeta(`arg${name}`, (self) => {
        checkNumbers(`arg${name}`, self);
        return 'int64';
      }),
      kernel: reduceKernel(`arg${name}`, (values) => winner(values, better)),
    },
  );
  return { all, along, over, position };
}

const maxima = define('max', larger);
const minima = define('min', smaller);

/** Values and their positions along a dimension. */
export type ValuesAndIndices = [values: Tensor, indices: Tensor];

/** The forms of `max` and `min`: over all, along a dimension, of two tensors. */
export interface ExtremumFunction {
  (self: Tensor): Tensor;
  (self: Tensor, dim: number, options?: KeepdimOptions): ValuesAndIndices;
  (self: Tensor, other: Tensor): Tensor;
}

function extremum(
  name: string,
  ops: Extremum,
  pair: (a: Tensor, b: Tensor) => Tensor,
): ExtremumFunction {
  const call = (self: Tensor, dimOrOther?: number | Tensor, options?: KeepdimOptions): unknown => {
    if (dimOrOther === undefined) return callOp(ops.all, [self]);
    if (isTensor(dimOrOther)) return pair(self, dimOrOther);
    checkOptionNames(name, options, KEEPDIM);
    return callOp(ops.along, [self, dimOrOther, options?.keepdim ?? false]);
  };
  return call as ExtremumFunction;
}

/** `max` and `min` as methods. */
export interface ExtremumMethods {
  /** The largest element. @throws shape-mismatch */
  max(): Tensor;
  /** The largest elements along a dimension, and where they are. @throws invalid-dim, shape-mismatch */
  max(dim: number, options?: KeepdimOptions): ValuesAndIndices;
  /** The larger of each two elements. @throws shape-mismatch */
  max(other: Tensor): Tensor;
  /** The smallest element. @throws shape-mismatch */
  min(): Tensor;
  /** The smallest elements along a dimension, and where they are. @throws invalid-dim, shape-mismatch */
  min(dim: number, options?: KeepdimOptions): ValuesAndIndices;
  /** The smaller of each two elements. @throws shape-mismatch */
  min(other: Tensor): Tensor;
}

/** The largest element, values and indices along a dimension, or the larger of two tensors. @throws invalid-dim, shape-mismatch */
export const max: ExtremumFunction = extremum('max', maxima, maximum);
/** The smallest element, values and indices along a dimension, or the smaller of two tensors. @throws invalid-dim, shape-mismatch */
export const min: ExtremumFunction = extremum('min', minima, minimum);

/** Largest elements over dims (all by default); ties share the gradient. @throws invalid-dim, shape-mismatch */
export function amax(
  self: Tensor,
  dim: number | readonly number[] | null = null,
  options?: KeepdimOptions,
): Tensor {
  checkOptionNames('amax', options, KEEPDIM);
  return callOp(maxima.over, [
    self,
    typeof dim === 'number' ? [dim] : (dim ?? []),
    options?.keepdim ?? false,
  ]);
}

/** Smallest elements over dims (all by default); ties share the gradient. @throws invalid-dim, shape-mismatch */
export function amin(
  self: Tensor,
  dim: number | readonly number[] | null = null,
  options?: KeepdimOptions,
): Tensor {
  checkOptionNames('amin', options, KEEPDIM);
  return callOp(minima.over, [
    self,
    typeof dim === 'number' ? [dim] : (dim ?? []),
    options?.keepdim ?? false,
  ]);
}

/** Position of the largest element along a dimension, or in the flattened tensor. @throws invalid-dim, shape-mismatch */
export function argmax(self: Tensor, dim: number | null = null, options?: KeepdimOptions): Tensor {
  checkOptionNames('argmax', options, KEEPDIM);
  return callOp(maxima.position, [self, dim, options?.keepdim ?? false]);
}

/** Position of the smallest element along a dimension, or in the flattened tensor. @throws invalid-dim, shape-mismatch */
export function argmin(self: Tensor, dim: number | null = null, options?: KeepdimOptions): Tensor {
  checkOptionNames('argmin', options, KEEPDIM);
  return callOp(minima.position, [self, dim, options?.keepdim ?? false]);
}
