// workgroups: s0

enable subgroups;

struct Uniforms {
  size0: u32,
  size1: u32,
  size2: u32,
}
@group(1) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
var<workgroup> shared_0: array<f32, 8>;
var<workgroup> shared_1: array<f32, 8>;

var<private> inf_bits: u32 = 0x7f800000u;

var<private> nan_bits: u32 = 0x7fc00000u;

fn inf_f32() -> f32 {
  return f32(bitcast<f32>(inf_bits));
}

fn exp_core_vec4f(r: vec4f) -> vec4f {
  var p = vec4f(1.9875691500e-4);
  p = p * r + vec4f(1.3981999507e-3);
  p = p * r + vec4f(8.3334519073e-3);
  p = p * r + vec4f(4.1665795894e-2);
  p = p * r + vec4f(1.6666665459e-1);
  p = p * r + vec4f(5.0000001201e-1);
  return p * (r * r) + r;
}

fn exp_near_vec4f(x: vec4f) -> vec4f {
  let t = bitcast<vec4u>(x * vec4f(1.44269504) + vec4f(12582912.0)) | vec4u(0x4b000000u);
  let n = bitcast<vec4f>(t) - vec4f(12582912.0);
  let r = x - n * vec4f(0.693359375) - n * vec4f(-2.12194440e-4);
  return bitcast<vec4f>(bitcast<vec4u>(exp_core_vec4f(r) + vec4f(1.0)) + (t << vec4u(23u)));
}

fn scale_vec4f(x: vec4f, n: vec4i) -> vec4f {
  let half = n >> vec4u(1u);
  let low = bitcast<vec4f>((half + vec4i(127)) << vec4u(23u));
  let high = bitcast<vec4f>((n - half + vec4i(127)) << vec4u(23u));
  return x * low * high;
}

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
}

fn exp_far_vec4f(x: vec4f) -> vec4f {
  let c = clamp(x, vec4f(-104.0), vec4f(89.0));
  let n = round(c * vec4f(1.44269504));
  let r = c - n * vec4f(0.693359375) - n * vec4f(-2.12194440e-4);
  let y = scale_vec4f(exp_core_vec4f(r) + vec4f(1.0), vec4i(n));
  return select(y, x, is_nan_vec4f(x));
}

fn exp_vec4f(x: vec4f) -> vec4f {
  var y = exp_near_vec4f(x);
  let far = (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x42aeac4fu);
  if (any(far)) {
    y = select(y, exp_far_vec4f(x), far);
  }
  return y;
}

fn max_vec4f(a: vec4f, b: vec4f) -> vec4f {
  return select(select(max(a, b), b, is_nan_vec4f(b)), a, is_nan_vec4f(a));
}

fn is_nan_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn max_f32(a: f32, b: f32) -> f32 {
  return select(select(max(a, b), b, is_nan_f32(b)), a, is_nan_f32(a));
}

fn exp_core_f32(r: f32) -> f32 {
  var p = 1.9875691500e-4;
  p = p * r + 1.3981999507e-3;
  p = p * r + 8.3334519073e-3;
  p = p * r + 4.1665795894e-2;
  p = p * r + 1.6666665459e-1;
  p = p * r + 5.0000001201e-1;
  return p * (r * r) + r;
}

fn exp_near_f32(x: f32) -> f32 {
  let t = bitcast<u32>(x * 1.44269504 + 12582912.0) | 0x4b000000u;
  let n = bitcast<f32>(t) - 12582912.0;
  let r = x - n * 0.693359375 - n * -2.12194440e-4;
  return bitcast<f32>(bitcast<u32>(exp_core_f32(r) + 1.0) + (t << 23u));
}

fn scale_f32(x: f32, n: i32) -> f32 {
  let half = n >> 1u;
  let low = bitcast<f32>((half + 127) << 23u);
  let high = bitcast<f32>((n - half + 127) << 23u);
  return x * low * high;
}

fn exp_far_f32(x: f32) -> f32 {
  let c = clamp(x, -104.0, 89.0);
  let n = round(c * 1.44269504);
  let r = c - n * 0.693359375 - n * -2.12194440e-4;
  let y = scale_f32(exp_core_f32(r) + 1.0, i32(n));
  return select(y, x, is_nan_f32(x));
}

fn exp_f32(x: f32) -> f32 {
  var y = exp_near_f32(x);
  let far = (bitcast<u32>(x) & 0x7fffffffu) > 0x42aeac4fu;
  if (any(far)) {
    y = select(y, exp_far_f32(x), far);
  }
  return y;
}

fn is_inf_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

fn nan_f32() -> f32 {
  return f32(bitcast<f32>(nan_bits));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  if ((group.y * 65535u + group.x) >= uniforms.size0) { return; }
  let point = (group.y * 65535u + group.x);
  let part = lane;
  var max0 = vec4f((-inf_f32()));
  var sum0 = vec4f(0.0);
  var whole_max0 = vec4f((-inf_f32()));
  var whole_sum0 = vec4f(0.0);
  for (var first0 = part; first0 < uniforms.size1; first0 += 65536u) {
    for (var r0 = first0; r0 < min(first0 + 65536u, uniforms.size1); r0 += 1024u) {
      let x0 = uniforms.size2 * point + r0;
      let t0 = vec4f(x[x0], x[x0 + 256u], x[x0 + 512u], x[x0 + 768u]);
      let u0 = select(exp_vec4f((-abs((t0 - max0)))), vec4f(1.0), (t0 == max0));
      sum0 = select((sum0 + u0), ((sum0 * u0) + vec4f(1.0)), (t0 > max0));
      max0 = max_vec4f(max0, t0);
    }
    let u1 = select(exp_vec4f((-abs((whole_max0 - max0)))), vec4f(1.0), (whole_max0 == max0));
    let u2 = select(((whole_sum0 * u1) + sum0), (whole_sum0 + (sum0 * u1)), (whole_max0 > max0));
    whole_max0 = max_vec4f(whole_max0, max0);
    whole_sum0 = u2;
    max0 = vec4f((-inf_f32()));
    sum0 = vec4f(0.0);
  }
  let r1 = uniforms.size1 + part;
  let valid0 = (r1 + vec4u(0u, 256u, 512u, 768u)) < vec4u(uniforms.size2);
  let x1 = uniforms.size2 * point + r1;
  let t1 = vec4f(x[x1], x[x1 + 256u], x[x1 + 512u], x[x1 + 768u]);
  let u3 = select(vec4f((-inf_f32())), t1, valid0);
  let u4 = select(exp_vec4f((-abs((u3 - max0)))), vec4f(1.0), (u3 == max0));
  sum0 = select((sum0 + u4), ((sum0 * u4) + vec4f(1.0)), (u3 > max0));
  max0 = max_vec4f(max0, u3);
  let u5 = select(exp_vec4f((-abs((whole_max0 - max0)))), vec4f(1.0), (whole_max0 == max0));
  let u6 = select(((whole_sum0 * u5) + sum0), (whole_sum0 + (sum0 * u5)), (whole_max0 > max0));
  whole_max0 = max_vec4f(whole_max0, max0);
  whole_sum0 = u6;
  max0 = vec4f((-inf_f32()));
  sum0 = vec4f(0.0);
  max0 = whole_max0;
  sum0 = whole_sum0;
  var max0_0 = max0.x;
  var sum0_0 = sum0.x;
  let u7 = select(exp_f32((-abs((max0_0 - max0.y)))), 1.0, (max0_0 == max0.y));
  let u8 = select(((sum0_0 * u7) + sum0.y), (sum0_0 + (sum0.y * u7)), (max0_0 > max0.y));
  max0_0 = max_f32(max0_0, max0.y);
  sum0_0 = u8;
  let u9 = select(exp_f32((-abs((max0_0 - max0.z)))), 1.0, (max0_0 == max0.z));
  let u10 = select(((sum0_0 * u9) + sum0.z), (sum0_0 + (sum0.z * u9)), (max0_0 > max0.z));
  max0_0 = max_f32(max0_0, max0.z);
  sum0_0 = u10;
  let u11 = select(exp_f32((-abs((max0_0 - max0.w)))), 1.0, (max0_0 == max0.w));
  let u12 = select(((sum0_0 * u11) + sum0.w), (sum0_0 + (sum0.w * u11)), (max0_0 > max0.w));
  max0_0 = max_f32(max0_0, max0.w);
  sum0_0 = u12;
  let o0 = subgroupShuffleXor(max0_0, 1u);
  let o1 = subgroupShuffleXor(sum0_0, 1u);
  let u13 = select(exp_f32((-abs((max0_0 - o0)))), 1.0, (max0_0 == o0));
  let u14 = select(((sum0_0 * u13) + o1), (sum0_0 + (o1 * u13)), (max0_0 > o0));
  max0_0 = max_f32(max0_0, o0);
  sum0_0 = u14;
  let o2 = subgroupShuffleXor(max0_0, 2u);
  let o3 = subgroupShuffleXor(sum0_0, 2u);
  let u15 = select(exp_f32((-abs((max0_0 - o2)))), 1.0, (max0_0 == o2));
  let u16 = select(((sum0_0 * u15) + o3), (sum0_0 + (o3 * u15)), (max0_0 > o2));
  max0_0 = max_f32(max0_0, o2);
  sum0_0 = u16;
  let o4 = subgroupShuffleXor(max0_0, 4u);
  let o5 = subgroupShuffleXor(sum0_0, 4u);
  let u17 = select(exp_f32((-abs((max0_0 - o4)))), 1.0, (max0_0 == o4));
  let u18 = select(((sum0_0 * u17) + o5), (sum0_0 + (o5 * u17)), (max0_0 > o4));
  max0_0 = max_f32(max0_0, o4);
  sum0_0 = u18;
  let o6 = subgroupShuffleXor(max0_0, 8u);
  let o7 = subgroupShuffleXor(sum0_0, 8u);
  let u19 = select(exp_f32((-abs((max0_0 - o6)))), 1.0, (max0_0 == o6));
  let u20 = select(((sum0_0 * u19) + o7), (sum0_0 + (o7 * u19)), (max0_0 > o6));
  max0_0 = max_f32(max0_0, o6);
  sum0_0 = u20;
  let o8 = subgroupShuffleXor(max0_0, 16u);
  let o9 = subgroupShuffleXor(sum0_0, 16u);
  let u21 = select(exp_f32((-abs((max0_0 - o8)))), 1.0, (max0_0 == o8));
  let u22 = select(((sum0_0 * u21) + o9), (sum0_0 + (o9 * u21)), (max0_0 > o8));
  max0_0 = max_f32(max0_0, o8);
  sum0_0 = u22;
  if (lane % 32u == 0u) {
    shared_0[lane / 32u] = max0_0;
    shared_1[lane / 32u] = sum0_0;
  }
  workgroupBarrier();
  let first1 = (lane - part) / 32u;
  max0_0 = shared_0[first1 + lane % 8u];
  sum0_0 = shared_1[first1 + lane % 8u];
  let o10 = subgroupShuffleXor(max0_0, 1u);
  let o11 = subgroupShuffleXor(sum0_0, 1u);
  let u23 = select(exp_f32((-abs((max0_0 - o10)))), 1.0, (max0_0 == o10));
  let u24 = select(((sum0_0 * u23) + o11), (sum0_0 + (o11 * u23)), (max0_0 > o10));
  max0_0 = max_f32(max0_0, o10);
  sum0_0 = u24;
  let o12 = subgroupShuffleXor(max0_0, 2u);
  let o13 = subgroupShuffleXor(sum0_0, 2u);
  let u25 = select(exp_f32((-abs((max0_0 - o12)))), 1.0, (max0_0 == o12));
  let u26 = select(((sum0_0 * u25) + o13), (sum0_0 + (o13 * u25)), (max0_0 > o12));
  max0_0 = max_f32(max0_0, o12);
  sum0_0 = u26;
  let o14 = subgroupShuffleXor(max0_0, 4u);
  let o15 = subgroupShuffleXor(sum0_0, 4u);
  let u27 = select(exp_f32((-abs((max0_0 - o14)))), 1.0, (max0_0 == o14));
  let u28 = select(((sum0_0 * u27) + o15), (sum0_0 + (o15 * u27)), (max0_0 > o14));
  max0_0 = max_f32(max0_0, o14);
  sum0_0 = u28;
  let acc0 = max0_0;
  let acc1 = select(sum0_0, nan_f32(), (is_inf_f32(max0_0) | is_nan_f32(max0_0)));
  for (var r2 = part; r2 < uniforms.size1; r2 += 1024u) {
    let x2 = uniforms.size2 * point + r2;
    let t2 = vec4f(x[x2], x[x2 + 256u], x[x2 + 512u], x[x2 + 768u]);
    let t3 = (exp_vec4f((t2 - vec4f(acc0))) / vec4f(acc1));
    let x3 = uniforms.size2 * point + r2;
    out[x3] = t3.x;
    out[x3 + 256u] = t3.y;
    out[x3 + 512u] = t3.z;
    out[x3 + 768u] = t3.w;
  }
  let r3 = uniforms.size1 + part;
  let x4 = uniforms.size2 * point + r3;
  let t4 = vec4f(x[x4], x[x4 + 256u], x[x4 + 512u], x[x4 + 768u]);
  let t5 = (exp_vec4f((t4 - vec4f(acc0))) / vec4f(acc1));
  let x5 = uniforms.size2 * point + r3;
  if (r3 + 0u < uniforms.size2) { out[x5] = t5.x; }
  if (r3 + 256u < uniforms.size2) { out[x5 + 256u] = t5.y; }
  if (r3 + 512u < uniforms.size2) { out[x5 + 512u] = t5.z; }
  if (r3 + 768u < uniforms.size2) { out[x5 + 768u] = t5.w; }
}
