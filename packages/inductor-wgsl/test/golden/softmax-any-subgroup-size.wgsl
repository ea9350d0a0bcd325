// workgroups: 32 × 1

enable subgroups;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f>;
var<workgroup> shared_0: array<f32, 32>;

var<private> inf_bits: u32 = 0x7f800000u;

fn inf_f32() -> f32 {
  return f32(bitcast<f32>(inf_bits));
}

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
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

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_size) subgroup_size: u32) {
  let point = group.x;
  let part = lane;
  let r0 = part;
  let r0_ = r0 * 4u;
  let r1 = part + 256u;
  let r0__ = r1 * 4u;
  var max0 = vec4f((-inf_f32()));
  let t0 = x[(2048u * point + r0_) >> 2u];
  max0 = max_vec4f(max0, t0);
  let t1 = x[(2048u * point + r0__) >> 2u];
  max0 = max_vec4f(max0, t1);
  var max0_0 = max0.x;
  max0_0 = max_f32(max0_0, max0.y);
  max0_0 = max_f32(max0_0, max0.z);
  max0_0 = max_f32(max0_0, max0.w);
  for (var mask0 = 1u; mask0 < subgroup_size; mask0 = mask0 << 1u) {
    let o0 = subgroupShuffleXor(max0_0, mask0);
    max0_0 = max_f32(max0_0, o0);
  }
  if (lane % subgroup_size == 0u) {
    shared_0[lane / subgroup_size] = max0_0;
  }
  workgroupBarrier();
  let first0 = (lane - part) / subgroup_size;
  max0_0 = shared_0[first0];
  for (var i0 = 1u; i0 < 256u / subgroup_size; i0 += 1u) {
    let o1 = shared_0[first0 + i0];
    max0_0 = max_f32(max0_0, o1);
  }
  let acc0 = max0_0;
  var sum0 = vec4f(0.0);
  let t2 = exp_vec4f((t0 - vec4f(acc0)));
  sum0 = sum0 + t2;
  let t3 = exp_vec4f((t1 - vec4f(acc0)));
  sum0 = sum0 + t3;
  var sum0_0 = sum0.x;
  sum0_0 = sum0_0 + sum0.y;
  sum0_0 = sum0_0 + sum0.z;
  sum0_0 = sum0_0 + sum0.w;
  sum0_0 = subgroupAdd(sum0_0);
  workgroupBarrier();
  if (lane % subgroup_size == 0u) {
    shared_0[lane / subgroup_size] = sum0_0;
  }
  workgroupBarrier();
  let first1 = (lane - part) / subgroup_size;
  sum0_0 = shared_0[first1];
  for (var i1 = 1u; i1 < 256u / subgroup_size; i1 += 1u) {
    let o2 = shared_0[first1 + i1];
    sum0_0 = sum0_0 + o2;
  }
  let acc1 = sum0_0;
  out[(2048u * point + r0_) >> 2u] = (t2 / vec4f(acc1));
  out[(2048u * point + r0__) >> 2u] = (t3 / vec4f(acc1));
}
