/**
 * @file Jacobi's rotations of columns: singular values, and eigenvalues of symmetric matrices.
 *
 * In a round every column has one partner, so that the rotations of a round do not touch each other; a sweep has one round
 * for each way to pair columns, as in a tournament. It ends with the sweep in which nothing was rotated.
 *
 * @see Golub and Van Loan, Matrix Computations, 8.6.3
 */
import type { MatrixCode } from './matrix-program.js';

/** More sweeps than any matrix needs in float32. */
export const SWEEPS = 14;

/**
 * Makes the columns of one pair orthogonal, and turns those of `v` along: a = (what is left) · vᵀ. There is a part for each
 * pair of round `turn`. `turned` says for each sweep whether it has rotated anything: once one has not, nothing is to do.
 *
 * Rotations are written as small changes, so that what is far from 45 degrees keeps lengths whatever the errors of roots are.
 */
export const ROTATE_PAIRS: MatrixCode = {
  name: 'rotate_pairs',
  buffers: { a: [2, 'f32'], v: [2, 'f32'], turned: [1, 'i32'] },
  params: ['m', 'n', 'turn', 'sweep'],
  workgroup: 'var<workgroup> busy: u32;',
  body: `  let n = params.n;
  let others = n + n % 2u - 1u;
  let one = select((params.turn + part) % others, others, part == 0u);
  let other = (params.turn + others - part) % others;
  let p = min(one, other);
  let q = max(one, other);
  if (q >= n) { return; }
  if (lane == 0u) {
    busy = 1u;
    if (params.sweep > 0u && turned_[turned(params.sweep - 1u, 0u)] == 0) { busy = 0u; }
  }
  if (workgroupUniformLoad(&busy) == 0u) { return; }
  var squares = vec2f();
  var product = 0.0;
  for (var i = lane; i < params.m; i += THREADS) {
    let left = a_[a(i, p)];
    let right = a_[a(i, q)];
    squares += vec2f(left * left, right * right);
    product += left * right;
  }
  let low = total(lane, squares.x);
  let high = total(lane, squares.y);
  let between = total(lane, product);
  sync();
  if (abs(between) > 2e-7 * sqrt(low) * sqrt(high) && abs(between) > 1e-37) {
    let theta = (high - low) / (2.0 * between);
    let t = select(-1.0, 1.0, theta >= 0.0) / (abs(theta) + sqrt(1.0 + theta * theta));
    let c = 1.0 / sqrt(1.0 + t * t);
    let s = c * t;
    let half = s / (1.0 + c);
    if (lane == 0u) { turned_[turned(params.sweep, 0u)] = 1; }
    for (var i = lane; i < params.m; i += THREADS) {
      let left = a_[a(i, p)];
      let right = a_[a(i, q)];
      a_[a(i, p)] = left - s * (right + half * left);
      a_[a(i, q)] = right + s * (left - half * right);
    }
    for (var i = lane; i < n; i += THREADS) {
      let left = v_[v(i, p)];
      let right = v_[v(i, q)];
      v_[v(i, p)] = left - s * (right + half * left);
      v_[v(i, q)] = right + s * (left - half * right);
    }
  }`,
};
