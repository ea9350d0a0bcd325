/**
 * @file Cholesky factors: column by column, each of which is taken from what is right of it.
 */
import type { MatrixCode } from './matrix-program.js';

/** Overwrites the lower triangles of `a` with the factors, and the upper ones with zeros; `info` as LAPACK has it. */
export const CHOLESKY: MatrixCode = {
  name: 'cholesky',
  buffers: { a: [2, 'f32'], info: [0, 'i32'] },
  params: ['n'],
  workgroup: 'var<workgroup> order: u32;',
  refused: 'info_[info(0u, 0u)]',
  body: `  let n = params.n;
  for (var k = 0u; k < n; k++) {
    if (lane == 0u) {
      let d = a_[a(k, k)];
      if (d > 0.0) { a_[a(k, k)] = sqrt(d); } else { order = k + 1u; }
    }
    sync();
    if (workgroupUniformLoad(&order) != 0u) { break; }
    let d = a_[a(k, k)];
    let left = n - k - 1u;
    for (var i = lane; i < left; i += THREADS) { a_[a(k + 1u + i, k)] /= d; }
    sync();
    for (var at = lane; at < left * left; at += THREADS) {
      let i = k + 1u + at % left;
      let j = k + 1u + at / left;
      if (j <= i) { a_[a(i, j)] -= a_[a(i, k)] * a_[a(j, k)]; }
    }
    sync();
  }
  for (var at = lane; at < n * n; at += THREADS) {
    let i = at % n;
    let j = at / n;
    if (i < j) { a_[a(i, j)] = 0.0; }
  }
  if (lane == 0u) { info_[info(0u, 0u)] = i32(order); }`,
};
