// workgroups: 32 × 1

enable f16;

enable subgroups;

@group(0) @binding(0) var<storage, read> q: array<vec4h>;
@group(0) @binding(1) var<storage, read> k: array<vec4h>;
@group(0) @binding(2) var<storage, read> v: array<vec4h>;
@group(0) @binding(3) var<storage, read> bias: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4h>;
@group(0) @binding(5) var<storage, read_write> sums_: array<f32>;
var<workgroup> weights0: array<f32, 1000>;
var<workgroup> peak0: array<f32, 32>;
var<workgroup> total0: array<f32, 32>;
var<workgroup> sums0: array<vec4f, 544>;

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
  sums_[batch + 0u] = sum;
}

fn weigh0(batch: u32, down: u32, along: u32, score0: vec4f) -> vec4f {
  let t3 = bias[(1000u * 0u + along) >> 2u];
  return ((score0 * vec4f(0.25)) + t3);
}

@compute @workgroup_size(1024)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile % 32u;
  let first_m = tile / 32u;
  let neighbour = lane % 16u;
  let query0 = load_a0(batch, first_m, neighbour * 4u);
  for (var first = 0u; first < 1000u; first += 1024u) {
    let key0 = min(first + lane / 16u, 999u);
    let key1 = min(first + lane / 16u + 64u, 999u);
    let key2 = min(first + lane / 16u + 128u, 999u);
    let key3 = min(first + lane / 16u + 192u, 999u);
    let key4 = min(first + lane / 16u + 256u, 999u);
    let key5 = min(first + lane / 16u + 320u, 999u);
    let key6 = min(first + lane / 16u + 384u, 999u);
    let key7 = min(first + lane / 16u + 448u, 999u);
    let key8 = min(first + lane / 16u + 512u, 999u);
    let key9 = min(first + lane / 16u + 576u, 999u);
    let key10 = min(first + lane / 16u + 640u, 999u);
    let key11 = min(first + lane / 16u + 704u, 999u);
    let key12 = min(first + lane / 16u + 768u, 999u);
    let key13 = min(first + lane / 16u + 832u, 999u);
    let key14 = min(first + lane / 16u + 896u, 999u);
    let key15 = min(first + lane / 16u + 960u, 999u);
    let vector0_0 = load_b0(batch, key0, neighbour * 4u);
    let vector1_0 = load_b0(batch, key1, neighbour * 4u);
    let vector2_0 = load_b0(batch, key2, neighbour * 4u);
    let vector3_0 = load_b0(batch, key3, neighbour * 4u);
    let vector4_0 = load_b0(batch, key4, neighbour * 4u);
    let vector5_0 = load_b0(batch, key5, neighbour * 4u);
    let vector6_0 = load_b0(batch, key6, neighbour * 4u);
    let vector7_0 = load_b0(batch, key7, neighbour * 4u);
    let vector8_0 = load_b0(batch, key8, neighbour * 4u);
    let vector9_0 = load_b0(batch, key9, neighbour * 4u);
    let vector10_0 = load_b0(batch, key10, neighbour * 4u);
    let vector11_0 = load_b0(batch, key11, neighbour * 4u);
    let vector12_0 = load_b0(batch, key12, neighbour * 4u);
    let vector13_0 = load_b0(batch, key13, neighbour * 4u);
    let vector14_0 = load_b0(batch, key14, neighbour * 4u);
    let vector15_0 = load_b0(batch, key15, neighbour * 4u);
    var score0 = dot(query0, vector0_0);
    var score1 = dot(query0, vector1_0);
    var score2 = dot(query0, vector2_0);
    var score3 = dot(query0, vector3_0);
    var score4 = dot(query0, vector4_0);
    var score5 = dot(query0, vector5_0);
    var score6 = dot(query0, vector6_0);
    var score7 = dot(query0, vector7_0);
    var score8 = dot(query0, vector8_0);
    var score9 = dot(query0, vector9_0);
    var score10 = dot(query0, vector10_0);
    var score11 = dot(query0, vector11_0);
    var score12 = dot(query0, vector12_0);
    var score13 = dot(query0, vector13_0);
    var score14 = dot(query0, vector14_0);
    var score15 = dot(query0, vector15_0);
    let score_upper8 = (lane & 8u) != 0u;
    score0 = select(score0, score8, score_upper8) + subgroupShuffleXor(select(score8, score0, score_upper8), 8u);
    score1 = select(score1, score9, score_upper8) + subgroupShuffleXor(select(score9, score1, score_upper8), 8u);
    score2 = select(score2, score10, score_upper8) + subgroupShuffleXor(select(score10, score2, score_upper8), 8u);
    score3 = select(score3, score11, score_upper8) + subgroupShuffleXor(select(score11, score3, score_upper8), 8u);
    score4 = select(score4, score12, score_upper8) + subgroupShuffleXor(select(score12, score4, score_upper8), 8u);
    score5 = select(score5, score13, score_upper8) + subgroupShuffleXor(select(score13, score5, score_upper8), 8u);
    score6 = select(score6, score14, score_upper8) + subgroupShuffleXor(select(score14, score6, score_upper8), 8u);
    score7 = select(score7, score15, score_upper8) + subgroupShuffleXor(select(score15, score7, score_upper8), 8u);
    let score_upper4 = (lane & 4u) != 0u;
    score0 = select(score0, score4, score_upper4) + subgroupShuffleXor(select(score4, score0, score_upper4), 4u);
    score1 = select(score1, score5, score_upper4) + subgroupShuffleXor(select(score5, score1, score_upper4), 4u);
    score2 = select(score2, score6, score_upper4) + subgroupShuffleXor(select(score6, score2, score_upper4), 4u);
    score3 = select(score3, score7, score_upper4) + subgroupShuffleXor(select(score7, score3, score_upper4), 4u);
    let score_upper2 = (lane & 2u) != 0u;
    score0 = select(score0, score2, score_upper2) + subgroupShuffleXor(select(score2, score0, score_upper2), 2u);
    score1 = select(score1, score3, score_upper2) + subgroupShuffleXor(select(score3, score1, score_upper2), 2u);
    let score_upper1 = (lane & 1u) != 0u;
    score0 = select(score0, score1, score_upper1) + subgroupShuffleXor(select(score1, score0, score_upper1), 1u);
    let place0 = first + lane / 16u + (lane % 16u) * 64u;
    if (place0 < 1000u) { weights0[place0] = score0; }
  }
  let column = lane % 16u * 4u;
  let value0 = load_v0(batch, column, lane / 16u);
  let value1 = load_v0(batch, column, lane / 16u + 64u);
  let value2 = load_v0(batch, column, lane / 16u + 128u);
  let value3 = load_v0(batch, column, lane / 16u + 192u);
  let value4 = load_v0(batch, column, lane / 16u + 256u);
  let value5 = load_v0(batch, column, lane / 16u + 320u);
  let value6 = load_v0(batch, column, lane / 16u + 384u);
  let value7 = load_v0(batch, column, lane / 16u + 448u);
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
  peak = peak0[lane % 32u];
  peak = max(peak, subgroupShuffleXor(peak, 16u));
  peak = max(peak, subgroupShuffleXor(peak, 8u));
  peak = max(peak, subgroupShuffleXor(peak, 4u));
  peak = max(peak, subgroupShuffleXor(peak, 2u));
  peak = max(peak, subgroupShuffleXor(peak, 1u));
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
  total = total0[lane % 32u];
  total = total + subgroupShuffleXor(total, 16u);
  total = total + subgroupShuffleXor(total, 8u);
  total = total + subgroupShuffleXor(total, 4u);
  total = total + subgroupShuffleXor(total, 2u);
  total = total + subgroupShuffleXor(total, 1u);
  let divisor = select(total, 1f, total == 0);
  var result = vec4f(0);
  result += weights0[lane / 16u] * value0;
  result += weights0[lane / 16u + 64u] * value1;
  result += weights0[lane / 16u + 128u] * value2;
  result += weights0[lane / 16u + 192u] * value3;
  result += weights0[lane / 16u + 256u] * value4;
  result += weights0[lane / 16u + 320u] * value5;
  result += weights0[lane / 16u + 384u] * value6;
  result += weights0[lane / 16u + 448u] * value7;
  for (var key = lane / 16u + 512u; key < 768u; key += 256u) {
    result += weights0[key] * load_v0(batch, column, key);
    result += weights0[key + 64u] * load_v0(batch, column, key + 64u);
    result += weights0[key + 128u] * load_v0(batch, column, key + 128u);
    result += weights0[key + 192u] * load_v0(batch, column, key + 192u);
  }
  for (var key = lane / 16u + 768u; key < 896u; key += 128u) {
    result += weights0[key] * load_v0(batch, column, key);
    result += weights0[key + 64u] * load_v0(batch, column, key + 64u);
  }
  for (var key = lane / 16u + 896u; key < 1000u; key += 64u) {
    result += weights0[key] * load_v0(batch, column, key);
  }
  result += subgroupShuffleXor(result, 16u);
  sums0[lane / 32u * 17u + lane % 16u] = result;
  workgroupBarrier();
  if (lane < 512u) {
    result = sums0[(lane % 32u) * 17u + lane / 32u];
  }
  result += subgroupShuffleXor(result, 16u);
  result += subgroupShuffleXor(result, 8u);
  result += subgroupShuffleXor(result, 4u);
  result += subgroupShuffleXor(result, 2u);
  result += subgroupShuffleXor(result, 1u);
  if (lane % 32u == 0u && lane < 512u) {
    store_c(batch, first_m, lane / 32u * 4u, result / divisor);
  }
  if (lane == 0u) { store_row(batch, first_m, select(peak + log_f32(divisor), -inf_f32(), total == 0)); }
}
