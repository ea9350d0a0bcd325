/**
 * @file Singular values of batches of matrices, and eigenvalues of symmetric ones, by one-sided Jacobi rotations.
 */
import {
  type Tensor,
  cat,
  diagonal,
  eye,
  gather,
  narrow,
  sort,
  sqrt,
  where,
  zeros,
} from '@tessera/tensor';
import type { WgpuRuntime } from '../runtime/device/wgpu-runtime.js';
import { countOf, identities, matrixSizes, qrFactors, turned } from './factorizations.js';
import { ROTATE_PAIRS, SWEEPS } from './jacobi.js';
import { runMatrixCode } from './matrix-program.js';

/** Columns of matrices in another order. */
function inOrder(x: Tensor, order: Tensor): Tensor {
  return gather(x, -1, order.unsqueeze(-2).expand(x.sizes));
}

/** Turns columns until they are orthogonal: `work` becomes x · `right`. */
function orthogonalColumns(
  runtime: WgpuRuntime,
  x: Tensor,
): readonly [work: Tensor, right: Tensor, lengths: Tensor] {
  const [m, n] = matrixSizes(x);
  const batch = x.sizes.slice(0, -2);
  const work = x.clone({ memoryFormat: 'contiguous' });
  const right = identities(batch, n, n);
  const sweeps = zeros([...batch, SWEEPS], { dtype: 'int32', device: 'wgpu' });
  const players = n + (n % 2);
  const rounds = Array.from({ length: SWEEPS * (players - 1) }, (_, i) => {
    const sweep = Math.floor(i / (players - 1));
    return [m, n, i % (players - 1), sweep];
  });
  runMatrixCode(runtime, ROTATE_PAIRS, [work, right, sweeps], {
    count: countOf(x),
    parts: players / 2,
    launches: n > 1 ? rounds : [],
  });
  return [work, right, sqrt(work.mul(work).sum(-2))];
}

/**
 * Ascending eigenvalues of symmetric matrices, and the eigenvectors as columns: singular values of a matrix whose eigenvalues are
 * moved by so much that none is below 0.
 */
export function symmetricEigen(
  runtime: WgpuRuntime,
  x: Tensor,
): readonly [values: Tensor, vectors: Tensor] {
  const main = diagonal(x, 0, -2, -1);
  // No eigenvalue is further from an element of the diagonal than the other elements of its row together. @see Gershgorin
  const least = main.add(main.abs()).sub(x.abs().sum(-1)).amin(-1);
  const shift = least.neg().clamp(0).unsqueeze(-1);
  const one = eye(x.sizes.at(-1)!, null, { device: 'wgpu' });
  const [, right, lengths] = orthogonalColumns(runtime, x.add(one.mul(shift.unsqueeze(-1))));
  const [values, order] = sort(lengths.sub(shift), -1);
  return [values, inOrder(right, order)];
}

/** Singular values, descending, and the vectors of both sides as columns; without `vectors` the values only. */
export function singularValues(
  runtime: WgpuRuntime,
  x: Tensor,
  vectors: 'none' | 'reduced' | 'full',
): readonly [u: Tensor | null, s: Tensor, v: Tensor | null] {
  if (x.sizes.at(-2)! < x.sizes.at(-1)!) {
    const [u, s, v] = singularValues(runtime, turned(x), vectors);
    return [v, s, u];
  }
  const [m, n] = matrixSizes(x);
  const [work, right, lengths] = orthogonalColumns(runtime, x);
  const [s, order] = sort(lengths, -1, { descending: true });
  if (vectors === 'none') return [null, s, null];
  // Columns that are 0 have no direction: reflections complete the basis, and R says which way the others point.
  const columns = vectors === 'full' ? m : n;
  const [packed, q] = qrFactors(runtime, inOrder(work, order), columns);
  const sign = where(diagonal(packed, 0, -2, -1).lt(0), -1, 1)
    .to('float32')
    .unsqueeze(-2);
  const own = narrow(q, -1, 0, n).mul(sign);
  const u = columns === n ? own : cat([own, narrow(q, -1, n, columns - n)], -1);
  return [u, s, inOrder(right, order)];
}
