/**
 * @file LU factors with partial pivoting, and the row swaps that they stand for.
 */
import { LARGEST } from './largest-value.js';
import type { MatrixCode } from './matrix-program.js';

/**
 * Overwrites a panel that begins at row and column `first` with both factors; `pivots` and `info` as LAPACK has them. Without
 * `pivot` no rows are swapped.
 */
export const LU: MatrixCode = {
  name: 'lu',
  buffers: { a: [2, 'f32'], pivots: [1, 'i32'], info: [0, 'i32'] },
  params: ['m', 'n', 'pivot', 'first'],
  workgroup: LARGEST,
  refused: 'info_[info(0u, 0u)]',
  body: `  let m = params.m;
  let n = params.n;
  var singular = info_[info(0u, 0u)];
  sync();
  for (var k = 0u; k < min(m, n); k++) {
    largest[lane] = -1.0;
    place[lane] = k;
    if (params.pivot != 0u) {
      for (var i = k + lane; i < m; i += THREADS) {
        let size = abs(a_[a(i, k)]);
        if (size > largest[lane]) { largest[lane] = size; place[lane] = i; }
      }
    }
    reduce(lane);
    let row = workgroupUniformLoad(&place[0]);
    if (row != k) {
      for (var j = lane; j < n; j += THREADS) {
        let above = a_[a(k, j)];
        a_[a(k, j)] = a_[a(row, j)];
        a_[a(row, j)] = above;
      }
    }
    sync();
    let d = a_[a(k, k)];
    if (d == 0.0 && singular == 0) { singular = i32(params.first + k + 1u); }
    if (lane == 0u) { pivots_[pivots(k, 0u)] = i32(params.first + row + 1u); }
    let below = m - k - 1u;
    if (d != 0.0) {
      for (var i = lane; i < below; i += THREADS) { a_[a(k + 1u + i, k)] /= d; }
    }
    sync();
    for (var at = lane; at < below * (n - k - 1u); at += THREADS) {
      let i = k + 1u + at % below;
      let j = k + 1u + at / below;
      a_[a(i, j)] -= a_[a(i, k)] * a_[a(k, j)];
    }
    sync();
  }
  if (lane == 0u) { info_[info(0u, 0u)] = singular; }`,
};

/** Swaps the rows of `b`, which begins at row `first`, as `pivots` say, in their order. */
export const SWAP_ROWS: MatrixCode = {
  name: 'swap_rows',
  buffers: { b: [2, 'f32'], pivots: [1, 'i32'] },
  params: ['swaps', 'width', 'first'],
  body: `  for (var j = lane; j < params.width; j += THREADS) {
    for (var k = 0u; k < params.swaps; k++) {
      let row = u32(pivots_[pivots(k, 0u)]) - params.first - 1u;
      let above = b_[b(k, j)];
      b_[b(k, j)] = b_[b(row, j)];
      b_[b(row, j)] = above;
    }
  }`,
};

/** Where each row came from after the swaps, or went to if `inverse`; int64 has 32 bits here. `order` is scratch. */
export const PERMUTATION: MatrixCode = {
  name: 'pivots_to_permutation',
  buffers: { pivots: [1, 'i32'], order: [1, 'i32'], out: [1, 'i32'] },
  params: ['swaps', 'rows', 'inverse'],
  body: `  if (lane == 0u) {
    for (var i = 0u; i < params.rows; i++) { order_[order(i, 0u)] = i32(i); }
    for (var k = 0u; k < params.swaps; k++) {
      let row = u32(pivots_[pivots(k, 0u)] - 1);
      let above = order_[order(k, 0u)];
      order_[order(k, 0u)] = order_[order(row, 0u)];
      order_[order(row, 0u)] = above;
    }
    for (var i = 0u; i < params.rows; i++) {
      let source = order_[order(i, 0u)];
      if (params.inverse != 0u) { out_[out(u32(source), 0u)] = i32(i); }
      else { out_[out(i, 0u)] = source; }
    }
  }`,
};
