// workgroups: 32 × 1

enable subgroups;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f>;
var<workgroup> shared_0: array<f32, 8>;
var<workgroup> shared_1: array<f32, 8>;

var<private> inf_bits: u32 = 0x7f800000u;

var<private> nan_bits: u32 = 0x7fc00000u;

fn inf_vec4f() -> vec4f {
  return vec4f(bitcast<f32>(inf_bits));
}

fn scale_vec4f(x: vec4f, n: vec4i) -> vec4f {
  let half = n >> vec4u(1u);
  let low = bitcast<vec4f>((half + vec4i(127)) << vec4u(23u));
  let high = bitcast<vec4f>((n - half + vec4i(127)) << vec4u(23u));
  return x * low * high;
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

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
}

fn exp_vec4f(x: vec4f) -> vec4f {
  let c = clamp(x, vec4f(-104.0), vec4f(89.0));
  let n = round(c * vec4f(1.44269504));
  let r = (c - n * vec4f(0.693359375)) - n * vec4f(-2.12194440e-4);
  let y = scale_vec4f(exp_core_vec4f(r) + vec4f(1.0), vec4i(n));
  return select(y, x, is_nan_vec4f(x));
}

fn max_vec4f(a: vec4f, b: vec4f) -> vec4f {
  return select(select(max(a, b), b, is_nan_vec4f(b)), a, is_nan_vec4f(a));
}

fn scale_f32(x: f32, n: i32) -> f32 {
  let half = n >> u32(1u);
  let low = bitcast<f32>((half + i32(127)) << u32(23u));
  let high = bitcast<f32>((n - half + i32(127)) << u32(23u));
  return x * low * high;
}

fn exp_core_f32(r: f32) -> f32 {
  var p = f32(1.9875691500e-4);
  p = p * r + f32(1.3981999507e-3);
  p = p * r + f32(8.3334519073e-3);
  p = p * r + f32(4.1665795894e-2);
  p = p * r + f32(1.6666665459e-1);
  p = p * r + f32(5.0000001201e-1);
  return p * (r * r) + r;
}

fn is_nan_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & u32(0x7fffffffu)) > u32(0x7f800000u);
}

fn exp_f32(x: f32) -> f32 {
  let c = clamp(x, f32(-104.0), f32(89.0));
  let n = round(c * f32(1.44269504));
  let r = (c - n * f32(0.693359375)) - n * f32(-2.12194440e-4);
  let y = scale_f32(exp_core_f32(r) + f32(1.0), i32(n));
  return select(y, x, is_nan_f32(x));
}

fn max_f32(a: f32, b: f32) -> f32 {
  return select(select(max(a, b), b, is_nan_f32(b)), a, is_nan_f32(a));
}

fn nan_f32() -> f32 {
  return f32(bitcast<f32>(nan_bits));
}

fn is_inf_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & u32(0x7fffffffu)) == u32(0x7f800000u);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x;
  let part = lane;
  let r0 = part;
  let r0_ = r0 * 4u;
  let r1 = part + 256u;
  let r0__ = r1 * 4u;
  var top0 = vec4f((-inf_vec4f()));
  var sum0 = vec4f(0.0);
  let t0 = x[(2048u * point + r0_) >> 2u];
  let u0 = select(exp_vec4f(-abs(t0 - top0)), vec4f(1.0), t0 == top0);
  sum0 = select(sum0 + u0, sum0 * u0 + vec4f(1.0), t0 > top0);
  top0 = max_vec4f(top0, t0);
  let t1 = x[(2048u * point + r0__) >> 2u];
  let u1 = select(exp_vec4f(-abs(t1 - top0)), vec4f(1.0), t1 == top0);
  sum0 = select(sum0 + u1, sum0 * u1 + vec4f(1.0), t1 > top0);
  top0 = max_vec4f(top0, t1);
  var top0_0 = top0.x;
  var sum0_0 = sum0.x;
  let u2 = select(exp_f32(-abs(top0_0 - top0.y)), f32(1.0), top0_0 == top0.y);
  sum0_0 = select(sum0_0 * u2 + sum0.y, sum0_0 + sum0.y * u2, top0_0 > top0.y);
  top0_0 = max_f32(top0_0, top0.y);
  let u3 = select(exp_f32(-abs(top0_0 - top0.z)), f32(1.0), top0_0 == top0.z);
  sum0_0 = select(sum0_0 * u3 + sum0.z, sum0_0 + sum0.z * u3, top0_0 > top0.z);
  top0_0 = max_f32(top0_0, top0.z);
  let u4 = select(exp_f32(-abs(top0_0 - top0.w)), f32(1.0), top0_0 == top0.w);
  sum0_0 = select(sum0_0 * u4 + sum0.w, sum0_0 + sum0.w * u4, top0_0 > top0.w);
  top0_0 = max_f32(top0_0, top0.w);
  for (var mask0 = 1u; mask0 < 32u; mask0 = mask0 << 1u) {
    let o0 = subgroupShuffleXor(top0_0, mask0);
    let o1 = subgroupShuffleXor(sum0_0, mask0);
    let u5 = select(exp_f32(-abs(top0_0 - o0)), f32(1.0), top0_0 == o0);
    sum0_0 = select(sum0_0 * u5 + o1, sum0_0 + o1 * u5, top0_0 > o0);
    top0_0 = max_f32(top0_0, o0);
  }
  if (lane % 32u == 0u) {
    shared_0[lane / 32u] = top0_0;
    shared_1[lane / 32u] = sum0_0;
  }
  workgroupBarrier();
  let first0 = (lane - part) / 32u;
  top0_0 = shared_0[first0];
  sum0_0 = shared_1[first0];
  for (var i0 = 1u; i0 < 256u / 32u; i0++) {
    let o2 = shared_0[first0 + i0];
    let o3 = shared_1[first0 + i0];
    let u6 = select(exp_f32(-abs(top0_0 - o2)), f32(1.0), top0_0 == o2);
    sum0_0 = select(sum0_0 * u6 + o3, sum0_0 + o3 * u6, top0_0 > o2);
    top0_0 = max_f32(top0_0, o2);
  }
  let acc0 = top0_0;
  let acc1 = select(sum0_0, nan_f32(), is_inf_f32(top0_0) | is_nan_f32(top0_0));
  out[(2048u * point + r0_) >> 2u] = (exp_vec4f((t0 - vec4f(acc0))) / vec4f(acc1));
  out[(2048u * point + r0__) >> 2u] = (exp_vec4f((t1 - vec4f(acc0))) / vec4f(acc1));
}
