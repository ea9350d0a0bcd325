/**
 * @file Views of another rank or with all dimensions turned: ravel, atleast_*d, mH, H, T.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { contiguous } from '../arrange/copy.js';
import { mT, transpose, unsqueeze } from './dims.js';
import { permute, reshape, view } from './view.js';

const ravelOp = defineOp('aten::ravel(Tensor(a) self) -> Tensor(a)', {
  decompose: ({ self }) => view(contiguous(self), [-1]),
});

/** @throws invalid-dim */
function needsMatrix(self: Tensor, name: string, fits: boolean): void {
  if (fits || self.ndim === 0) return;
  throw new TesseraError('invalid-dim', `${name} is for matrices, not a ${self.ndim}-D tensor.`, {
    hints: ['Use permute() or transpose() for other ranks.'],
  });
}

// Real tensors only: the conjugate transpose is the transpose.
const mHOp = defineOp('aten::mH(Tensor(a) self) -> Tensor(a)', {
  decompose: ({ self }) => {
    needsMatrix(self, 'mH', self.ndim >= 2);
    return self.ndim === 0 ? self : mT(self);
  },
});
const matrixHOp = defineOp('aten::matrix_H(Tensor(a) self) -> Tensor(a)', {
  decompose: ({ self }) => {
    needsMatrix(self, 'H', self.ndim === 2);
    return self.ndim === 0 ? self : transpose(self, 0, 1);
  },
});
const numpyTOp = defineOp('aten::numpy_T(Tensor(a) self) -> Tensor(a)', {
  decompose: ({ self }) =>
    permute(
      self,
      self.sizes.map((_, i) => self.ndim - 1 - i),
    ),
});

/** Defines `atleast_nd` for a tensor and for a list. */
function defineAtLeast(
  rank: number,
  raise: (self: Tensor) => Tensor,
): readonly [single: OpOverload<Tensor>, list: OpOverload<Tensor[]>] {
  return [
    defineOp(`aten::atleast_${rank}d(Tensor self) -> Tensor`, {
      decompose: ({ self }) => raise(self),
    }),
    defineOp(`aten::atleast_${rank}d.Sequence(Tensor[] tensors) -> Tensor[]`, {
      decompose: ({ tensors }) => tensors.map(raise),
    }),
  ];
}

const atLeast1 = defineAtLeast(1, (x) => (x.ndim === 0 ? reshape(x, [1]) : x));
const atLeast2 = defineAtLeast(2, (x) =>
  x.ndim === 0 ? reshape(x, [1, 1]) : x.ndim === 1 ? unsqueeze(x, 0) : x,
);
const atLeast3 = defineAtLeast(3, (x) =>
  x.ndim === 0
    ? reshape(x, [1, 1, 1])
    : x.ndim === 1
      ? unsqueeze(unsqueeze(x, 0), -1)
      : x.ndim === 2
        ? unsqueeze(x, -1)
        : x,
);

/** Function of a tensor or a list that returns the same. */
export interface AtLeast {
  (self: Tensor): Tensor;
  (tensors: readonly Tensor[]): Tensor[];
}

function atLeastFunction([single, list]: readonly [
  OpOverload<Tensor>,
  OpOverload<Tensor[]>,
]): AtLeast {
  return ((input: Tensor | readonly Tensor[]) =>
    callOp<unknown>(isTensor(input) ? single : list, [input])) as AtLeast;
}

/** Properties of tensors. */
export interface Transposed {
  /** All dimensions in reverse order. */
  readonly T: Tensor;
  /** The last two dimensions swapped. @throws invalid-dim */
  readonly mT: Tensor;
  /** The conjugate transpose of a matrix. @throws invalid-dim */
  readonly H: Tensor;
  /** The last two dimensions swapped (and conjugated, which real numbers do not notice). @throws invalid-dim */
  readonly mH: Tensor;
}

/** Elements as a vector; copies only when a view is impossible. */
export function ravel(self: Tensor): Tensor {
  return callOp(ravelOp, [self]);
}

/** The last two dimensions swapped (and conjugated, which real numbers do not notice). @throws invalid-dim */
export function mH(self: Tensor): Tensor {
  return callOp(mHOp, [self]);
}

/** The conjugate transpose of a matrix. @throws invalid-dim */
export function H(self: Tensor): Tensor {
  return callOp(matrixHOp, [self]);
}

/** All dimensions in reverse order. */
export function T(self: Tensor): Tensor {
  return callOp(numpyTOp, [self]);
}

/** Scalars become vectors of one element. */
export const atleast1d: AtLeast = atLeastFunction(atLeast1);

/** Scalars and vectors become matrices of one row. */
export const atleast2d: AtLeast = atLeastFunction(atLeast2);

/** Lower ranks become [1, N, 1] or [M, N, 1]. */
export const atleast3d: AtLeast = atLeastFunction(atLeast3);
