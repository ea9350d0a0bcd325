// workgroups: 32 × 1

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f>;
var<workgroup> shared_0: array<f32, 256>;
var<workgroup> shared_1: array<f32, 256>;

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
  let point = group.x;
  let part = lane;
  var max0 = vec4f((-inf_f32()));
  var sum0 = vec4f(0.0);
  for (var r0 = part; r0 < 12500u; r0 += 256u) {
    let r0_ = r0 * 4u;
    let t0 = x[(50000u * point + r0_) >> 2u];
    let u0 = select(exp_vec4f((-abs((t0 - max0)))), vec4f(1.0), (t0 == max0));
    sum0 = select((sum0 + u0), ((sum0 * u0) + vec4f(1.0)), (t0 > max0));
    max0 = max_vec4f(max0, t0);
  }
  var max0_0 = max0.x;
  var sum0_0 = sum0.x;
  let u1 = select(exp_f32((-abs((max0_0 - max0.y)))), 1.0, (max0_0 == max0.y));
  let u2 = select(((sum0_0 * u1) + sum0.y), (sum0_0 + (sum0.y * u1)), (max0_0 > max0.y));
  max0_0 = max_f32(max0_0, max0.y);
  sum0_0 = u2;
  let u3 = select(exp_f32((-abs((max0_0 - max0.z)))), 1.0, (max0_0 == max0.z));
  let u4 = select(((sum0_0 * u3) + sum0.z), (sum0_0 + (sum0.z * u3)), (max0_0 > max0.z));
  max0_0 = max_f32(max0_0, max0.z);
  sum0_0 = u4;
  let u5 = select(exp_f32((-abs((max0_0 - max0.w)))), 1.0, (max0_0 == max0.w));
  let u6 = select(((sum0_0 * u5) + sum0.w), (sum0_0 + (sum0.w * u5)), (max0_0 > max0.w));
  max0_0 = max_f32(max0_0, max0.w);
  sum0_0 = u6;
  shared_0[lane] = max0_0;
  shared_1[lane] = sum0_0;
  workgroupBarrier();
  for (var half0 = 128u; half0 > 0u; half0 = half0 >> 1u) {
    if (part < half0) {
      let o0 = shared_0[lane + half0];
      let o1 = shared_1[lane + half0];
      let u7 = select(exp_f32((-abs((max0_0 - o0)))), 1.0, (max0_0 == o0));
      let u8 = select(((sum0_0 * u7) + o1), (sum0_0 + (o1 * u7)), (max0_0 > o0));
      max0_0 = max_f32(max0_0, o0);
      sum0_0 = u8;
      shared_0[lane] = max0_0;
      shared_1[lane] = sum0_0;
    }
    workgroupBarrier();
  }
  max0_0 = shared_0[lane - part];
  sum0_0 = shared_1[lane - part];
  let acc0 = max0_0;
  let acc1 = select(sum0_0, nan_f32(), (is_inf_f32(max0_0) | is_nan_f32(max0_0)));
  for (var r1 = part; r1 < 12500u; r1 += 256u) {
    let r0__ = r1 * 4u;
    let t1 = x[(50000u * point + r0__) >> 2u];
    out[(50000u * point + r0__) >> 2u] = (exp_vec4f((t1 - vec4f(acc0))) / vec4f(acc1));
  }
}
