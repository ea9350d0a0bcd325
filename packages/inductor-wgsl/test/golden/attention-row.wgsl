// workgroups: 32 × 1

enable f16;

enable subgroups;

@group(0) @binding(0) var<storage, read> q: array<vec4h>;
@group(0) @binding(1) var<storage, read> k: array<vec4h>;
@group(0) @binding(2) var<storage, read> v: array<vec4h>;
@group(0) @binding(3) var<storage, read> bias: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4h>;
@group(0) @binding(5) var<storage, read_write> sums: array<f32>;
var<workgroup> query0: array<vec4f, 16>;
var<workgroup> weights0: array<f32, 1000>;
var<workgroup> peak0: array<f32, 32>;
var<workgroup> total0: array<f32, 32>;
var<workgroup> sums0: array<vec4f, 512>;

var<private> nan_bits: u32 = 0x7fc00000u;

var<private> inf_bits: u32 = 0x7f800000u;

fn round_f16_vec4f(x: vec4f) -> vec4f {
  let bits = bitcast<vec4u>(x);
  let magnitude = bits & vec4u(0x7fffffffu);
  var kept = (magnitude + vec4u(0xfffu) + ((magnitude >> vec4u(13u)) & vec4u(1u))) & vec4u(0xffffe000u);
  kept = select(kept, vec4u(0x7f800000u), kept >= vec4u(0x47800000u));
  kept = select(kept, bitcast<vec4u>(round(abs(x) * vec4f(16777216.0)) * vec4f(5.9604644775390625e-8)), magnitude < vec4u(0x38800000u));
  kept = select(kept, magnitude, magnitude > vec4u(0x7f800000u));
  return bitcast<vec4f>(kept | (bits & vec4u(0x80000000u)));
}

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
  let t0 = vec4f(q[(64u * batch + 64u * 0u + depth) >> 2u]);
  return t0;
}

fn load_b0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t1 = vec4f(k[(64000u * batch + 64u * along + depth) >> 2u]);
  return t1;
}

fn load_v0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t2 = vec4f(v[(64000u * batch + 64u * depth + along) >> 2u]);
  return t2;
}

fn store_c(batch: u32, down: u32, along: u32, product0: vec4f) {
  out[(64u * batch + 64u * 0u + along) >> 2u] = vec4h(round_f16_vec4f(product0));
}

fn store_row(batch: u32, down: u32, sum: f32) {
  sums[batch + 0u] = sum;
}

fn weigh0(batch: u32, down: u32, along: u32, score0: vec4f) -> vec4f {
  let t3 = bias[(1000u * 0u + along) >> 2u];
  return ((score0 * vec4f(0.25)) + t3);
}

@compute @workgroup_size(1024)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile % 32u;
  let first_m = (tile / 32u) * 1u;
  for (var i = lane; i < 16u; i += 1024u) {
    query0[i] = load_a0(batch, first_m, i * 4u);
  }
  workgroupBarrier();
  for (var first = 0u; first < 1000u; first += 256u) {
    let key0 = first + lane / 16u;
    var score0 = vec4f(0);
    let key1 = first + lane / 16u + 64u;
    var score1 = vec4f(0);
    let key2 = first + lane / 16u + 128u;
    var score2 = vec4f(0);
    let key3 = first + lane / 16u + 192u;
    var score3 = vec4f(0);
    for (var i = lane % 16u; i < 16u; i += 16u) {
      let factor = query0[i];
      score0 += factor * load_b0(batch, min(key0, 999u), i * 4u);
      score1 += factor * load_b0(batch, min(key1, 999u), i * 4u);
      score2 += factor * load_b0(batch, min(key2, 999u), i * 4u);
      score3 += factor * load_b0(batch, min(key3, 999u), i * 4u);
    }
    var sum0 = dot(score0, vec4f(1));
    sum0 += subgroupShuffleXor(sum0, 8u);
    sum0 += subgroupShuffleXor(sum0, 4u);
    sum0 += subgroupShuffleXor(sum0, 2u);
    sum0 += subgroupShuffleXor(sum0, 1u);
    var sum1 = dot(score1, vec4f(1));
    sum1 += subgroupShuffleXor(sum1, 8u);
    sum1 += subgroupShuffleXor(sum1, 4u);
    sum1 += subgroupShuffleXor(sum1, 2u);
    sum1 += subgroupShuffleXor(sum1, 1u);
    var sum2 = dot(score2, vec4f(1));
    sum2 += subgroupShuffleXor(sum2, 8u);
    sum2 += subgroupShuffleXor(sum2, 4u);
    sum2 += subgroupShuffleXor(sum2, 2u);
    sum2 += subgroupShuffleXor(sum2, 1u);
    var sum3 = dot(score3, vec4f(1));
    sum3 += subgroupShuffleXor(sum3, 8u);
    sum3 += subgroupShuffleXor(sum3, 4u);
    sum3 += subgroupShuffleXor(sum3, 2u);
    sum3 += subgroupShuffleXor(sum3, 1u);
    if (lane % 16u == 0u) {
      if (key0 < 1000u) { weights0[key0] = sum0; }
      if (key1 < 1000u) { weights0[key1] = sum1; }
      if (key2 < 1000u) { weights0[key2] = sum2; }
      if (key3 < 1000u) { weights0[key3] = sum3; }
    }
  }
  workgroupBarrier();
  var peak = -3.4028234e38;
  for (var quad = lane; quad < 250u; quad += 1024u) {
    let four = weigh0(batch, first_m, quad * 4u, vec4f(weights0[quad * 4u], weights0[quad * 4u + 1u], weights0[quad * 4u + 2u], weights0[quad * 4u + 3u]));
    weights0[quad * 4u] = four.x;
    weights0[quad * 4u + 1u] = four.y;
    weights0[quad * 4u + 2u] = four.z;
    weights0[quad * 4u + 3u] = four.w;
    peak = max(peak, max(max(four.x, four.y), max(four.z, four.w)));
  }
  peak = max(peak, subgroupShuffleXor(peak, 16u));
  peak = max(peak, subgroupShuffleXor(peak, 8u));
  peak = max(peak, subgroupShuffleXor(peak, 4u));
  peak = max(peak, subgroupShuffleXor(peak, 2u));
  peak = max(peak, subgroupShuffleXor(peak, 1u));
  peak0[lane / 32u] = peak;
  workgroupBarrier();
  peak = peak0[0];
  for (var other = 1u; other < 32u; other++) {
    peak = max(peak, peak0[other]);
  }
  var total = 0f;
  for (var quad = lane; quad < 250u; quad += 1024u) {
    let four = exp(vec4f(weights0[quad * 4u], weights0[quad * 4u + 1u], weights0[quad * 4u + 2u], weights0[quad * 4u + 3u]) - peak);
    weights0[quad * 4u] = four.x;
    weights0[quad * 4u + 1u] = four.y;
    weights0[quad * 4u + 2u] = four.z;
    weights0[quad * 4u + 3u] = four.w;
    total += dot(four, vec4f(1));
  }
  total = total + subgroupShuffleXor(total, 16u);
  total = total + subgroupShuffleXor(total, 8u);
  total = total + subgroupShuffleXor(total, 4u);
  total = total + subgroupShuffleXor(total, 2u);
  total = total + subgroupShuffleXor(total, 1u);
  total0[lane / 32u] = total;
  workgroupBarrier();
  total = total0[0];
  for (var other = 1u; other < 32u; other++) {
    total = total + total0[other];
  }
  let divisor = select(total, 1f, total == 0);
  let column = lane % 16u * 4u;
  var result = vec4f(0);
  for (var key = lane / 16u; key < 768u; key += 256u) {
    result += weights0[key] * load_v0(batch, column, key);
    result += weights0[key + 64u] * load_v0(batch, column, key + 64u);
    result += weights0[key + 128u] * load_v0(batch, column, key + 128u);
    result += weights0[key + 192u] * load_v0(batch, column, key + 192u);
  }
  for (var key = lane / 16u + 768u; key < 1000u; key += 64u) {
    result += weights0[key] * load_v0(batch, column, key);
  }
  result += subgroupShuffleXor(result, 16u);
  sums0[lane / 32u * 16u + lane % 16u] = result;
  workgroupBarrier();
  if (lane < 16u) {
    for (var other = 1u; other < 32u; other++) {
      result += sums0[lane + other * 16u];
    }
    store_c(batch, first_m, column, result / divisor);
  }
  if (lane == 0u) { store_row(batch, first_m, select(peak + log_f32(divisor), -inf_f32(), total == 0)); }
}
