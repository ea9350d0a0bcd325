const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  parts: u32,
  first_check: u32,
  swaps: u32,
  width: u32,
  first: u32,
  b_start: u32,
  b_step: u32,
  b_row: u32,
  b_column: u32,
  pivots_start: u32,
  pivots_step: u32,
  pivots_row: u32,
  pivots_column: u32,
}
@group(1) @binding(0) var<uniform> params: Params;
@group(0) @binding(0) var<storage, read_write> b_: array<f32>;
fn b(i: u32, j: u32) -> u32 {
  return params.b_start + matrix * params.b_step + i * params.b_row + j * params.b_column;
}
@group(0) @binding(1) var<storage, read_write> pivots_: array<i32>;
fn pivots(i: u32, j: u32) -> u32 {
  return params.pivots_start + matrix * params.pivots_step + i * params.pivots_row + j * params.pivots_column;
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
  matrix = number / params.parts;
  let part = number % params.parts;
  for (var j = lane; j < params.width; j += THREADS) {
    for (var k = 0u; k < params.swaps; k++) {
      let row = u32(pivots_[pivots(k, 0u)]) - params.first - 1u;
      let above = b_[b(k, j)];
      b_[b(k, j)] = b_[b(row, j)];
      b_[b(row, j)] = above;
    }
  }
}
