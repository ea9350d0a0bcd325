/**
 * @file Householder reflections: QR factors packed as LAPACK has them, and the orthonormal factor.
 */
import type { MatrixCode } from './matrix-program.js';

/** Overwrites `a` with R and, below it, the reflections (whose first element is 1); `tau` has their factors. */
export const REFLECT: MatrixCode = {
  name: 'householder_qr',
  buffers: { a: [2, 'f32'], tau: [1, 'f32'] },
  params: ['m', 'n'],
  workgroup: 'var<workgroup> sums: array<f32, THREADS>;',
  body: `  let m = params.m;
  let n = params.n;
  for (var k = 0u; k < min(m, n); k++) {
    var sum = 0.0;
    for (var i = k + 1u + lane; i < m; i += THREADS) { sum += a_[a(i, k)] * a_[a(i, k)]; }
    sums[lane] = sum;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
      if (lane < half) { sums[lane] += sums[lane + half]; }
      workgroupBarrier();
    }
    let below = workgroupUniformLoad(&sums[0]);
    let alpha = a_[a(k, k)];
    sync();
    var factor = 0.0;
    var first = alpha;
    if (below > 0.0) {
      first = select(1.0, -1.0, alpha >= 0.0) * sqrt(alpha * alpha + below);
      factor = (first - alpha) / first;
      let scale = 1.0 / (alpha - first);
      for (var i = k + 1u + lane; i < m; i += THREADS) { a_[a(i, k)] *= scale; }
    }
    if (lane == 0u) {
      a_[a(k, k)] = first;
      tau_[tau(k, 0u)] = factor;
    }
    sync();
    for (var j = k + 1u + lane; j < n; j += THREADS) {
      var along = a_[a(k, j)];
      for (var i = k + 1u; i < m; i++) { along += a_[a(i, k)] * a_[a(i, j)]; }
      along *= factor;
      a_[a(k, j)] -= along;
      for (var i = k + 1u; i < m; i++) { a_[a(i, j)] -= a_[a(i, k)] * along; }
    }
    sync();
  }`,
};

/** Applies the reflections to the columns of `q`, the last one first. */
export const APPLY_REFLECTIONS: MatrixCode = {
  name: 'apply_reflections',
  buffers: { a: [2, 'f32'], tau: [1, 'f32'], q: [2, 'f32'] },
  params: ['m', 'reflections', 'width'],
  body: `  for (var j = lane; j < params.width; j += THREADS) {
    for (var step = 0u; step < params.reflections; step++) {
      let k = params.reflections - 1u - step;
      var along = q_[q(k, j)];
      for (var i = k + 1u; i < params.m; i++) { along += a_[a(i, k)] * q_[q(i, j)]; }
      along *= tau_[tau(k, 0u)];
      q_[q(k, j)] -= along;
      for (var i = k + 1u; i < params.m; i++) { q_[q(i, j)] -= a_[a(i, k)] * along; }
    }
  }`,
};
