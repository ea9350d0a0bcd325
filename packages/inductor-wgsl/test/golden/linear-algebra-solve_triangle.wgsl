const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  parts: u32,
  first_check: u32,
  n: u32,
  width: u32,
  upper: u32,
  unit: u32,
  a_start: u32,
  a_step: u32,
  a_row: u32,
  a_column: u32,
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
@group(0) @binding(1) var<storage, read_write> b_: array<f32>;
fn b(i: u32, j: u32) -> u32 {
  return params.b_start + matrix * params.b_step + i * params.b_row + j * params.b_column;
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
  let n = params.n;
  let start = part * 16u;
  let width = min(params.width - start, 16u);
  for (var step = 0u; step < n; step++) {
    let k = select(step, n - 1u - step, params.upper != 0u);
    if (params.unit == 0u) {
      for (var j = lane; j < width; j += THREADS) { b_[b(k, start + j)] /= a_[a(k, k)]; }
    }
    sync();
    let rows = n - 1u - step;
    for (var at = lane; at < rows * width; at += THREADS) {
      let i = at % rows + select(k + 1u, 0u, params.upper != 0u);
      let j = start + at / rows;
      b_[b(i, j)] -= a_[a(i, k)] * b_[b(k, j)];
    }
    sync();
  }
}
