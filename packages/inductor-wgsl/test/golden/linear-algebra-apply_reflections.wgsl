const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  first_check: u32,
  m: u32,
  reflections: u32,
  width: u32,
  a_start: u32,
  a_step: u32,
  a_row: u32,
  a_column: u32,
  tau_start: u32,
  tau_step: u32,
  tau_row: u32,
  tau_column: u32,
  q_start: u32,
  q_step: u32,
  q_row: u32,
  q_column: u32,
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
@group(0) @binding(2) var<storage, read_write> q_: array<f32>;
fn q(i: u32, j: u32) -> u32 {
  return params.q_start + matrix * params.q_step + i * params.q_row + j * params.q_column;
}
var<private> matrix: u32;

fn sync() {
  workgroupBarrier();
  storageBarrier();
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let number = group.y * params.columns + group.x;
  if (number >= params.count) { return; }
  matrix = number;
  for (var j = lane; j < params.width; j += THREADS) {
    for (var step = 0u; step < params.reflections; step++) {
      let k = params.reflections - 1u - step;
      var along = q_[q(k, j)];
      for (var i = k + 1u; i < params.m; i++) { along += a_[a(i, k)] * q_[q(i, j)]; }
      along *= tau_[tau(k, 0u)];
      q_[q(k, j)] -= along;
      for (var i = k + 1u; i < params.m; i++) { q_[q(i, j)] -= a_[a(i, k)] * along; }
    }
  }
}
