// workgroups: 2 × 1

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> y: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;

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

fn sigmoid_vec4f(x: vec4f) -> vec4f {
  let e = exp_vec4f(-abs(x));
  return select(vec4f(1.0), e, x < vec4f(0.0)) / (vec4f(1.0) + e);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 256u + lane;
  if (point >= 257u) { return; }
  let i0 = point * 4u;
  let t0 = y[i0 >> 2u];
  let t1 = x[i0 >> 2u];
  let t2 = ((t1 * sigmoid_vec4f(t1)) + t0);
  if (i0 + 3u < 1027u) {
    out[i0 >> 2u] = t2;
  }
  else {
    if (i0 + 0u < 1027u) { out[i0 >> 2u].x = t2.x; }
    if (i0 + 1u < 1027u) { out[i0 >> 2u].y = t2.y; }
    if (i0 + 2u < 1027u) { out[i0 >> 2u].z = t2.z; }
    if (i0 + 3u < 1027u) { out[i0 >> 2u].w = t2.w; }
  }
}
