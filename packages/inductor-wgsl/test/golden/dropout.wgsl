// workgroups: 1 × 1

struct Uniforms {
  seed_: i32,
  offset_: i32,
  p: f32,
}
@group(1) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> noise_: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> mask_: array<vec4u>;

var<private> nan_bits: u32 = 0x7fc00000u;

var<private> inf_bits: u32 = 0x7f800000u;

fn mul_high_u32(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let middle = ah * bl + ((al * bl) >> 16u);
  return ah * bh + (middle >> 16u) + ((al * bh + (middle & 0xffffu)) >> 16u);
}

fn philox_u32(seed: u32, offset: u32, index: u32) -> vec2u {
  var c0 = index;
  var c1 = 0u;
  var c2 = offset;
  var c3 = 0u;
  var k0 = seed;
  var k1 = 0u;
  var round = 0u;
  while (round < 10u) {
    let high0 = mul_high_u32(0xd2511f53u, c0);
    let high1 = mul_high_u32(0xcd9e8d57u, c2);
    let low0 = 0xd2511f53u * c0;
    c0 = (high1 ^ c1) ^ k0;
    c1 = 0xcd9e8d57u * c2;
    c2 = (high0 ^ c3) ^ k1;
    c3 = low0;
    k0 = k0 + 0x9e3779b9u;
    k1 = k1 + 0xbb67ae85u;
    round = round + 1u;
  }
  return vec2u(c0, c1);
}

fn uniform_f32(seed: u32, offset: u32, index: u32) -> f32 {
  return f32(philox_u32(seed, offset, index).x >> 8u) * 5.9604644775390625e-8;
}

fn uniform_vec4f(seed: vec4u, offset: vec4u, index: vec4u) -> vec4f {
  return vec4f(uniform_f32(seed[0], offset[0], index[0]), uniform_f32(seed[1], offset[1], index[1]), uniform_f32(seed[2], offset[2], index[2]), uniform_f32(seed[3], offset[3], index[3]));
}

fn kept_long_i32(r: i32, lost: bool) -> i32 {
  return select(r, i32(-2147483647 - 1), lost);
}

fn lost_long_i32(x: i32) -> bool {
  return x == i32(-2147483647 - 1);
}

fn add_long_i32(a: i32, b: i32) -> i32 {
  let r = a + b;
  return kept_long_i32(r, lost_long_i32(a) | lost_long_i32(b) | (((a ^ r) & (b ^ r)) < i32(0)));
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

fn sin_core_f32(r: f32) -> f32 {
  let z = r * r;
  return ((-1.9515295891e-4 * z + 8.3321608736e-3) * z + -1.6666654611e-1) * z * r + r;
}

fn cos_core_f32(r: f32) -> f32 {
  let z = r * r;
  return ((2.443315711809948e-5 * z + -1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
}

fn turned_f32(r: f32, quarters: i32) -> f32 {
  let y = select(sin_core_f32(r), cos_core_f32(r), (quarters & 1) == 1);
  return select(y, -y, (quarters & 2) == 2);
}

fn near_turned_f32(x: f32, more: i32) -> f32 {
  let n = round(x * 0.63661977);
  return turned_f32(x - n * 1.5703125 - n * 4.837512969970703125e-4 - n * 7.54978995489188216e-8, i32(n) + more);
}

fn normal_f32(seed: u32, offset: u32, index: u32) -> f32 {
  let words = philox_u32(seed, offset, index);
  let u1 = f32((words.x >> 8u) + 1u) * 5.9604644775390625e-8;
  let turn = f32(words.y >> 8u) * 5.9604644775390625e-8;
  return sqrt(-2.0 * log_f32(u1)) * near_turned_f32(6.28318531 * turn, 1);
}

fn normal_vec4f(seed: vec4u, offset: vec4u, index: vec4u) -> vec4f {
  return vec4f(normal_f32(seed[0], offset[0], index[0]), normal_f32(seed[1], offset[1], index[1]), normal_f32(seed[2], offset[2], index[2]), normal_f32(seed[3], offset[3], index[3]));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 256u + lane;
  if (point >= 128u) { return; }
  let i0 = point * 4u;
  let t0 = uniform_vec4f(vec4u(u32(uniforms.seed_)), vec4u(u32(uniforms.offset_)), (i0 + vec4u(0u, 1u, 2u, 3u)));
  let t1 = (t0 >= vec4f(uniforms.p));
  let t2 = x[i0 >> 2u];
  let t3 = ((t2 * vec4f(t1)) * vec4f((f32(1.0) / (1.0 - uniforms.p))));
  out[i0 >> 2u] = t3;
  let t4 = normal_vec4f(vec4u(u32(uniforms.seed_)), vec4u(u32(add_long_i32(uniforms.offset_, 1))), (i0 + vec4u(0u, 1u, 2u, 3u)));
  noise_[i0 >> 2u] = t4;
  mask_[i0 >> 2u] = select(vec4u(0u), vec4u(1u), t1);
}
