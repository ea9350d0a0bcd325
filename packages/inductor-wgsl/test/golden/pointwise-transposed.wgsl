// workgroups: 4 × 1

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> bias: array<vec4f>;
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

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
}

fn erf_vec4f(x: vec4f) -> vec4f {
  let a = min(abs(x), vec4f(4.0));
  let s = a * a;
  var q = (vec4f(-1.72853470e-5) * a + vec4f(3.83197126e-4)) * s + (vec4f(-3.88396438e-3) * a + vec4f(2.42546219e-2));
  q = q * a + vec4f(-1.06777877e-1);
  q = q * a + vec4f(-6.34846687e-1);
  q = q * a + vec4f(-1.28717512e-1);
  q = q * a - a;
  let far = vec4f(1.0) - exp_near_vec4f(q);
  var p = vec4f(-5.96761703e-4);
  p = p * s + vec4f(4.99119423e-3);
  p = p * s + vec4f(-2.67681349e-2);
  p = p * s + vec4f(1.12819925e-1);
  p = p * s + vec4f(-3.76125336e-1);
  p = p * s + vec4f(1.28379166e-1);
  let near = p * x + x;
  let y = select(near, select(far, -far, x < vec4f(0.0)), a > vec4f(0.927734375));
  return select(y, x, is_nan_vec4f(x));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let patch_along = group.x % 2u;
  let patch_across = (group.x / 2u) % 2u;
  let i0 = patch_across * 32u + (lane % 8u + ((lane / 32u) % 4u) * 8u);
  let i1 = (patch_along * 8u + ((lane / 8u) % 4u + (lane / 128u) * 4u)) * 4u;
  if (i0 >= 64u || i1 >= 48u) { return; }
  let t0 = bias[i1 >> 2u];
  let x0 = 64u * i1 + i0;
  let t1 = vec4f(x[x0], x[x0 + 64u], x[x0 + 128u], x[x0 + 192u]);
  let t2 = (t1 + t0);
  let t3 = ((t2 * vec4f(0.5)) * (erf_vec4f((t2 * vec4f(0.70710677))) + vec4f(1.0)));
  out[(48u * i0 + i1) >> 2u] = t3;
}
