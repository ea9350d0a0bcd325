/**
 * @file Calls of views, joins, contractions, distances and norms whose derivatives are checked.
 */
import {
  channelShuffle,
  pixelShuffle,
  pixelUnshuffle,
  type Tensor,
  bilinear,
  blockDiag,
  cartesianProd,
  cdist,
  columnStack,
  combinations,
  cosineSimilarity,
  dstack,
  einsum,
  fromTypedArray,
  gradient,
  meshgrid,
  pad,
  pairwiseDistance,
  pdist,
  tensor,
} from '../../src/index.js';
import { chunkCat, permuteCopy, unbindCopy } from '../../src/internal.js';
import * as linalg from '../../src/linalg.js';
import type { Differentiable } from './gradient-check.js';

/** Distinct values away from 0 and from integers, so that kinks are not near. */
function values(...sizes: number[]): Tensor {
  const count = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float64Array.from(
      { length: count },
      (_, i) => (((i * 7919) % 97) / 97 - 0.45) * 2.6 + 0.013 * i,
    ),
    sizes,
  );
}

/** Squares first, so that second derivatives are not zero. */
function squared(fn: (x: Tensor) => Tensor | Tensor[]): Differentiable {
  return (x) => fn(x!.mul(x!));
}

/** Name, function, inputs. */
export const shapeCases: readonly (readonly [string, Differentiable, readonly Tensor[]])[] = [
  ['unfold, overlapping', squared((x) => x.unfold(1, 3, 2)), [values(2, 6)]],
  ['view copies', squared((x) => [permuteCopy(x, [1, 0]), ...unbindCopy(x, 1)]), [values(2, 3)]],
  ['tensorSplit', squared((x) => x.tensorSplit([1, 3], 1)), [values(2, 4)]],
  ['blockDiag', (a, b) => blockDiag([a!.mul(a!), b!]), [values(2, 3), values(2)]],
  [
    'stacks',
    (a, b) => [dstack([a!, b!.mul(a!)]), columnStack([a!, b!])],
    [values(2, 2), values(2, 2).flip(0)],
  ],
  ['chunkCat', (a, b) => chunkCat([a!.mul(a!), b!], 0, 2), [values(3, 2), values(2, 2)]],
  ['diag and diagEmbed', squared((x) => [x.diag(1), x.diagEmbed(), x.trace()]), [values(3, 3)]],
  [
    'repeat and roll',
    squared((x) => [x.repeat([2, 1, 2]), x.roll([1, 2], [0, 1])]),
    [values(2, 3)],
  ],
  ['rot90', squared((x) => x.rot90(1)), [values(2, 3)]],
  [
    'repeatInterleave',
    squared((x) => [
      x.repeatInterleave(2, 1),
      x.repeatInterleave(tensor([0, 2], { dtype: 'int64' }), 0),
    ]),
    [values(2, 3)],
  ],
  [
    'pixelShuffle',
    squared((x) => channelShuffle(pixelUnshuffle(pixelShuffle(x, 2), 2), 2)),
    [values(1, 4, 1, 2)],
  ],
  [
    'grids',
    (a, b) => [...meshgrid([a!.mul(a!), b!]), cartesianProd([a!, b!.mul(b!)])],
    [values(2), values(3)],
  ],
  ['combinations', squared((x) => combinations(x, 2)), [values(4)]],
  [
    'diff and gradient',
    squared((x) => [x.diff(2), ...gradient(x, { spacing: 0.5, edgeOrder: 2 })]),
    [values(3, 4)],
  ],
  ['pad, circular', squared((x) => pad(x, [1, 2], { mode: 'circular' })), [values(1, 1, 3)]],
  ['einsum', (a, b) => einsum('bij,bjk->ki', a!, b!), [values(2, 2, 3), values(2, 3, 2)]],
  [
    'einsum with a diagonal',
    (a, b) => einsum('ii,i...->...', a!, b!),
    [values(2, 2), values(2, 3)],
  ],
  [
    'tensordot, inner, kron',
    (a, b) => [a!.tensordot(b!, [[1], [1]]), a!.inner(b!), a!.kron(b!)],
    [values(2, 3), values(2, 3).flip(0)],
  ],
  ['bilinear', (a, b, w) => bilinear(a!, b!, w!), [values(2, 2), values(2, 3), values(2, 2, 3)]],
  [
    'addbmm',
    (x, a, b) => x!.addbmm(a!, b!, { beta: 2, alpha: 0.5 }),
    [values(2, 2), values(2, 2, 3), values(2, 3, 2)],
  ],
  [
    'addmv and addr',
    (x, m, v) => [x!.addmv(m!, v!, { beta: 2 }), m!.addr(x!, v!, { alpha: 3 })],
    [values(2), values(2, 3), values(3)],
  ],
  ['cross', (a, b) => linalg.cross(a!, b!), [values(2, 3), values(2, 3).flip(0)]],
  ['cov and corrcoef', (x) => [x!.cov(), x!.corrcoef()], [values(2, 5)]],
  [
    'cdist',
    (a, b) => [cdist(a!, b!), cdist(a!, b!, { p: 3 }), cdist(a!, b!, { p: 1.5 })],
    [values(2, 3), values(3, 3).flip(0).add(0.31)],
  ],
  ['pdist', (x) => [pdist(x!), pdist(x!, { p: 3 })], [values(3, 2)]],
  [
    'pairwiseDistance and dist',
    (a, b) => [pairwiseDistance(a!, b!), a!.dist(b!, { p: 3 })],
    [values(2, 3), values(2, 3).flip(1)],
  ],
  ['cosineSimilarity', (a, b) => cosineSimilarity(a!, b!), [values(2, 3), values(2, 3).flip(0)]],
  ['renorm', (x) => x!.renorm(2, 0, 1), [values(2, 3)]],
  [
    'matrix norms',
    (x) => [
      linalg.norm(x!, 'nuc'),
      linalg.norm(x!, 2),
      linalg.norm(x!, -2),
      linalg.norm(x!, 1),
      linalg.norm(x!, 'fro'),
    ],
    [values(2, 3)],
  ],
  ['singular values', (x) => linalg.svdvals(x!), [values(2, 3, 2)]],
  ['qr, tall', (x) => [...linalg.qr(x!)], [values(3, 2)]],
  ['qr, wide', (x) => [...linalg.qr(x!)], [values(2, 4)]],
  [
    'solveTriangular',
    (a, b) => [
      linalg.solveTriangular(a!, b!, { upper: true }),
      linalg.solveTriangular(a!, b!, { upper: false, left: false, unitriangular: true }),
    ],
    [values(2, 2).add(2), values(2, 2)],
  ],
  ['logdet', (x) => linalg.slogdet(x!)[1], [values(2, 2).add(1)]],
  ['matrixExp', (x) => linalg.matrixExp(x!), [values(2, 2)]],
  ['pinv', (x) => [linalg.pinv(x!), linalg.pinv(x!.mT)], [values(2, 3)]],
];
