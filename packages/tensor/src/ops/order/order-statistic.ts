/**
 * @file Elements chosen by order along a dimension: kthvalue, median, nanmedian, mode.
 */
import { type OptionNames, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { writeNumbers } from '../../kernels/elements.js';
import { readRows } from '../../kernels/ordered-rows.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { choosing, shareGradient } from '../reduction/choosing.js';
import type { ValuesAndIndices } from '../reduction/extremum.js';
import { KEEPDIM, type KeepdimOptions } from '../reduction/reduce-options.js';

/** @throws invalid-argument, dtype-unsupported */
function checkRank({ self, k, dim }: { self: Tensor; k: number; dim: number }): void {
  const at = wrapDim(dim, self.ndim, 'kthvalue');
  const size = self.ndim === 0 ? 1 : self.sizes[at];
  if (!(k >= 1 && k <= size))
    throw new TesseraError(
      'invalid-argument',
      `kthvalue(): selected number k out of range for dimension ${at}`,
      {
        context: { k: k, size },
        hints: [`k counts from 1 to the size of the dimension, ${size}.`],
      },
    );
  checkOrdered('kthvalue', self);
}

/** @throws dtype-unsupported for bools */
function checkOrdered(name: string, self: Tensor): void {
  if (self.dtype !== 'bool') return;
  throw new TesseraError('dtype-unsupported', `"${name}" not implemented for 'Bool'`, {
    hints: ["Convert first: x.to('uint8')."],
  });
}

const kthvalueOp = defineOp(
  'aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)',
  choosing('kthvalue', (order, start, { k }) => order.select(start, k - 1), checkRank),
);
const modeOp = defineOp(
  'aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)',
  choosing('mode', (order, start) => order.mode(start)),
);

interface Median {
  readonly all: OpOverload<Tensor>;
  readonly along: OpOverload<[Tensor, Tensor]>;
}

function defineMedian(name: 'median' | 'nanmedian', skipNan: boolean): Median {
  const all = defineOp(`aten::${name}(Tensor self) -> Tensor`, {
    tags: ['reduction'],
    meta: ({ self }) => {
      checkOrdered(name, self);
      return { sizes: [], strides: [], dtype: self.dtype, device: self.device };
    },
    kernel: ({ self }, [out]) => {
      const { values, order } = readRows(self);
      // Nothing has no median: NaN, which integers hold as their conversion of it.
      const value = values.length === 0 ? Number.NaN : values[order.median(0, skipNan)]!;
      writeNumbers(out!, [value]);
    },
    saved: ['self', 'out'],
    vjp: ({ self }, { grad, out }) => ({ self: () => shareGradient(grad, self, out) }),
  });
  const along = defineOp(
    `aten::${name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)`,
    choosing(
      name,
      (order, start) => order.median(start, skipNan),
      ({ self }) => checkOrdered(name, self),
    ),
  );
  return { all, along };
}

const medianOps = defineMedian('median', false);
const nanmedianOps = defineMedian('nanmedian', true);

/** The forms of `median` and `nanmedian`: over all elements, or along a dimension. */
export interface MedianFunction {
  (self: Tensor): Tensor;
  (self: Tensor, dim: number, options?: KeepdimOptions): ValuesAndIndices;
}

/** `median` and `nanmedian` as methods. */
export interface MedianMethods {
  /** The lower median of all elements; NaN if there is one. */
  median(): Tensor;
  /** The lower medians along a dimension, and where they are. @throws invalid-dim, shape-mismatch */
  median(dim: number, options?: KeepdimOptions): ValuesAndIndices;
  /** The lower median of the elements that are not NaN. */
  nanmedian(): Tensor;
  /** The lower medians along a dimension of what is not NaN, and where they are. @throws invalid-dim, shape-mismatch */
  nanmedian(dim: number, options?: KeepdimOptions): ValuesAndIndices;
}

function medianFunction(name: string, ops: Median): MedianFunction {
  const call = (self: Tensor, dim?: number, options?: KeepdimOptions): unknown => {
    checkOptionNames(name, options, KEEPDIM);
    return dim === undefined
      ? callOp(ops.all, [self])
      : callOp(ops.along, [self, dim, options?.keepdim ?? false]);
  };
  return call as MedianFunction;
}

/** The lower median of all elements, or along a dimension with its index; NaN if there is one. @throws invalid-dim, shape-mismatch */
export const median: MedianFunction = medianFunction('median', medianOps);
/** The lower median of the elements that are not NaN. @throws invalid-dim, shape-mismatch */
export const nanmedian: MedianFunction = medianFunction('nanmedian', nanmedianOps);

/** Options of `kthvalue`. */
export interface KthvalueOptions extends KeepdimOptions {
  /** The dimension (default the last). */
  readonly dim?: number;
}
const KTHVALUE: OptionNames<KthvalueOptions> = { dim: true, keepdim: true };

/** The k-th smallest element along a dimension (k from 1), and where it is. @throws invalid-dim, invalid-argument */
export function kthvalue(self: Tensor, k: number, options?: KthvalueOptions): ValuesAndIndices {
  checkOptionNames('kthvalue', options, KTHVALUE);
  return callOp(kthvalueOp, [self, k, options?.dim ?? -1, options?.keepdim ?? false]);
}

/** The most common element along a dimension, the smallest of several, and where it last is. @throws invalid-dim, shape-mismatch */
export function mode(self: Tensor, dim = -1, options?: KeepdimOptions): ValuesAndIndices {
  checkOptionNames('mode', options, KEEPDIM);
  return callOp(modeOp, [self, dim, options?.keepdim ?? false]);
}
