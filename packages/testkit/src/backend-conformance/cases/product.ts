/**
 * @file Products, convolutions and pooling.
 */
import { functional as F } from '@tessera/nn';
import { addmm, bmm, einsum } from '@tessera/tensor';
import { type ConformanceCase, ramp } from '../conformance-case.js';

const tolerance = { rtol: 1e-4, atol: 1e-4 };

/** See the file header. */
export const PRODUCT_CASES: readonly ConformanceCase[] = [
  {
    name: 'products: matrices, vectors, batches',
    inputs: (call) => [ramp([5, 7], call), ramp([7, 3], call), ramp([2, 5, 7], call)],
    run: (x, y, z) => [x!.matmul(y!), x!.matmul(y!.select(1, 0)), z!.matmul(y!), bmm(z!, z!.mT)],
    tolerance,
  },
  {
    name: 'products: sizes that fill no tile',
    inputs: (call) => [ramp([33, 17], call), ramp([17, 65], call)],
    run: (x, y) => x!.matmul(y!),
    tolerance,
  },
  {
    name: 'products: transposed operands',
    inputs: (call) => [ramp([7, 5], call), ramp([3, 7], call)],
    run: (x, y) => x!.t().matmul(y!.t()),
    tolerance,
  },
  {
    name: 'products: with prologue and epilogue',
    inputs: (call) => [ramp([6, 8], call), ramp([8, 4], call), ramp([4], call)],
    run: (x, w, b) => addmm(b!, x!.relu().mul(2), w!).tanh().add(1),
    tolerance,
  },
  {
    name: 'products: einsum',
    inputs: (call) => [ramp([2, 3, 4], call), ramp([2, 4, 5], call)],
    run: (x, y) => einsum('bij,bjk->bki', x!, y!),
    tolerance,
  },
  {
    name: 'convolutions: one and two dims, stride, padding, groups',
    inputs: (call) => [
      ramp([2, 4, 9, 8], call),
      ramp([6, 2, 3, 3], call),
      ramp([6], call),
      ramp([2, 4, 9], call),
      ramp([3, 4, 3], call),
    ],
    run: (x, w, b, x1, w1) => [
      F.conv2d(x!, w!, { bias: b!, stride: 2, padding: 1, groups: 2 }),
      F.conv1d(x1!, w1!, { dilation: 2 }).relu(),
    ],
    tolerance,
  },
  {
    name: 'convolutions: pooling',
    inputs: (call) => [ramp([1, 2, 8, 6], call)],
    run: (x) => [F.maxPool2d(x!, 2), F.avgPool2d(x!, 3, { stride: 1 })],
  },
  {
    name: 'attention: causal',
    inputs: (call) => [
      ramp([1, 2, 6, 4], call),
      ramp([1, 2, 6, 4], call + 1),
      ramp([1, 2, 6, 4], call + 2),
    ],
    run: (q, k, v) => F.scaledDotProductAttention(q!, k!, v!, { isCausal: true }),
    tolerance,
  },
  {
    name: 'attention: of many rows, with a mask, two heads to one',
    inputs: (call) => [
      ramp([1, 4, 17, 4], call),
      ramp([1, 2, 18, 4], call + 1),
      ramp([1, 2, 18, 4], call + 2),
      ramp([17, 18], call).gt(-1),
    ],
    run: (q, k, v, mask) =>
      F.scaledDotProductAttention(q!, k!, v!, { attnMask: mask!, enableGqa: true }),
    tolerance,
  },
];
