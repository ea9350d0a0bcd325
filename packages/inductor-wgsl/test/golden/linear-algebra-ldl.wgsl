fn is_nan_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  parts: u32,
  first_check: u32,
  n: u32,
  a_start: u32,
  a_step: u32,
  a_row: u32,
  a_column: u32,
  pivots_start: u32,
  pivots_step: u32,
  pivots_row: u32,
  pivots_column: u32,
  info_start: u32,
  info_step: u32,
  info_row: u32,
  info_column: u32,
}
@group(1) @binding(0) var<uniform> params: Params;
@group(0) @binding(0) var<storage, read_write> a_: array<f32>;
fn a(i: u32, j: u32) -> u32 {
  return params.a_start + matrix * params.a_step + i * params.a_row + j * params.a_column;
}
@group(0) @binding(1) var<storage, read_write> pivots_: array<i32>;
fn pivots(i: u32, j: u32) -> u32 {
  return params.pivots_start + matrix * params.pivots_step + i * params.pivots_row + j * params.pivots_column;
}
@group(0) @binding(2) var<storage, read_write> info_: array<i32>;
fn info(i: u32, j: u32) -> u32 {
  return params.info_start + matrix * params.info_step + i * params.info_row + j * params.info_column;
}
@group(0) @binding(3) var<storage, read_write> failed: array<atomic<u32>, 4>;
fn refuse(value: i32) {
  if (atomicOr(&failed[0], 1u) != 0u) { return; }
  atomicStore(&failed[1], params.first_check);
  atomicStore(&failed[2], bitcast<u32>(value));
}
var<private> matrix: u32;
var<workgroup> largest: array<f32, THREADS>;
var<workgroup> place: array<u32, THREADS>;
fn reduce(lane: u32) {
  workgroupBarrier();
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    if (lane < half) {
      let other = lane + half;
      let more = largest[other] > largest[lane];
      if (more || (largest[other] == largest[lane] && place[other] < place[lane])) {
        largest[lane] = largest[other];
        place[lane] = place[other];
      }
    }
    workgroupBarrier();
  }
}
fn offer(lane: u32, value: f32, at: u32) {
  if (abs(value) > largest[lane]) { largest[lane] = abs(value); place[lane] = at; }
}
fn swap(i: u32, j: u32) {
  let first = a_[i];
  a_[i] = a_[j];
  a_[j] = first;
}
var<workgroup> chosen: vec3u;
fn sync() {
  workgroupBarrier();
  storageBarrier();
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let number = group.y * params.columns + group.x;
  if (number >= params.count) { return; }
  matrix = number / params.parts;
  let part = number % params.parts;
  let n = params.n;
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
      let bad = is_nan_f32(own) || max(own, column) == 0.0;
      let stays = bad || own >= 0.6403882 * column || own >= 0.6403882 * column * (column / most);
      let one = stays || abs(a_[a(found, found)]) >= 0.6403882 * most;
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
  if (lane == 0u) { info_[info(0u, 0u)] = singular; }
  if (lane == 0u && info_[info(0u, 0u)] != 0) { refuse(info_[info(0u, 0u)]); }
}
