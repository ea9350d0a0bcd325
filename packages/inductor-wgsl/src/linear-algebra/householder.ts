/**
 * @file Householder reflections: QR factors packed as LAPACK has them, and the orthonormal factor.
 */
import type { MatrixCode } from './matrix-program.js';

/** Makes the reflection of column `k`: below the diagonal its vector, whose first element is 1; `tau` has its factor. */
export const REFLECTION: MatrixCode = {
  name: 'make_reflection',
  buffers: { a: [2, 'f32'], tau: [1, 'f32'] },
  params: ['m', 'k'],
  body: `  let k = params.k;
  var sum = 0.0;
  for (var i = k + 1u + lane; i < params.m; i += THREADS) { sum += a_[a(i, k)] * a_[a(i, k)]; }
  let below = total(lane, sum);
  let alpha = a_[a(k, k)];
  sync();
  var factor = 0.0;
  var first = alpha;
  if (below > 0.0) {
    first = select(1.0, -1.0, alpha >= 0.0) * sqrt(alpha * alpha + below);
    factor = (first - alpha) / first;
    let scale = 1.0 / (alpha - first);
    for (var i = k + 1u + lane; i < params.m; i += THREADS) { a_[a(i, k)] *= scale; }
  }
  if (lane == 0u) {
    a_[a(k, k)] = first;
    tau_[tau(k, 0u)] = factor;
  }`,
};

/** Reflects the columns right of `k`, one for each part. */
export const REFLECT_COLUMNS: MatrixCode = {
  name: 'reflect_columns',
  buffers: { a: [2, 'f32'], tau: [1, 'f32'] },
  params: ['m', 'n', 'k'],
  body: `  let k = params.k;
  let j = k + 1u + part;
  if (j >= params.n) { return; }
  var sum = 0.0;
  for (var i = k + 1u + lane; i < params.m; i += THREADS) { sum += a_[a(i, k)] * a_[a(i, j)]; }
  let along = (total(lane, sum) + a_[a(k, j)]) * tau_[tau(k, 0u)];
  sync();
  if (lane == 0u) { a_[a(k, j)] -= along; }
  for (var i = k + 1u + lane; i < params.m; i += THREADS) { a_[a(i, j)] -= a_[a(i, k)] * along; }`,
};

/** Applies so many reflections to a column of `q`, one for each part, the last one first. */
export const APPLY_REFLECTIONS: MatrixCode = {
  name: 'apply_reflections',
  buffers: { a: [2, 'f32'], tau: [1, 'f32'], q: [2, 'f32'] },
  params: ['m', 'reflections'],
  body: `  let j = part;
  for (var step = 0u; step < params.reflections; step++) {
    let k = params.reflections - 1u - step;
    var sum = 0.0;
    for (var i = k + 1u + lane; i < params.m; i += THREADS) { sum += a_[a(i, k)] * q_[q(i, j)]; }
    let along = (total(lane, sum) + q_[q(k, j)]) * tau_[tau(k, 0u)];
    sync();
    if (lane == 0u) { q_[q(k, j)] -= along; }
    for (var i = k + 1u + lane; i < params.m; i += THREADS) { q_[q(i, j)] -= a_[a(i, k)] * along; }
    sync();
  }`,
};
