/**
 * @file Cholesky factors of blocks: column by column, each of which is taken from what is right of it.
 */
import type { MatrixCode } from './matrix-program.js';

/**
 * Overwrites the lower triangle of a block that begins at row `first` with its factor; `info` as LAPACK has it. Does
 * nothing where an earlier block failed.
 */
export const CHOLESKY: MatrixCode = {
  name: 'cholesky',
  buffers: { a: [2, 'f32'], info: [0, 'i32'] },
  params: ['n', 'first'],
  workgroup: 'var<workgroup> order: i32;',
  refused: 'info_[info(0u, 0u)]',
  body: `  let n = params.n;
  if (lane == 0u) { order = info_[info(0u, 0u)]; }
  for (var k = 0u; k < n; k++) {
    if (workgroupUniformLoad(&order) != 0) { break; }
    let d = a_[a(k, k)];
    sync();
    if (lane == 0u) {
      if (d > 0.0) { a_[a(k, k)] = sqrt(d); } else { order = i32(params.first + k + 1u); }
    }
    let left = n - k - 1u;
    for (var i = lane; i < left; i += THREADS) { a_[a(k + 1u + i, k)] /= sqrt(d); }
    sync();
    for (var at = lane; at < left * left; at += THREADS) {
      let i = k + 1u + at % left;
      let j = k + 1u + at / left;
      if (j <= i) { a_[a(i, j)] -= a_[a(i, k)] * a_[a(j, k)]; }
    }
    sync();
  }
  if (lane == 0u) { info_[info(0u, 0u)] = order; }`,
};
