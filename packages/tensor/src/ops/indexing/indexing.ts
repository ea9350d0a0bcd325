/**
 * @file Advanced indexing in ATen's form: index, index_put, masked_select.
 *
 * A bool mask makes the shape of the result depend on values. `index` and `indexPut` therefore turn
 * masks into positions with `nonzero` first, so that a tracer sees the data-dependent step as such.
 */
import { type OptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { checkMask, isMask, planIndex } from '../../kernels/advanced-index.js';
import { pick, positionsOfHits } from '../../kernels/coordinates.js';
import { readElements, readNumbers, roundingTo, writeNumbers } from '../../kernels/elements.js';
import { exactIn } from '../../kernels/integer-arithmetic.js';
import { metaOfSelf } from '../../memory-format.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { broadcastShapes, expandStrides } from '../../shape.js';
import { emptyContiguous, isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import { nonzero } from './nonzero.js';
import { expand, reshape } from '../view/view.js';
import { unbind } from '../view/split.js';

/** One index per dimension, from the first on: integers, a bool mask, or null for the whole dimension. */
export type TensorIndices = readonly (Tensor | null)[];

function anyFake(args: { self: Tensor; indices: readonly (Tensor | null)[] }): boolean {
  return args.self.isFake || args.indices.some((index) => index !== null && index.isFake);
}

/** @throws dtype-mismatch unless indices are integers or masks */
function checkIndices(op: string, indices: TensorIndices): void {
  const odd = indices.find(
    (index) => index !== null && !['int64', 'int32', 'bool', 'uint8'].includes(index.dtype),
  );
  if (odd == null) return;
  throw new TesseraError(
    'dtype-mismatch',
    `${op}: tensors used as indices must be long, int, byte or bool tensors, not ${odd.dtype}`,
    { hints: ["Convert it: index.to('int64')."] },
  );
}

const indexOp: OpOverload<Tensor> = defineOp(
  'aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor',
  {
    meta: (args) => {
      const self = args.self;
      if (args.indices.length === 0)
        throw new TesseraError('invalid-argument', 'at least one index must be provided', {
          hints: ['clone() it first.'],
        });
      checkIndices('index', args.indices);
      const { sizes, strides } = planIndex(self, args.indices);
      return { sizes, strides, dtype: self.dtype, device: self.device };
    },
    kernel: ({ self, indices }, [out]) => {
      writeNumbers(out!, pick(readElements(self), planIndex(self, indices).positions()));
    },
    saved: ['indices'],
    vjp: ({ self, indices }, { grad }) => ({
      self: () =>
        callOp(indexPutOp, [
          zeros(self.sizes, { dtype: grad.dtype, device: grad.device }),
          indices,
          grad,
          true,
        ]),
    }),
  },
);

/** @throws dtype-mismatch */
export function checkPutType(self: Tensor, values: Tensor): void {
  if (self.dtype === values.dtype) return;
  throw new TesseraError(
    'dtype-mismatch',
    `Index put requires the source and destination dtypes match, got ${self.dtype} for the destination and ${values.dtype} for the source.`,
    { hints: [`Convert the values: values.to('${self.dtype}').`] },
  );
}

const indexPutOp: OpOverload<Tensor> = defineOp(
  'aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor',
  {
    meta: (args) => {
      const self = args.self;
      checkIndices('index_put', args.indices);
      if (!anyFake(args)) {
        const { sizes } = planIndex(self, args.indices);
        expandStrides(args.values.sizes, args.values.strides, sizes);
      }
      checkPutType(self, args.values);
      return metaOfSelf({ self });
    },
    kernel: ({ self, indices, values, accumulate }, [out]) => {
      const result = readElements(self);
      const plan = planIndex(self, indices);
      const written = readElements(values, plan.sizes);
      const positions = plan.positions();
      const round = roundingTo(self.dtype);
      const sum = exactIn(self.dtype, (held, value) => held + value);
      for (let i = 0; i < positions.length; i++) {
        const at = positions[i]!;
        // The running sum is an element of the result, rounded at each step.
        result[at] = accumulate === true ? round(sum(result[at]!, written[i]!)) : written[i]!;
      }
      writeNumbers(out!, result);
    },
    saved: ['indices'],
    vjp: ({ indices, values, accumulate }, { grad }) => ({
      self: () =>
        accumulate === true
          ? grad
          : callOp(indexPutOp, [
              grad,
              indices,
              zeros(values.sizes, { dtype: grad.dtype, device: grad.device }),
              false,
            ]),
      values: () => callOp(indexOp, [grad, indices]),
    }),
  },
);
const indexPutInplace = defineInplace(indexPutOp);

/** @throws dtype-mismatch for a mask of numbers */
export function checkBoolMask(op: string, mask: Tensor): void {
  if (mask.dtype === 'bool') return;
  throw new TesseraError(
    'dtype-mismatch',
    `${op}: expected BoolTensor for mask, but got ${mask.dtype}`,
    { hints: ['Compare first, e.g. mask.ne(0).'] },
  );
}

export const maskedSelectOp: OpOverload<Tensor> = defineOp(
  'aten::masked_select(Tensor self, Tensor mask) -> Tensor',
  {
    tags: ['data-dependent'],
    awaited: 'maskedSelectAsync(x, mask)',
    produce: ({ self, mask }) => {
      checkBoolMask('masked_select', mask);
      const sizes = broadcastShapes([self.sizes, mask.sizes], 'masked_select');
      const values = readElements(self, sizes);
      const chosen = readNumbers(mask, sizes);
      const picked = pick(values, positionsOfHits(chosen));
      const out = emptyContiguous([picked.length], self.dtype, self.device);
      writeNumbers(out, picked);
      return out;
    },
    saved: ['mask'],
    vjp: ({ self, mask }, { grad }) => ({
      self: () => {
        const sizes = broadcastShapes([self.sizes, mask.sizes]);
        const blank = zeros(sizes, { dtype: grad.dtype, device: grad.device });
        if (sizes.length === 0)
          return reshape(
            callOp(indexPutOp, [reshape(blank, [1]), positionsOf(reshape(mask, [1])), grad, false]),
            [],
          );
        return callOp(indexPutOp, [blank, positionsOf(expand(mask, sizes)), grad, false]);
      },
    }),
  },
);

/** A mask as one index per dimension. */
function positionsOf(mask: Tensor): Tensor[] {
  return unbind(nonzero(mask), 1);
}

function withoutMasks(self: Tensor, indices: TensorIndices): (Tensor | null)[] {
  const places: (Tensor | null)[] = [];
  for (const index of indices) {
    if (isTensor(index) && isMask(index)) {
      checkMask(self.sizes, places.length, index);
      places.push(...positionsOf(index));
    } else places.push(index);
  }
  return places;
}

/** self[indices], NumPy's advanced indexing. @throws shape-mismatch, index-out-of-range, dtype-mismatch */
export function indexWith(self: Tensor, indices: TensorIndices): Tensor {
  return callOp(indexOp, [self, withoutMasks(self, indices)]);
}

/** Options of `indexPut` and `put`. */
export interface AccumulateOptions {
  /** Values are added to what is there (default false: written over it). */
  readonly accumulate?: boolean;
}

/** The names of `AccumulateOptions`. */
export const ACCUMULATE: OptionNames<AccumulateOptions> = { accumulate: true };

/** A copy of self with `values` written (or added) at the indices. @throws shape-mismatch, index-out-of-range, dtype-mismatch */
export function indexPutWith(
  self: Tensor,
  indices: TensorIndices,
  values: Tensor,
  accumulate = false,
): Tensor {
  return callOp(indexPutOp, [self, withoutMasks(self, indices), values, accumulate]);
}

/** self[indices] = values, or += values. */
export function indexPutWith_(
  self: Tensor,
  indices: TensorIndices,
  values: Tensor,
  accumulate = false,
): Tensor {
  return callOp(indexPutInplace, [self, withoutMasks(self, indices), values, accumulate]);
}
