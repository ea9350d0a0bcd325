const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  parts: u32,
  first_check: u32,
  m: u32,
  n: u32,
  turn: u32,
  sweep: u32,
  a_start: u32,
  a_step: u32,
  a_row: u32,
  a_column: u32,
  v_start: u32,
  v_step: u32,
  v_row: u32,
  v_column: u32,
  turned_start: u32,
  turned_step: u32,
  turned_row: u32,
  turned_column: u32,
}
@group(1) @binding(0) var<uniform> params: Params;
@group(0) @binding(0) var<storage, read_write> a_: array<f32>;
fn a(i: u32, j: u32) -> u32 {
  return params.a_start + matrix * params.a_step + i * params.a_row + j * params.a_column;
}
@group(0) @binding(1) var<storage, read_write> v_: array<f32>;
fn v(i: u32, j: u32) -> u32 {
  return params.v_start + matrix * params.v_step + i * params.v_row + j * params.v_column;
}
@group(0) @binding(2) var<storage, read_write> turned_: array<i32>;
fn turned(i: u32, j: u32) -> u32 {
  return params.turned_start + matrix * params.turned_step + i * params.turned_row + j * params.turned_column;
}
var<private> matrix: u32;
var<workgroup> busy: u32;
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
  let n = params.n;
  let others = n + n % 2u - 1u;
  let one = select((params.turn + part) % others, others, part == 0u);
  let other = (params.turn + others - part) % others;
  let p = min(one, other);
  let q = max(one, other);
  if (q >= n) { return; }
  if (lane == 0u) {
    busy = 1u;
    if (params.sweep > 0u && turned_[turned(params.sweep - 1u, 0u)] == 0) { busy = 0u; }
  }
  if (workgroupUniformLoad(&busy) == 0u) { return; }
  var squares = vec2f();
  var product = 0.0;
  for (var i = lane; i < params.m; i += THREADS) {
    let left = a_[a(i, p)];
    let right = a_[a(i, q)];
    squares += vec2f(left * left, right * right);
    product += left * right;
  }
  let low = total(lane, squares.x);
  let high = total(lane, squares.y);
  let between = total(lane, product);
  sync();
  if (abs(between) > 2e-7 * sqrt(low) * sqrt(high) && abs(between) > 1e-37) {
    let theta = (high - low) / (2.0 * between);
    let t = select(-1.0, 1.0, theta >= 0.0) / (abs(theta) + sqrt(1.0 + theta * theta));
    let c = 1.0 / sqrt(1.0 + t * t);
    let s = c * t;
    let half = s / (1.0 + c);
    if (lane == 0u) { turned_[turned(params.sweep, 0u)] = 1; }
    for (var i = lane; i < params.m; i += THREADS) {
      let left = a_[a(i, p)];
      let right = a_[a(i, q)];
      a_[a(i, p)] = left - s * (right + half * left);
      a_[a(i, q)] = right + s * (left - half * right);
    }
    for (var i = lane; i < n; i += THREADS) {
      let left = v_[v(i, p)];
      let right = v_[v(i, q)];
      v_[v(i, p)] = left - s * (right + half * left);
      v_[v(i, q)] = right + s * (left - half * right);
    }
  }
}
