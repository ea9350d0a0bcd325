const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  parts: u32,
  first_check: u32,
  swaps: u32,
  rows: u32,
  inverse: u32,
  pivots_start: u32,
  pivots_step: u32,
  pivots_row: u32,
  pivots_column: u32,
  order_start: u32,
  order_step: u32,
  order_row: u32,
  order_column: u32,
  out_start: u32,
  out_step: u32,
  out_row: u32,
  out_column: u32,
}
@group(1) @binding(0) var<uniform> params: Params;
@group(0) @binding(0) var<storage, read_write> pivots_: array<i32>;
fn pivots(i: u32, j: u32) -> u32 {
  return params.pivots_start + matrix * params.pivots_step + i * params.pivots_row + j * params.pivots_column;
}
@group(0) @binding(1) var<storage, read_write> order_: array<i32>;
fn order(i: u32, j: u32) -> u32 {
  return params.order_start + matrix * params.order_step + i * params.order_row + j * params.order_column;
}
@group(0) @binding(2) var<storage, read_write> out_: array<i32>;
fn out(i: u32, j: u32) -> u32 {
  return params.out_start + matrix * params.out_step + i * params.out_row + j * params.out_column;
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
  if (lane == 0u) {
    for (var i = 0u; i < params.rows; i++) { order_[order(i, 0u)] = i32(i); }
    for (var k = 0u; k < params.swaps; k++) {
      let row = u32(pivots_[pivots(k, 0u)] - 1);
      let above = order_[order(k, 0u)];
      order_[order(k, 0u)] = order_[order(row, 0u)];
      order_[order(row, 0u)] = above;
    }
    for (var i = 0u; i < params.rows; i++) {
      let source = order_[order(i, 0u)];
      if (params.inverse != 0u) { out_[out(u32(source), 0u)] = i32(i); }
      else { out_[out(i, 0u)] = source; }
    }
  }
}
