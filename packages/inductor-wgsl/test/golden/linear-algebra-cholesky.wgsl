const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  parts: u32,
  first_check: u32,
  n: u32,
  first: u32,
  a_start: u32,
  a_step: u32,
  a_row: u32,
  a_column: u32,
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
@group(0) @binding(1) var<storage, read_write> info_: array<i32>;
fn info(i: u32, j: u32) -> u32 {
  return params.info_start + matrix * params.info_step + i * params.info_row + j * params.info_column;
}
@group(0) @binding(2) var<storage, read_write> failed: array<atomic<u32>, 4>;
fn refuse(value: i32) {
  if (atomicOr(&failed[0], 1u) != 0u) { return; }
  atomicStore(&failed[1], params.first_check);
  atomicStore(&failed[2], bitcast<u32>(value));
}
var<private> matrix: u32;
var<workgroup> order: i32;
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
  if (lane == 0u) { order = info_[info(0u, 0u)]; }
  for (var k = 0u; k < n; k++) {
    if (workgroupUniformLoad(&order) != 0) { break; }
    let d = a_[a(k, k)];
    sync();
    if (lane == 0u) {
      if (d > 0.0) { a_[a(k, k)] = sqrt(d); } else { order = i32(params.first + k + 1u); }
    }
    let left = n - k - 1u;
    for (var i = lane; i < left; i += THREADS) { a_[a(k + 1u + i, k)] /= sqrt(d); }
    sync();
    for (var at = lane; at < left * left; at += THREADS) {
      let i = k + 1u + at % left;
      let j = k + 1u + at / left;
      if (j <= i) { a_[a(i, j)] -= a_[a(i, k)] * a_[a(j, k)]; }
    }
    sync();
  }
  if (lane == 0u) { info_[info(0u, 0u)] = order; }
  if (lane == 0u && info_[info(0u, 0u)] != 0) { refuse(info_[info(0u, 0u)]); }
}
