/**
 * @file Sizes that change from call to call: one compiled function, and where a backend loads templates, one code.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, cat, grad, ones } from '@tessera/tensor';
import { type ConformanceCase, leaf, ramp, whole } from '../conformance-case.js';

const tolerance = { rtol: 1e-4, atol: 1e-4 };

/** Sizes of the calls: below, at and above those of vectors and blocks; 1, which broadcasts; primes; large. */
const SIZES = [5, 8, 3, 16, 1, 31, 2, 67];

/** A case over a size; its inputs are those of the call's. */
function sized(
  name: string,
  inputs: (n: number, call: number) => Tensor[],
  run: ConformanceCase['run'],
): ConformanceCase {
  return {
    name: `sizes: ${name}`,
    calls: SIZES.length,
    inputs: (call) => inputs(SIZES[call]!, call),
    run,
    tolerance,
  };
}

/** See the file header. */
export const SIZE_CASES: readonly ConformanceCase[] = [
  sized(
    'rows that vary, beside a row and a column',
    (n, call) => [leaf([n, 6], call), ramp([6], call + 1), ramp([n, 1], call + 2)],
    (x, row, column) => x!.mul(row!).add(column!).tanh(),
  ),
  sized(
    'columns that vary, and no multiple of anything',
    (n, call) => [leaf([3, n], call), ramp([n], call + 1)],
    (x, row) => [x!.mul(row!).exp(), x!.sum(1), x!.amax(0), x!.argmax(1)],
  ),
  sized(
    'means and variances over what varies',
    (n, call) => [ramp([n + 1, 4], call), ramp([2, n + 1], call)],
    (x, y) => [x!.mean(0), x!.var(0), y!.mean(), y!.std(1)],
  ),
  sized(
    'softmax along what varies, and across',
    (n, call) => [leaf([n, 5], call), leaf([5, n], call)],
    (x, y) => [x!.softmax(0), x!.softmax(1), y!.logSoftmax(1)],
  ),
  sized(
    'products with the varying size in each position',
    (n, call) => [leaf([n, 6], call), leaf([6, 7], call), leaf([n, 7], call)],
    (x, w, y) => [x!.matmul(w!).relu(), x!.t().matmul(y!), y!.matmul(w!.t())],
  ),
  sized(
    'batches of products, with a mask over what varies',
    (n, call) => [leaf([2, n, 4], call), leaf([2, n, 4], call + 1)],
    (q, k) => {
      const n = q!.sizes[1]!;
      const later = ones([n, n], { device: q!.device }).tril().eq(0);
      const scores = q!.matmul(k!.transpose(1, 2)).maskedFill(later, -Infinity);
      return scores.softmax(-1).matmul(k!);
    },
  ),
  sized(
    'transposed copies and flattened rows',
    (n, call) => [ramp([n, 3, 4], call)],
    (x) => [x!.permute([2, 0, 1]).contiguous(), x!.reshape([-1, 4]).mul(2), x!.flatten().add(1)],
  ),
  sized(
    'joined, padded, reversed and cut',
    (n, call) => [leaf([n, 3], call), leaf([n + 2, 3], call + 1)],
    (x, y) => [cat([x!, y!], 0), F.pad(x!, [1, 2]), y!.flip([0]), y!.slice(0, 1, x!.sizes[0]!)],
  ),
  sized(
    'a lookup, and the gradient of its table',
    (n, call) => [leaf([7, 4], call), whole([n], 7, call)],
    (table, at) => F.embedding(at!, table!).square(),
  ),
  sized(
    'images that vary',
    (n, call) => [leaf([1, 2, n + 3, n + 4], call), leaf([3, 2, 3, 3], call), leaf([3], call)],
    (x, w, b) => F.conv2d(x!, w!, { bias: b!, padding: 1 }).relu(),
  ),
  sized(
    'gradients inside, by a loss over what varies',
    (n, call) => [leaf([6, 3], call), ramp([n, 6], call), whole([n], 3, call)],
    (w, x, labels) => grad([F.crossEntropy(x!.matmul(w!), labels!)], [w!]),
  ),
];
