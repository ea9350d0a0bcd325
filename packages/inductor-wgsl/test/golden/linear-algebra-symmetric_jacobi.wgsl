const THREADS = 256u;
struct Params {
  count: u32,
  columns: u32,
  first_check: u32,
  n: u32,
  a_start: u32,
  a_step: u32,
  a_row: u32,
  a_column: u32,
  v_start: u32,
  v_step: u32,
  v_row: u32,
  v_column: u32,
  turns_start: u32,
  turns_step: u32,
  turns_row: u32,
  turns_column: u32,
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
@group(0) @binding(2) var<storage, read_write> turns_: array<f32>;
fn turns(i: u32, j: u32) -> u32 {
  return params.turns_start + matrix * params.turns_step + i * params.turns_row + j * params.turns_column;
}
var<private> matrix: u32;
var<workgroup> turned: u32;
fn sync() {
  workgroupBarrier();
  storageBarrier();
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let number = group.y * params.columns + group.x;
  if (number >= params.count) { return; }
  matrix = number;
  let n = params.n;
  let players = n + n % 2u;
  for (var sweep = 0u; sweep < 24u; sweep++) {
    if (lane == 0u) { turned = 0u; }
    workgroupBarrier();
    for (var turn = 0u; turn + 1u < players; turn++) {
    for (var slot = lane; slot < players / 2u; slot += THREADS) {
      let first = select((turn + slot) % (players - 1u), players - 1u, slot == 0u);
      let second = (turn + players - 1u - slot) % (players - 1u);
      let p = min(first, second);
      let q = max(first, second);
      var rotation = vec2f(1.0, 0.0);
      if (q < n) {
        let low = a_[a(p, p)];
        let high = a_[a(q, q)];
        let between = a_[a(p, q)];
        if (abs(between) > 2e-8 * (abs(low) + abs(high)) && abs(between) > 1e-37) {
          let theta = (high - low) / (2.0 * between);
        let t = select(-1.0, 1.0, theta >= 0.0) / (abs(theta) + sqrt(1.0 + theta * theta));
        let c = inverseSqrt(1.0 + t * t);
        let s = c * t;
          rotation = vec2f(c, s);
          turned = 1u;
        }
      }
      turns_[turns(slot, 0u)] = rotation.x;
      turns_[turns(slot, 1u)] = rotation.y;
    }
    sync();
    for (var at = lane; at < (players / 2u) * n; at += THREADS) {
      let slot = at / n;
      let j = at % n;
      let first = select((turn + slot) % (players - 1u), players - 1u, slot == 0u);
      let second = (turn + players - 1u - slot) % (players - 1u);
      let p = min(first, second);
      let q = max(first, second);
      let s = turns_[turns(slot, 1u)];
      if (q < n && s != 0.0) {
        let c = turns_[turns(slot, 0u)];
        let low = a_[a(p, j)];
        let high = a_[a(q, j)];
        a_[a(p, j)] = c * low - s * high;
        a_[a(q, j)] = s * low + c * high;
      }
    }
    sync();
    for (var at = lane; at < (players / 2u) * n; at += THREADS) {
      let slot = at / n;
      let i = at % n;
      let first = select((turn + slot) % (players - 1u), players - 1u, slot == 0u);
      let second = (turn + players - 1u - slot) % (players - 1u);
      let p = min(first, second);
      let q = max(first, second);
      let s = turns_[turns(slot, 1u)];
      if (q < n && s != 0.0) {
        let c = turns_[turns(slot, 0u)];
        let low = a_[a(i, p)];
        let high = a_[a(i, q)];
        a_[a(i, p)] = c * low - s * high;
        a_[a(i, q)] = s * low + c * high;
        let left = v_[v(i, p)];
        let right = v_[v(i, q)];
        v_[v(i, p)] = c * left - s * right;
        v_[v(i, q)] = s * left + c * right;
      }
    }
    sync();
    }
    if (workgroupUniformLoad(&turned) == 0u) { break; }
  }
}
