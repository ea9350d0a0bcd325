/**
 * @file Padding with a constant.
 */
import { TesseraError, type ScalarLike } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../kernels/elements.js';
import { scalarValue } from '../kernels/pointwise-kernel.js';
import { channelsLastStrides, isChannelsLast } from '../kernels/pointwise-strides.js';
import { defineOp } from '../op/op-overload.js';
import type { NamedArgs } from '../op/op-record.js';
import { contiguousStrides, formatSizes } from '../shape.js';
import { makeTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';

/** Elements added before and after each dim (negative: removed), by dim. @throws invalid-argument */
function padsByDim({ self, pad }: NamedArgs): { before: number[]; after: number[] } {
  const list = pad as number[];
  const ndim = self.ndim as number;
  if (list.length % 2 !== 0 || list.length > 2 * ndim) {
    throw new TesseraError(
      'invalid-argument',
      `constant_pad_nd: pad ${formatSizes(list)} does not fit a ${ndim}-d tensor`,
      { hints: ['Give two numbers per padded dimension, the last dimension first.'] },
    );
  }
  const before = new Array<number>(ndim).fill(0);
  const after = new Array<number>(ndim).fill(0);
  for (let i = 0; i < list.length / 2; i++) {
    before[ndim - 1 - i] = list[2 * i]!;
    after[ndim - 1 - i] = list[2 * i + 1]!;
  }
  return { before, after };
}

const padOp = defineOp(
  'aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor',
  {
    meta: (args) => {
      const self = args.self as Tensor;
      const { before, after } = padsByDim(args);
      const sizes = self.sizes.map((size, i) => size + before[i]! + after[i]!);
      if (sizes.some((size) => size < 0)) {
        throw new TesseraError(
          'shape-mismatch',
          `constant_pad_nd: The input size ${formatSizes(self.sizes)}, plus negative padding ${formatSizes(args.pad as number[])} resulted in a negative output size`,
          { hints: ['Remove no more elements than there are.'] },
        );
      }
      const channelsLast = isChannelsLast(self.sizes, self.strides) && !self.isContiguous();
      return {
        sizes,
        strides: channelsLast ? channelsLastStrides(sizes) : contiguousStrides(sizes),
        dtype: self.dtype,
        device: self.device,
      };
    },
    kernel: (args, [out]) => {
      const self = args.self as Tensor;
      const { before, after } = padsByDim(args);
      writeNumbers(out!, new Float64Array(out!.numel).fill(scalarValue(args.value as ScalarLike)));
      // What is kept of self, and where it lies in the result.
      const sizes = self.sizes.map((size, i) =>
        Math.max(0, size + Math.min(before[i]!, 0) + Math.min(after[i]!, 0)),
      );
      const from =
        self.storageOffset +
        before.reduce((at, pad, i) => at + Math.max(-pad, 0) * self.strides[i]!, 0);
      const to =
        out!.storageOffset +
        before.reduce((at, pad, i) => at + Math.max(pad, 0) * out!.strides[i]!, 0);
      const source = makeTensor(self.storage, self.dtype, self.device, sizes, self.strides, from);
      writeNumbers(
        makeTensor(out!.storage, out!.dtype, out!.device, sizes, out!.strides, to),
        readNumbers(source),
      );
    },
    vjp: ({ pad }, { grad }) => ({
      self: () =>
        constantPad(
          grad,
          (pad as number[]).map((n) => -n),
        ),
    }),
  },
);

/** Pads with a number: two counts per dimension, the last dimension first; negative counts crop. @throws invalid-argument, shape-mismatch */
export function constantPad(self: Tensor, pad: readonly number[], value: ScalarLike = 0): Tensor {
  return callOp(padOp, [self, pad, value]) as Tensor;
}
