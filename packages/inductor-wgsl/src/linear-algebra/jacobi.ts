/**
 * @file Jacobi's rotations: eigenvalues of symmetric matrices, and singular values.
 *
 * In a round every row has one partner, so that the rotations of a round do not touch each other; a sweep has one round
 * for each way to pair rows, as in a tournament. Sweeps end when none has rotated anything.
 *
 * @see Golub and Van Loan, Matrix Computations, 8.5 and 8.6.3
 */
import type { MatrixCode } from './matrix-program.js';

/** The pairs of a round: `first` and `second` of pair `slot` among `players`, an even number; the last may be missing. */
const PAIRS = `let first = select((turn + slot) % (players - 1u), players - 1u, slot == 0u);
      let second = (turn + players - 1u - slot) % (players - 1u);
      let p = min(first, second);
      let q = max(first, second);`;

/** Sweeps until nothing is rotated, by rounds of `round`. */
const sweeps = (round: string): string => `  let n = params.n;
  let players = n + n % 2u;
  for (var sweep = 0u; sweep < 24u; sweep++) {
    if (lane == 0u) { turned = 0u; }
    workgroupBarrier();
    for (var turn = 0u; turn + 1u < players; turn++) {
${round}
    }
    if (workgroupUniformLoad(&turned) == 0u) { break; }
  }`;

/** The cosine `c` and sine `s` that make the coupling of two rows zero. */
const ROTATION = `let theta = (high - low) / (2.0 * between);
        let t = select(-1.0, 1.0, theta >= 0.0) / (abs(theta) + sqrt(1.0 + theta * theta));
        let c = inverseSqrt(1.0 + t * t);
        let s = c * t;`;

/** Makes `a`, which is symmetric, diagonal, and turns `v` along: its columns become eigenvectors. `turns` is scratch. */
export const SYMMETRIC_JACOBI: MatrixCode = {
  name: 'symmetric_jacobi',
  buffers: { a: [2, 'f32'], v: [2, 'f32'], turns: [2, 'f32'] },
  params: ['n'],
  workgroup: 'var<workgroup> turned: u32;',
  body: sweeps(`    for (var slot = lane; slot < players / 2u; slot += THREADS) {
      ${PAIRS}
      var rotation = vec2f(1.0, 0.0);
      if (q < n) {
        let low = a_[a(p, p)];
        let high = a_[a(q, q)];
        let between = a_[a(p, q)];
        if (abs(between) > 2e-8 * (abs(low) + abs(high)) && abs(between) > 1e-37) {
          ${ROTATION}
          rotation = vec2f(c, s);
          turned = 1u;
        }
      }
      turns_[turns(slot, 0u)] = rotation.x;
      turns_[turns(slot, 1u)] = rotation.y;
    }
    sync();
    for (var at = lane; at < (players / 2u) * n; at += THREADS) {
      let slot = at / n;
      let j = at % n;
      ${PAIRS}
      let s = turns_[turns(slot, 1u)];
      if (q < n && s != 0.0) {
        let c = turns_[turns(slot, 0u)];
        let low = a_[a(p, j)];
        let high = a_[a(q, j)];
        a_[a(p, j)] = c * low - s * high;
        a_[a(q, j)] = s * low + c * high;
      }
    }
    sync();
    for (var at = lane; at < (players / 2u) * n; at += THREADS) {
      let slot = at / n;
      let i = at % n;
      ${PAIRS}
      let s = turns_[turns(slot, 1u)];
      if (q < n && s != 0.0) {
        let c = turns_[turns(slot, 0u)];
        let low = a_[a(i, p)];
        let high = a_[a(i, q)];
        a_[a(i, p)] = c * low - s * high;
        a_[a(i, q)] = s * low + c * high;
        let left = v_[v(i, p)];
        let right = v_[v(i, q)];
        v_[v(i, p)] = c * left - s * right;
        v_[v(i, q)] = s * left + c * right;
      }
    }
    sync();`),
};

/** Makes the columns of `a` orthogonal, and turns `v` along: a = (what is left) · vᵀ. */
export const ONE_SIDED_JACOBI: MatrixCode = {
  name: 'one_sided_jacobi',
  buffers: { a: [2, 'f32'], v: [2, 'f32'] },
  params: ['m', 'n'],
  workgroup: 'var<workgroup> turned: u32;',
  body: sweeps(`    for (var slot = lane; slot < players / 2u; slot += THREADS) {
      ${PAIRS}
      if (q < n) {
        var low = 0.0;
        var high = 0.0;
        var between = 0.0;
        for (var i = 0u; i < params.m; i++) {
          let left = a_[a(i, p)];
          let right = a_[a(i, q)];
          low += left * left;
          high += right * right;
          between += left * right;
        }
        if (abs(between) > 2e-7 * sqrt(low) * sqrt(high) && abs(between) > 1e-37) {
          ${ROTATION}
          turned = 1u;
          for (var i = 0u; i < params.m; i++) {
            let left = a_[a(i, p)];
            let right = a_[a(i, q)];
            a_[a(i, p)] = c * left - s * right;
            a_[a(i, q)] = s * left + c * right;
          }
          for (var i = 0u; i < n; i++) {
            let left = v_[v(i, p)];
            let right = v_[v(i, q)];
            v_[v(i, p)] = c * left - s * right;
            v_[v(i, q)] = s * left + c * right;
          }
        }
      }
    }
    sync();`),
};
