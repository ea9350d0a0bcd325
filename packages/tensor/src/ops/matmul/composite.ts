/**
 * @file Matrix products of any rank, in terms of the primitive ones: matmul, linear, outer.
 *
 * Which primitive is used follows PyTorch, so that captured graphs agree: batches fold into rows where
 * one side is a matrix, else both expand to a batched product.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { requiresGrad } from '../../autograd/history.js';
import { isGradEnabled } from '../../autograd/grad-mode.js';
import { broadcastShapes, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { contiguous } from '../arrange/copy.js';
import { addmm, bmm, dot, mm, mv } from './matmul.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { expand, reshape, view } from '../view/view.js';
import { mT, squeeze, t, unsqueeze } from '../view/dims.js';

/** Whether the larger operand can be read as one matrix without a copy that folding would not save. */
function shouldFold(a: Tensor, b: Tensor): boolean {
  const aLarger = a.ndim >= b.ndim;
  const large = aLarger ? a : mT(b);
  const small = aLarger ? b : a;
  if (!(large.ndim >= 3 && small.ndim <= 2)) return false;
  // Expanding the small operand would materialise a large gradient for it.
  if (isGradEnabled() && requiresGrad(small)) return true;
  if (a.ndim === 2) return false;
  if (large.numel === 0) return true;
  for (let i = 0; i < large.ndim - 2; i++)
    if (large.strides[i] !== large.strides[i + 1]! * large.sizes[i + 1]!) return false;
  return true;
}

function folded(a: Tensor, b: Tensor): Tensor {
  const transposed = b.ndim > a.ndim;
  const large = transposed ? mT(b) : a;
  const small = transposed ? (a.ndim === 2 ? t(a) : a) : b;
  const lead = large.sizes.slice(0, -1);
  const rows = reshape(large, [numelOf(lead), large.sizes.at(-1)!]);
  if (small.ndim === 1) return view(mv(rows, small), lead);
  const product = view(mm(rows, small), [...lead, small.sizes[1]!]);
  return transposed ? contiguous(mT(product)) : product;
}

function batched(a: Tensor, b: Tensor): Tensor {
  const n = a.ndim > 1 ? a.sizes.at(-2)! : 1;
  const [m1, m2] = [a.sizes.at(-1)!, b.ndim > 1 ? b.sizes.at(-2)! : b.sizes[0]!];
  const p = b.ndim > 1 ? b.sizes.at(-1)! : 1;
  const batchA = a.sizes.slice(0, -2);
  const batchB = b.sizes.slice(0, -2);
  if (isGradEnabled() && a.ndim === 3 && b.ndim === 3 && batchA[0] !== batchB[0]) {
    if (batchA[0] === 1 && requiresGrad(a)) return matmul(squeeze(a, 0), b);
    if (batchB[0] === 1 && requiresGrad(b)) return matmul(a, squeeze(b, 0));
  }
  const batch = broadcastShapes([batchA, batchB], 'matmul');
  const count = numelOf(batch);
  const left = reshape(expand(a, [...batch, n, m1]), [count, n, m1]);
  const vector = b.ndim === 1;
  const right = vector
    ? unsqueeze(reshape(expand(b, [...batch, m2]), [count, m2]), 2)
    : reshape(expand(b, [...batch, m2, p]), [count, m2, p]);
  const product = bmm(left, right);
  const shape = [...batch, ...(a.ndim > 1 ? [n] : []), ...(vector ? [] : [p])];
  return view(vector ? squeeze(product, -1) : product, shape);
}

const matmulOp = defineOp('aten::matmul(Tensor self, Tensor other) -> Tensor', {
  decompose: (args) => {
    const a = args.self;
    const b = args.other;
    if (a.ndim === 0 || b.ndim === 0) {
      throw new TesseraError(
        'shape-mismatch',
        `both arguments to matmul need to be at least 1D, but they are ${a.ndim}D and ${b.ndim}D`,
        { hints: ['Use mul() to scale by a 0-d tensor.'] },
      );
    }
    if (a.ndim === 1 && b.ndim === 1) return dot(a, b);
    if (a.ndim === 2 && b.ndim === 1) return mv(a, b);
    if (a.ndim === 1 && b.ndim === 2) return squeeze(mm(unsqueeze(a, 0), b), 0);
    if (a.ndim === 2 && b.ndim === 2) return mm(a, b);
    return shouldFold(a, b) ? folded(a, b) : batched(a, b);
  },
});

const linearOp = defineOp(
  'aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor',
  {
    decompose: (args) => {
      const input = args.input;
      const weight = args.weight;
      const bias = args.bias;
      const features = weight.ndim === 2 ? weight.sizes[1] : undefined;
      if (features !== undefined && input.sizes.at(-1) !== features) {
        throw new TesseraError(
          'shape-mismatch',
          `linear: input of shape [${input.sizes.join(', ')}] has ${input.sizes.at(-1) ?? 0} features, but weight of shape [${weight.sizes.join(', ')}] takes ${features}`,
          { hints: ['The last dimension of the input must equal in_features.'] },
        );
      }
      if (bias !== null && weight.ndim === 2 && input.ndim === 2)
        return addmm(bias, input, t(weight));
      if (bias !== null && weight.ndim === 2 && input.ndim > 2 && input.isContiguous()) {
        const rows = view(input, [numelOf(input.sizes.slice(0, -1)), input.sizes.at(-1)!]);
        return view(addmm(bias, rows, t(weight)), [...input.sizes.slice(0, -1), weight.sizes[0]!]);
      }
      const product = matmul(input, t(weight));
      return bias === null ? product : add(product, bias);
    },
  },
);

const outerOp = defineOp('aten::outer(Tensor self, Tensor vec2) -> Tensor', {
  decompose: ({ self, vec2 }) => {
    for (const [name, { ndim }] of Object.entries({ self, vec2 }))
      if (ndim !== 1)
        throw new TesseraError(
          'shape-mismatch',
          `outer: Expected 1-D argument ${name}, but got ${ndim}-D`,
          { hints: ['Flatten it: reshape([-1]).'] },
        );
    return mul(unsqueeze(self, 1), vec2);
  },
});

/** Matrix product of any ranks: vectors, matrices, broadcast batches of matrices. @throws shape-mismatch, dtype-mismatch */
export function matmul(self: Tensor, other: Tensor): Tensor {
  return callOp(matmulOp, [self, other]);
}

/** input @ weightᵀ + bias, […, in] → […, out] with weight [out, in]. @throws shape-mismatch, dtype-mismatch */
export function linear(input: Tensor, weight: Tensor, bias: Tensor | null = null): Tensor {
  return callOp(linearOp, [input, weight, bias]);
}

/** Outer product of two vectors, [M], [N] → [M, N]. */
export function outer(self: Tensor, vec2: Tensor): Tensor {
  return callOp(outerOp, [self, vec2]);
}
