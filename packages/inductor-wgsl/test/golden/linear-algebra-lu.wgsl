const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  parts: u32,
  first_check: u32,
  m: u32,
  n: u32,
  pivot: u32,
  first: u32,
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
  let m = params.m;
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
  if (lane == 0u) { info_[info(0u, 0u)] = singular; }
  if (lane == 0u && info_[info(0u, 0u)] != 0) { refuse(info_[info(0u, 0u)]); }
}
