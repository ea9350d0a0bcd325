/**
 * @file Padding with a constant; `pad` with any mode.
 */
import { type ScalarLike, type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readElements, writeNumbers } from '../../kernels/elements.js';
import { scalarValue } from '../../kernels/pointwise-kernel.js';
import { preservedStrides } from '../../kernels/pointwise-strides.js';
import { imageMeta } from '../../kernels/suggest-format.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes } from '../../shape.js';
import { makeTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { clone } from '../arrange/copy.js';
import { cat } from '../arrange/join.js';
import { slice } from '../view/slice.js';
import { reflectionPad, replicationPad } from './pad-edge.js';

/** Elements added before and after each dim (negative: removed), by dim. @throws invalid-argument */
function padsByDim({ self, pad }: { self: Tensor; pad: readonly number[] }): {
  before: number[];
  after: number[];
} {
  const list = pad;
  const ndim = self.ndim;
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
      const self = args.self;
      const { before, after } = padsByDim(args);
      const sizes = self.sizes.map((size, i) => size + before[i]! + after[i]!);
      if (sizes.some((size) => size < 0)) {
        throw new TesseraError(
          'shape-mismatch',
          `constant_pad_nd: The input size ${formatSizes(self.sizes)}, plus negative padding ${formatSizes(args.pad)} resulted in a negative output size`,
          { hints: ['Remove no more elements than there are.'] },
        );
      }
      const meta = imageMeta(self, sizes);
      // What only takes away is a copy of a part.
      const isPart = args.pad.every((count) => count <= 0);
      return isPart ? { ...meta, strides: preservedStrides(sizes, self.strides) } : meta;
    },
    kernel: (args, [out]) => {
      const self = args.self;
      const { before, after } = padsByDim(args);
      writeNumbers(out!, new Float64Array(out!.numel).fill(scalarValue(args.value)));
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
        readElements(source),
      );
    },
    vjp: ({ pad }, { grad }) => ({
      self: () =>
        constantPad(
          grad,
          pad.map((n) => -n),
        ),
    }),
  },
);

/** How `pad` fills: a number, the mirrored inside, the edge, or the other end. */
export type PadMode = 'constant' | 'reflect' | 'replicate' | 'circular';

/** @throws invalid-argument always */
function refuse(message: string): never {
  throw new TesseraError('invalid-argument', message, {
    hints: [
      "Modes other than 'constant' pad the last 1, 2 or 3 dimensions of a (batch of) image(s).",
    ],
  });
}

/** One dimension filled from its other end; negative counts crop. */
function wrapped(self: Tensor, dim: number, before: number, after: number): Tensor {
  const size = self.sizes[dim]!;
  if (before > size || after > size) refuse('Padding value causes wrapping around more than once.');
  if (size + before + after < 0)
    refuse('Negative padding value is resulting in an empty dimension.');
  const inside = slice(self, dim, Math.max(-before, 0), size - Math.max(-after, 0));
  const length = inside.sizes[dim]!;
  const parts = [inside];
  if (before > 0) parts.unshift(slice(inside, dim, length - before, length));
  if (after > 0) parts.push(slice(inside, dim, 0, after));
  return parts.length === 1 ? inside : cat(parts, dim);
}

function circular(self: Tensor, pads: readonly number[]): Tensor {
  let result = self;
  for (let i = 0; i < pads.length / 2; i++)
    result = wrapped(result, self.ndim - 1 - i, pads[2 * i]!, pads[2 * i + 1]!);
  return result === self ? clone(self) : clone(result, { memoryFormat: 'contiguous' });
}

const padAnyOp = defineOp(
  'aten::pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor',
  {
    decompose: ({ self: x, pad: given, mode, value }) => {
      const pads = given;
      if (mode === 'constant') return constantPad(x, pads, value ?? 0);
      if (value !== null && value !== 0)
        refuse(`Padding mode "${mode}" doesn't take in value argument`);
      const dims = pads.length / 2;
      const images = [1, 2, 3].includes(dims) && (x.ndim === dims + 1 || x.ndim === dims + 2);
      if (!images)
        refuse(
          `Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: ${pads.length} counts for a ${x.ndim}-d tensor`,
        );
      if (mode === 'circular') return circular(x, pads);
      if (mode === 'reflect') return reflectionPad(x, pads);
      if (mode === 'replicate') return replicationPad(x, pads);
      return refuse(`Unrecognised padding mode ${mode}`);
    },
  },
);

const MODE_VALUE: OptionNames<{ mode?: PadMode; value?: number | null }> = {
  mode: true,
  value: true,
};

/** Pads: two counts per dimension, the last dimension first; a mode says with what. @throws invalid-argument, shape-mismatch */
export function pad(
  self: Tensor,
  padding: readonly number[],
  options: { mode?: PadMode; value?: number | null } = {},
): Tensor {
  checkOptionNames('pad', options, MODE_VALUE);
  const { mode = 'constant', value = null } = options;
  return callOp(padAnyOp, [self, padding, mode, value]);
}

/** Pads with a number: two counts per dimension, the last dimension first; negative counts crop. @throws invalid-argument, shape-mismatch */
export function constantPad(self: Tensor, pad: readonly number[], value: ScalarLike = 0): Tensor {
  return callOp(padOp, [self, pad, value]);
}
