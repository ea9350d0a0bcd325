/**
 * @file Systems with a triangular matrix: row after row, taken from those that follow.
 */
import type { MatrixCode } from './matrix-program.js';

/** Columns of `b` that one workgroup solves for. */
export const COLUMNS = 16;

/** Overwrites `b` with the solution; only that triangle of `a` is read, with ones on its diagonal if `unit`. */
export const SOLVE_TRIANGLE: MatrixCode = {
  name: 'solve_triangle',
  buffers: { a: [2, 'f32'], b: [2, 'f32'] },
  params: ['n', 'width', 'upper', 'unit'],
  body: `  let n = params.n;
  let start = part * ${COLUMNS}u;
  let width = min(params.width - start, ${COLUMNS}u);
  for (var step = 0u; step < n; step++) {
    let k = select(step, n - 1u - step, params.upper != 0u);
    if (params.unit == 0u) {
      for (var j = lane; j < width; j += THREADS) { b_[b(k, start + j)] /= a_[a(k, k)]; }
    }
    sync();
    let rows = n - 1u - step;
    for (var at = lane; at < rows * width; at += THREADS) {
      let i = at % rows + select(k + 1u, 0u, params.upper != 0u);
      let j = start + at / rows;
      b_[b(i, j)] -= a_[a(i, k)] * b_[b(k, j)];
    }
    sync();
  }`,
};
