/**
 * @file LDLᵀ factors of symmetric matrices with the pivoting of Bunch and Kaufman, in LAPACK's packing, and solving with
 * them. One workgroup factors a matrix, column by column.
 *
 * @see packages/tensor/src/kernels/ldl-factor.ts, which has the same steps one after another
 */
import { LARGEST } from './largest-value.js';
import type { MatrixCode } from './matrix-program.js';
import { COLUMNS } from './triangular.js';

/** Offers a value, and exchanges two. */
const STEPS = `fn offer(lane: u32, value: f32, at: u32) {
  if (abs(value) > largest[lane]) { largest[lane] = abs(value); place[lane] = at; }
}
fn swap(i: u32, j: u32) {
  let first = a_[i];
  a_[i] = a_[j];
  a_[j] = first;
}
`;

/** Bounds the growth of elements: (1 + √17) / 8. */
const ALPHA = '0.6403882';

/** Overwrites `a`, of which the lower triangle is read; `pivots` and `info` as LAPACK has them. */
export const LDL: MatrixCode = {
  name: 'ldl',
  buffers: { a: [2, 'f32'], pivots: [1, 'i32'], info: [0, 'i32'] },
  params: ['n'],
  workgroup: `${LARGEST}${STEPS}var<workgroup> chosen: vec3u;`,
  refused: 'info_[info(0u, 0u)]',
  body: `  let n = params.n;
  for (var at = lane; at < n * n; at += THREADS) {
    if (at % n > at / n) { a_[a(at / n, at % n)] = 0.0; }
  }
  var singular = 0;
  sync();
  for (var k = 0u; k < n;) {
    largest[lane] = 0.0;
    place[lane] = k;
    for (var i = k + 1u + lane; i < n; i += THREADS) { offer(lane, a_[a(i, k)], i); }
    reduce(lane);
    let column = largest[0];
    let found = place[0];
    workgroupBarrier();
    largest[lane] = 0.0;
    for (var j = k + lane; j < found; j += THREADS) { offer(lane, a_[a(found, j)], j); }
    for (var i = found + 1u + lane; i < n; i += THREADS) { offer(lane, a_[a(i, found)], i); }
    reduce(lane);
    if (lane == 0u) {
      let most = largest[0];
      let own = abs(a_[a(k, k)]);
      let bad = @is_nan(own) || max(own, column) == 0.0;
      let stays = bad || own >= ${ALPHA} * column || own >= ${ALPHA} * column * (column / most);
      let one = stays || abs(a_[a(found, found)]) >= ${ALPHA} * most;
      chosen = vec3u(select(found, k, stays), select(2u, 1u, one), u32(bad));
    }
    let pivot = workgroupUniformLoad(&chosen);
    let row = pivot.x;
    let last = k + pivot.y - 1u;
    if (pivot.z != 0u && singular == 0) { singular = i32(k + 1u); }
    if (row != last) {
      for (var i = row + 1u + lane; i < n; i += THREADS) { swap(a(i, last), a(i, row)); }
      for (var i = last + 1u + lane; i < row; i += THREADS) { swap(a(i, last), a(row, i)); }
      if (lane == 0u) {
        swap(a(last, last), a(row, row));
        if (last > k) { swap(a(last, k), a(row, k)); }
      }
    }
    sync();
    let below = n - 1u - last;
    let next = last + 1u;
    let off = a_[a(last, k)];
    let d11 = a_[a(last, last)] / off;
    let d22 = a_[a(k, k)] / off;
    let scale = 1.0 / (d11 * d22 - 1.0) / off;
    let inverse = 1.0 / off;
    if (pivot.y == 1u && lane == 0u) { pivots_[pivots(k, 0u)] = i32(row + 1u); }
    if (pivot.y == 2u && lane == 0u) {
      pivots_[pivots(k, 0u)] = -i32(row + 1u);
      pivots_[pivots(last, 0u)] = -i32(row + 1u);
    }
    if (pivot.z == 0u) {
      for (var at = lane; at < below * below; at += THREADS) {
        let i = next + at % below;
        let j = next + at / below;
        if (i >= j) {
          let x = a_[a(j, k)];
          let y = a_[a(j, last)];
          if (pivot.y == 1u) { a_[a(i, j)] -= inverse * x * a_[a(i, k)]; }
          else { a_[a(i, j)] -= a_[a(i, k)] * (scale * (d11 * x - y)) + a_[a(i, last)] * (scale * (d22 * y - x)); }
        }
      }
    }
    sync();
    if (pivot.z == 0u) {
      for (var j = next + lane; j < n; j += THREADS) {
        let x = a_[a(j, k)];
        let y = a_[a(j, last)];
        if (pivot.y == 1u) { a_[a(j, k)] = inverse * x; }
        else {
          a_[a(j, k)] = scale * (d11 * x - y);
          a_[a(j, last)] = scale * (d22 * y - x);
        }
      }
    }
    sync();
    k = next;
  }
  if (lane == 0u) { info_[info(0u, 0u)] = singular; }`,
};

/** Overwrites `b` with the solution for a matrix that `LDL` packed; a workgroup has some of its columns. */
export const SOLVE_LDL: MatrixCode = {
  name: 'solve_ldl',
  buffers: { a: [2, 'f32'], pivots: [1, 'i32'], b: [2, 'f32'] },
  params: ['n', 'width'],
  workgroup: `var<workgroup> chosen: i32;
fn exchange(lane: u32, start: u32, width: u32, i: u32, j: u32) {
  if (i == j) { return; }
  for (var c = start + lane; c < start + width; c += THREADS) {
    let first = b_[b(i, c)];
    b_[b(i, c)] = b_[b(j, c)];
    b_[b(j, c)] = first;
  }
}`,
  body: `  let n = params.n;
  let start = part * ${COLUMNS}u;
  let width = min(params.width - start, ${COLUMNS}u);
  for (var k = 0u; k < n;) {
    if (lane == 0u) { chosen = pivots_[pivots(k, 0u)]; }
    let pivot = workgroupUniformLoad(&chosen);
    let last = select(k, k + 1u, pivot < 0);
    exchange(lane, start, width, last, u32(abs(pivot)) - 1u);
    sync();
    let rows = n - 1u - last;
    for (var at = lane; at < rows * width; at += THREADS) {
      let i = last + 1u + at % rows;
      let j = start + at / rows;
      var value = b_[b(i, j)] - a_[a(i, k)] * b_[b(k, j)];
      if (last > k) { value -= a_[a(i, last)] * b_[b(last, j)]; }
      b_[b(i, j)] = value;
    }
    sync();
    let off = a_[a(last, k)];
    let d11 = a_[a(k, k)] / off;
    let d22 = a_[a(last, last)] / off;
    let scale = d11 * d22 - 1.0;
    for (var j = start + lane; j < start + width; j += THREADS) {
      let x = b_[b(k, j)] / off;
      let y = b_[b(last, j)] / off;
      if (last == k) { b_[b(k, j)] = x; }
      else {
        b_[b(k, j)] = (d22 * x - y) / scale;
        b_[b(last, j)] = (d11 * y - x) / scale;
      }
    }
    sync();
    k = last + 1u;
  }
  for (var end = n; end > 0u;) {
    let last = end - 1u;
    if (lane == 0u) { chosen = pivots_[pivots(last, 0u)]; }
    let pivot = workgroupUniformLoad(&chosen);
    let size = select(1u, 2u, pivot < 0);
    let k = end - size;
    for (var at = lane; at < size * width; at += THREADS) {
      let j = k + at % size;
      let c = start + at / size;
      var value = b_[b(j, c)];
      for (var i = end; i < n; i++) { value -= a_[a(i, j)] * b_[b(i, c)]; }
      b_[b(j, c)] = value;
    }
    sync();
    exchange(lane, start, width, last, u32(abs(pivot)) - 1u);
    sync();
    end = k;
  }`,
};
