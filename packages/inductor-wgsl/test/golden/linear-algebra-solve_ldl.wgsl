const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  parts: u32,
  first_check: u32,
  n: u32,
  width: u32,
  a_start: u32,
  a_step: u32,
  a_row: u32,
  a_column: u32,
  pivots_start: u32,
  pivots_step: u32,
  pivots_row: u32,
  pivots_column: u32,
  b_start: u32,
  b_step: u32,
  b_row: u32,
  b_column: u32,
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
@group(0) @binding(2) var<storage, read_write> b_: array<f32>;
fn b(i: u32, j: u32) -> u32 {
  return params.b_start + matrix * params.b_step + i * params.b_row + j * params.b_column;
}
var<private> matrix: u32;
var<workgroup> chosen: i32;
fn exchange(lane: u32, start: u32, width: u32, i: u32, j: u32) {
  if (i == j) { return; }
  for (var c = start + lane; c < start + width; c += THREADS) {
    let first = b_[b(i, c)];
    b_[b(i, c)] = b_[b(j, c)];
    b_[b(j, c)] = first;
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
  let n = params.n;
  let start = part * 16u;
  let width = min(params.width - start, 16u);
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
  }
}
