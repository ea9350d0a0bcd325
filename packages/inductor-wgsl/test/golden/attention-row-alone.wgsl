// workgroups: 32 × 1

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> bias: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> sums_: array<f32>;
var<workgroup> weights0: array<f32, 512>;
var<workgroup> query0: array<vec4f, 20>;
var<workgroup> peak0: array<f32, 256>;
var<workgroup> total0: array<f32, 256>;
var<workgroup> sums0: array<vec4f, 256>;

var<private> nan_bits: u32 = 0x7fc00000u;

var<private> inf_bits: u32 = 0x7f800000u;

fn log_fraction_f32(x: f32) -> f32 {
  let big = select(x, x * 16777216.0, x < 1.1754944e-38);
  let bits = bitcast<u32>(big) + u32(0x3f800000u - 0x3f3504f3u);
  return bitcast<f32>((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0;
}

fn log_exponent_f32(x: f32) -> f32 {
  let small = x < 1.1754944e-38;
  let big = select(x, x * 16777216.0, small);
  let bits = bitcast<u32>(big) + u32(0x3f800000u - 0x3f3504f3u);
  return f32(i32(bits >> 23u) - 127) - select(0.0, 24.0, small);
}

fn log_core_f32(f: f32) -> f32 {
  var p = 7.0376836292e-2;
  p = p * f + -1.1514610310e-1;
  p = p * f + 1.1676998740e-1;
  p = p * f + -1.2420140846e-1;
  p = p * f + 1.4249322787e-1;
  p = p * f + -1.6668057665e-1;
  p = p * f + 2.0000714765e-1;
  p = p * f + -2.4999993993e-1;
  p = p * f + 3.3333331174e-1;
  return p * f * (f * f);
}

fn is_nan_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn nan_f32() -> f32 {
  return f32(bitcast<f32>(nan_bits));
}

fn inf_f32() -> f32 {
  return f32(bitcast<f32>(inf_bits));
}

fn log_specials_f32(x: f32, y: f32) -> f32 {
  let infinite = select(y, x, (x > 3.4028234e38) | is_nan_f32(x));
  return select(select(infinite, nan_f32(), x < 0.0), -inf_f32(), x == 0.0);
}

fn log_f32(x: f32) -> f32 {
  let f = log_fraction_f32(x);
  let e = log_exponent_f32(x);
  let tail = log_core_f32(f) + e * -2.12194440e-4 - 0.5 * f * f;
  return log_specials_f32(x, f + tail + e * 0.693359375);
}

fn load_a0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t0 = q[(80u * batch + 80u * 0u + depth) >> 2u];
  return t0;
}

fn load_b0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t1 = k[(40960u * batch + 80u * along + depth) >> 2u];
  return t1;
}

fn load_v0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t2 = v[(40960u * batch + 80u * depth + along) >> 2u];
  return t2;
}

fn store_c(batch: u32, down: u32, along: u32, product0: vec4f) {
  if (along >= 80u) { return; }
  out[(80u * batch + 80u * 0u + along) >> 2u] = product0;
}

fn store_row(batch: u32, down: u32, sum: f32) {
  sums_[batch + 0u] = sum;
}

fn weigh0(batch: u32, down: u32, along: u32, score0: vec4f) -> vec4f {
  let t3 = bias[(512u * 0u + along) >> 2u];
  return ((score0 * vec4f(0.25)) + t3);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile % 32u;
  let first_m = tile / 32u;
  for (var i = lane; i < 20u; i += 256u) {
    query0[i] = load_a0(batch, first_m, i * 4u);
  }
  workgroupBarrier();
  for (var first = 0u; first < 512u; first += 1024u) {
    let key0 = min(first + lane, 511u);
    let key1 = min(first + lane + 256u, 511u);
    let key2 = min(first + lane + 512u, 511u);
    let key3 = min(first + lane + 768u, 511u);
    var sum0 = vec4f(0);
    var sum1 = vec4f(0);
    var sum2 = vec4f(0);
    var sum3 = vec4f(0);
    for (var i = 0u; i < 20u; i += 1u) {
      let factor = query0[i];
      sum0 += factor * load_b0(batch, key0, i * 4u);
      sum1 += factor * load_b0(batch, key1, i * 4u);
      sum2 += factor * load_b0(batch, key2, i * 4u);
      sum3 += factor * load_b0(batch, key3, i * 4u);
    }
    var score0 = dot(sum0, vec4f(1));
    var score1 = dot(sum1, vec4f(1));
    var score2 = dot(sum2, vec4f(1));
    var score3 = dot(sum3, vec4f(1));
    let place0 = first + lane;
    if (place0 < 512u) { weights0[place0] = score0; }
    let place1 = first + lane + 256u;
    if (place1 < 512u) { weights0[place1] = score1; }
    let place2 = first + lane + 512u;
    if (place2 < 512u) { weights0[place2] = score2; }
    let place3 = first + lane + 768u;
    if (place3 < 512u) { weights0[place3] = score3; }
  }
  let column = lane % 32u * 4u;
  let value0 = load_v0(batch, column, lane / 32u);
  let value1 = load_v0(batch, column, lane / 32u + 8u);
  let value2 = load_v0(batch, column, lane / 32u + 16u);
  let value3 = load_v0(batch, column, lane / 32u + 24u);
  let value4 = load_v0(batch, column, lane / 32u + 32u);
  let value5 = load_v0(batch, column, lane / 32u + 40u);
  let value6 = load_v0(batch, column, lane / 32u + 48u);
  let value7 = load_v0(batch, column, lane / 32u + 56u);
  workgroupBarrier();
  var peak = -3.4028234e38;
  for (var quad = lane; quad < 128u; quad += 256u) {
    let four = weigh0(batch, first_m, quad * 4u, vec4f(weights0[quad * 4u], weights0[quad * 4u + 1u], weights0[quad * 4u + 2u], weights0[quad * 4u + 3u]));
    weights0[quad * 4u] = four.x;
    weights0[quad * 4u + 1u] = four.y;
    weights0[quad * 4u + 2u] = four.z;
    weights0[quad * 4u + 3u] = four.w;
    peak = max(peak, max(max(four.x, four.y), max(four.z, four.w)));
  }
  peak0[lane] = peak;
  workgroupBarrier();
  for (var half = 128u; half >= 16u; half = half >> 1u) {
    if (lane < half) { peak0[lane] = max(peak0[lane], peak0[lane + half]); }
    workgroupBarrier();
  }
  peak = peak0[0];
  for (var other = 1u; other < 16u; other++) {
    peak = max(peak, peak0[other]);
  }
  var total = 0f;
  for (var quad = lane; quad < 128u; quad += 256u) {
    let four = exp(vec4f(weights0[quad * 4u], weights0[quad * 4u + 1u], weights0[quad * 4u + 2u], weights0[quad * 4u + 3u]) - peak);
    weights0[quad * 4u] = four.x;
    weights0[quad * 4u + 1u] = four.y;
    weights0[quad * 4u + 2u] = four.z;
    weights0[quad * 4u + 3u] = four.w;
    total += dot(four, vec4f(1));
  }
  total0[lane] = total;
  workgroupBarrier();
  for (var half = 128u; half >= 16u; half = half >> 1u) {
    if (lane < half) { total0[lane] = total0[lane] + total0[lane + half]; }
    workgroupBarrier();
  }
  total = total0[0];
  for (var other = 1u; other < 16u; other++) {
    total = total + total0[other];
  }
  let divisor = select(total, 1f, total == 0);
  var result = vec4f(0);
  result += weights0[lane / 32u] * value0;
  result += weights0[lane / 32u + 8u] * value1;
  result += weights0[lane / 32u + 16u] * value2;
  result += weights0[lane / 32u + 24u] * value3;
  result += weights0[lane / 32u + 32u] * value4;
  result += weights0[lane / 32u + 40u] * value5;
  result += weights0[lane / 32u + 48u] * value6;
  result += weights0[lane / 32u + 56u] * value7;
  if (column < 80u) {
    for (var key = lane / 32u + 64u; key < 512u; key += 64u) {
      result += weights0[key] * load_v0(batch, column, key);
      result += weights0[key + 8u] * load_v0(batch, column, key + 8u);
      result += weights0[key + 16u] * load_v0(batch, column, key + 16u);
      result += weights0[key + 24u] * load_v0(batch, column, key + 24u);
      result += weights0[key + 32u] * load_v0(batch, column, key + 32u);
      result += weights0[key + 40u] * load_v0(batch, column, key + 40u);
      result += weights0[key + 48u] * load_v0(batch, column, key + 48u);
      result += weights0[key + 56u] * load_v0(batch, column, key + 56u);
    }
  }
  sums0[lane] = result;
  workgroupBarrier();
  if (lane < 32u) {
    result = sums0[lane];
    result += sums0[lane + 32u];
    result += sums0[lane + 64u];
    result += sums0[lane + 96u];
    result += sums0[lane + 128u];
    result += sums0[lane + 160u];
    result += sums0[lane + 192u];
    result += sums0[lane + 224u];
  }
  if (lane < 32u) {
    store_c(batch, first_m, lane * 4u, result / divisor);
  }
  if (lane == 0u) { store_row(batch, first_m, select(peak + log_f32(divisor), -inf_f32(), total == 0)); }
}
