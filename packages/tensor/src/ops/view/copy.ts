/**
 * @file Views as row-major copies: `permute_copy` and its kin, which functionalized graphs name.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import { defineViewCopy } from '../../op/view-copy.js';
import type { Tensor } from '../../tensor.js';
import { clone } from '../arrange/copy.js';
import { squeezeDimOp, squeezeDimsOp, squeezeOp, tOp, transposeOp, unsqueezeOp } from './dims.js';
import { diagonalOp, narrowOp, selectOp, sliceOp } from './slice.js';
import { splitOp, splitSizesOp, unbindOp } from './split.js';
import { aliasOp } from './alias.js';
import { asStridedOp } from './strided.js';
import { unfoldOp } from './unfold.js';
import { expandOp, permuteOp, reshape, viewOp } from './view.js';

const aliasCopyOp = defineViewCopy(aliasOp);
const asStridedCopyOp = defineViewCopy(asStridedOp);
const diagonalCopyOp = defineViewCopy(diagonalOp);
const expandCopyOp = defineViewCopy(expandOp);
const narrowCopyOp = defineViewCopy(narrowOp);
const permuteCopyOp = defineViewCopy(permuteOp);
const selectCopyOp = defineViewCopy(selectOp);
const sliceCopyOp = defineViewCopy(sliceOp);
const splitCopyOp = defineViewCopy(splitOp);
const splitSizesCopyOp = defineViewCopy(splitSizesOp);
const squeezeCopyOp = defineViewCopy(squeezeOp);
const squeezeDimCopyOp = defineViewCopy(squeezeDimOp);
const squeezeDimsCopyOp = defineViewCopy(squeezeDimsOp);
const tCopyOp = defineViewCopy(tOp);
const transposeCopyOp = defineViewCopy(transposeOp);
const unbindCopyOp = defineViewCopy(unbindOp);
const unfoldCopyOp = defineViewCopy(unfoldOp);
const unsqueezeCopyOp = defineViewCopy(unsqueezeOp);
// A copy needs no view that exists.
const viewCopyOp = withOverloads(
  defineViewCopy(viewOp, ({ self, size }) => reshape(self, size)),
  defineOp('aten::lift_fresh_copy(Tensor self) -> Tensor', {
    decompose: ({ self }) => clone(self, { memoryFormat: 'contiguous' }),
  }),
);

/** A row-major copy with gradient history. */
export function aliasCopy(self: Tensor): Tensor {
  return callOp(aliasCopyOp, [self]);
}

/** A copy of `asStrided`. @throws invalid-argument, shape-mismatch */
export function asStridedCopy(
  self: Tensor,
  size: readonly number[],
  stride: readonly number[],
  storageOffset: number | null = null,
): Tensor {
  return callOp(asStridedCopyOp, [self, size, stride, storageOffset]);
}

/** A copy of `diagonal`. @throws invalid-dim */
export function diagonalCopy(self: Tensor, offset = 0, dim1 = 0, dim2 = 1): Tensor {
  return callOp(diagonalCopyOp, [self, offset, dim1, dim2]);
}

/** A copy of `expand`. @throws shape-mismatch */
export function expandCopy(self: Tensor, size: readonly number[]): Tensor {
  return callOp(expandCopyOp, [self, size, false]);
}

/** A copy of `narrow`. @throws index-out-of-range, invalid-dim */
export function narrowCopy(self: Tensor, dim: number, start: number, length: number): Tensor {
  return callOp(narrowCopyOp, [self, dim, start, length]);
}

/** A copy of `permute`. @throws invalid-dim */
export function permuteCopy(self: Tensor, dims: readonly number[]): Tensor {
  return callOp(permuteCopyOp, [self, dims]);
}

/** A copy of `select`. @throws index-out-of-range, invalid-dim */
export function selectCopy(self: Tensor, dim: number, index: number): Tensor {
  return callOp(selectCopyOp, [self, dim, index]);
}

/** A copy of `slice`. @throws invalid-dim */
export function sliceCopy(
  self: Tensor,
  dim = 0,
  start: number | null = null,
  end: number | null = null,
  step = 1,
): Tensor {
  return callOp(sliceCopyOp, [self, dim, start, end, step]);
}

/** Copies of the parts of `split`. @throws shape-mismatch, invalid-dim */
export function splitCopy(self: Tensor, size: number | readonly number[], dim = 0): Tensor[] {
  const op = typeof size === 'number' ? splitCopyOp : splitSizesCopyOp;
  return callOp(op, [self, size, dim]);
}

/** A copy of `squeeze`. @throws invalid-dim */
export function squeezeCopy(self: Tensor, dim: number | readonly number[] | null = null): Tensor {
  if (dim === null) return callOp(squeezeCopyOp, [self]);
  const op = typeof dim === 'number' ? squeezeDimCopyOp : squeezeDimsCopyOp;
  return callOp(op, [self, dim]);
}

/** A copy of `t`. @throws invalid-dim */
export function tCopy(self: Tensor): Tensor {
  return callOp(tCopyOp, [self]);
}

/** A copy of `transpose`. @throws invalid-dim */
export function transposeCopy(self: Tensor, dim0: number, dim1: number): Tensor {
  return callOp(transposeCopyOp, [self, dim0, dim1]);
}

/** Copies of the parts of `unbind`. @throws invalid-dim */
export function unbindCopy(self: Tensor, dim = 0): Tensor[] {
  return callOp(unbindCopyOp, [self, dim]);
}

/** A copy of `unfold`. @throws invalid-dim, invalid-argument */
export function unfoldCopy(self: Tensor, dimension: number, size: number, step: number): Tensor {
  return callOp(unfoldCopyOp, [self, dimension, size, step]);
}

/** A copy of `unsqueeze`. @throws invalid-dim */
export function unsqueezeCopy(self: Tensor, dim: number): Tensor {
  return callOp(unsqueezeCopyOp, [self, dim]);
}

/** A copy in another shape. @throws shape-mismatch */
export function viewCopy(self: Tensor, size: readonly number[]): Tensor {
  return callOp(viewCopyOp, [self, size]);
}
