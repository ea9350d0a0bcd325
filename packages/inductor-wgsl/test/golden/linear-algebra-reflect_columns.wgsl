const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  parts: u32,
  first_check: u32,
  m: u32,
  n: u32,
  k: u32,
  a_start: u32,
  a_step: u32,
  a_row: u32,
  a_column: u32,
  tau_start: u32,
  tau_step: u32,
  tau_row: u32,
  tau_column: u32,
}
@group(1) @binding(0) var<uniform> params: Params;
@group(0) @binding(0) var<storage, read_write> a_: array<f32>;
fn a(i: u32, j: u32) -> u32 {
  return params.a_start + matrix * params.a_step + i * params.a_row + j * params.a_column;
}
@group(0) @binding(1) var<storage, read_write> tau_: array<f32>;
fn tau(i: u32, j: u32) -> u32 {
  return params.tau_start + matrix * params.tau_step + i * params.tau_row + j * params.tau_column;
}
var<private> matrix: u32;

fn sync() {
  workgroupBarrier();
  storageBarrier();
}
var<workgroup> sums: array<f32, THREADS>;
fn total(lane: u32, value: f32) -> f32 {
  workgroupBarrier();
  sums[lane] = value;
  workgroupBarrier();
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    if (lane < half) { sums[lane] += sums[lane + half]; }
    workgroupBarrier();
  }
  return sums[0];
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let number = group.y * params.columns + group.x;
  if (number >= params.count) { return; }
  matrix = number / params.parts;
  let part = number % params.parts;
  let k = params.k;
  let j = k + 1u + part;
  if (j >= params.n) { return; }
  var sum = 0.0;
  for (var i = k + 1u + lane; i < params.m; i += THREADS) { sum += a_[a(i, k)] * a_[a(i, j)]; }
  let along = (total(lane, sum) + a_[a(k, j)]) * tau_[tau(k, 0u)];
  sync();
  if (lane == 0u) { a_[a(k, j)] -= along; }
  for (var i = k + 1u + lane; i < params.m; i += THREADS) { a_[a(i, j)] -= a_[a(i, k)] * along; }
}
