/**
 * @file Repeating and turning: repeat, tile, roll, rot90, fliplr, flipud.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { clone, contiguous } from './copy.js';
import { cat } from './join.js';
import { flip } from '../scan/scan.js';
import { transpose } from '../view/dims.js';
import { narrow } from '../view/slice.js';
import { expand, view } from '../view/view.js';

const repeatOp = defineOp('aten::repeat(Tensor self, SymInt[] repeats) -> Tensor', {
  decompose: ({ self, repeats: times }) => {
    const lead = times.length - self.ndim;
    if (lead < 0 || times.some((n) => n < 0))
      throw new TesseraError(
        'invalid-argument',
        lead < 0
          ? `Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: ${formatSizes(times)} for ${formatSizes(self.sizes)}`
          : `Trying to create tensor with negative dimension: repeats ${formatSizes(times)}`,
        { hints: ['Give one count per dimension.'] },
      );
    const sizes = [...Array<number>(lead).fill(1), ...self.sizes];
    // A dimension for the copies before each dimension, of one element until it is expanded.
    const apart = sizes.flatMap((size) => [1, size]);
    const spread = sizes.flatMap((size, i) => [times[i]!, size]);
    const whole = view(contiguous(self), apart);
    return view(
      clone(expand(whole, spread), { memoryFormat: 'contiguous' }),
      sizes.map((size, i) => size * times[i]!),
    );
  },
});
const tileOp = defineOp('aten::tile(Tensor self, SymInt[] dims) -> Tensor', {
  decompose: ({ self, dims }) => {
    const missing = Math.max(0, self.ndim - dims.length);
    return repeat(self, [...Array<number>(missing).fill(1), ...dims]);
  },
});

function rolled(self: Tensor, shift: number, dim: number): Tensor {
  if (self.numel === 0) return clone(self);
  const at = wrapDim(dim, self.ndim, 'roll');
  const size = self.sizes[at]!;
  const start = (((size - shift) % size) + size) % size;
  return cat([narrow(self, at, start, size - start), narrow(self, at, 0, start)], at);
}

const rollOp = defineOp('aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor', {
  decompose: ({ self, shifts: by, dims: over }) => {
    const flat = over.length === 0 && by.length === 1;
    const problem =
      by.length === 0
        ? '`shifts` required'
        : flat
          ? null
          : by.length !== over.length
            ? `shifts and dimensions must align. shifts: ${by.length}, dims:${over.length}`
            : self.ndim === 0
              ? `Dimension specified as ${over[0]} but tensor has no dimensions`
              : null;
    if (problem !== null)
      throw new TesseraError('invalid-argument', problem, {
        hints: ['Give a shift per dimension.'],
      });
    if (self.numel === 0) return clone(self);
    if (flat) return view(rolled(view(contiguous(self), [-1]), by[0]!, 0), self.sizes);
    return by.reduce((value, shift, i) => rolled(value, shift, over[i]!), self);
  },
});

const rot90Op = defineOp('aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor', {
  decompose: ({ self, k, dims: list }) => {
    const [a, b] = list.map((dim) => wrapDim(dim, self.ndim, 'rot90'));
    if (list.length !== 2 || self.ndim < 2 || a === b)
      throw new TesseraError(
        'invalid-dim',
        list.length === 2 && self.ndim >= 2
          ? `expected rotation dims to be different, but got dim0 = ${list[0]} and dim1 = ${list[1]}`
          : `expected total rotation dims == 2 and total dims >= 2, but got dims = ${list.length} and total dims = ${self.ndim}`,
        { hints: ['Name two dimensions.'] },
      );
    const turns = ((k % 4) + 4) % 4;
    const x = self;
    if (turns === 1) return transpose(flip(x, [b!]), a!, b!);
    if (turns === 2) return flip(x, [a!, b!]);
    if (turns === 3) return transpose(flip(x, [a!]), a!, b!);
    return clone(x, { memoryFormat: 'contiguous' });
  },
});

const fliplrOp = defineOp('aten::fliplr(Tensor self) -> Tensor', {
  decompose: ({ self }) => {
    if (self.ndim < 2) throw tooFlat('fliplr', 2);
    return flip(self, [1]);
  },
});
const flipudOp = defineOp('aten::flipud(Tensor self) -> Tensor', {
  decompose: ({ self }) => {
    if (self.ndim < 1) throw tooFlat('flipud', 1);
    return flip(self, [0]);
  },
});

function tooFlat(name: string, least: number): TesseraError {
  return new TesseraError('invalid-dim', `Input of ${name} must be >= ${least}-d.`, {
    hints: ['Use flip() and name the dimension.'],
  });
}

/** Copies of self side by side, one count per dimension. @throws invalid-argument */
export function repeat(self: Tensor, repeats: readonly number[]): Tensor {
  return callOp(repeatOp, [self, repeats]);
}

/** As `repeat`; missing counts in front are 1. @throws invalid-argument */
export function tile(self: Tensor, dims: readonly number[]): Tensor {
  return callOp(tileOp, [self, dims]);
}

/** Elements moved along dimensions (all, flattened, if none are named); those pushed out return at the start. @throws invalid-dim, invalid-argument */
export function roll(
  self: Tensor,
  shifts: number | readonly number[],
  dims: number | readonly number[] = [],
): Tensor {
  const list = (value: number | readonly number[]): readonly number[] =>
    typeof value === 'number' ? [value] : value;
  return callOp(rollOp, [self, list(shifts), list(dims)]);
}

/** k quarter turns in the plane of two dimensions, from the first towards the second. @throws invalid-dim */
export function rot90(self: Tensor, k = 1, dims: readonly number[] = [0, 1]): Tensor {
  return callOp(rot90Op, [self, k, dims]);
}

/** Columns in reverse order. @throws invalid-dim */
export function fliplr(self: Tensor): Tensor {
  return callOp(fliplrOp, [self]);
}

/** Rows in reverse order. @throws invalid-dim */
export function flipud(self: Tensor): Tensor {
  return callOp(flipudOp, [self]);
}
