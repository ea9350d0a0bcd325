// workgroups: 4 × 1

@group(0) @binding(0) var<storage, read> first_: array<f32>;
@group(0) @binding(1) var<storage, read> given_: array<f32>;
@group(0) @binding(2) var<storage, read> weights_: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read_write> last_: array<f32>;
var<workgroup> vectors0: array<f32, 16>;
var<workgroup> parts0: array<f32, 18>;

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

fn is_nan_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn tanh_f32(x: f32) -> f32 {
  let a = abs(x);
  let far = 1.0 - 2.0 / (exp_near_f32(min(a, 10.0) * 2.0) + 1.0);
  let s = x * x;
  var p = 1.57394409e-2;
  p = p * s + -5.23025580e-2;
  p = p * s + 1.33152977e-1;
  p = p * s + -3.33327681e-1;
  let near = p * s * x + x;
  let y = select(near, select(far, -far, x < 0.0), a >= 0.55);
  return select(y, x, is_nan_f32(x));
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

fn sigmoid_f32(x: f32) -> f32 {
  let e = exp_f32(-abs(x));
  return select(1.0, e, x < 0.0) / (1.0 + e);
}

@compute @workgroup_size(18)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let row = group.x;
  let unit = lane % 6u;
  let member = lane / 6u;
  var w0_0 = vec4f();
  var w0_1 = vec4f();
  switch (member) {
    case 0u: {
      let t0 = weights_[6u * unit + 0u];
      let t1 = weights_[6u * unit + 1u];
      let t2 = weights_[6u * unit + 2u];
      let t3 = weights_[6u * unit + 3u];
      w0_0 = vec4f(t0, t1, t2, t3);
      let t4 = weights_[6u * unit + 4u];
      let t5 = weights_[6u * unit + 5u];
      w0_1 = vec4f(t4, t5, 0, 0);
    }
    case 1u: {
      let t6 = weights_[6u * unit + 0u + 36u];
      let t7 = weights_[6u * unit + 1u + 36u];
      let t8 = weights_[6u * unit + 2u + 36u];
      let t9 = weights_[6u * unit + 3u + 36u];
      w0_0 = vec4f(t6, t7, t8, t9);
      let t10 = weights_[6u * unit + 4u + 36u];
      let t11 = weights_[6u * unit + 5u + 36u];
      w0_1 = vec4f(t10, t11, 0, 0);
    }
    default: {
      let t12 = weights_[6u * unit + 0u + 72u];
      let t13 = weights_[6u * unit + 1u + 72u];
      let t14 = weights_[6u * unit + 2u + 72u];
      let t15 = weights_[6u * unit + 3u + 72u];
      w0_0 = vec4f(t12, t13, t14, t15);
      let t16 = weights_[6u * unit + 4u + 72u];
      let t17 = weights_[6u * unit + 5u + 72u];
      w0_1 = vec4f(t16, t17, 0, 0);
    }
  }
  let t18 = first_[6u * row + unit];
  var state0 = t18;
  var state1 = 1.0;
  let t19 = given_[24u * 0u + 6u * row + unit];
  var ahead0 = t19;
  for (var step0 = 0u; step0 < 92u; step0++) {
    let t20 = ahead0;
    let next0 = min(step0 + 1u, 92u - 1u);
    let t21 = given_[24u * next0 + 6u * row + unit];
    ahead0 = t21;
    let state0_now0 = state0;
    let state1_now0 = state1;
    if (member == 0u) {
      vectors0[unit + 0u] = state0_now0;
      vectors0[unit + 8u] = (state0_now0 * state1_now0);
    }
    workgroupBarrier();
    {
      let start = array<u32, 3>(0u, 8u, 0u)[member];
      var sum = vec4f();
      sum += w0_0 * vec4f(vectors0[start + 0u], vectors0[start + 1u], vectors0[start + 2u], vectors0[start + 3u]);
      sum += w0_1 * vec4f(vectors0[start + 4u], vectors0[start + 5u], vectors0[start + 6u], vectors0[start + 7u]);
      parts0[lane] = (sum.x + sum.y) + (sum.z + sum.w);
    }
    workgroupBarrier();
    if (member == 0u) {
      let product0 = parts0[unit + 0u] + parts0[unit + 6u];
      let product1 = parts0[unit + 12u];
      let t22 = tanh_f32((product0 + t20));
      out[24u * step0 + 6u * row + unit] = t22;
      let t23 = (state1_now0 * sigmoid_f32(product1));
      state0 = t22;
      state1 = t23;
    }
  }
  if (member == 0u) {
    last_[6u * row + unit] = state1;
  }
}
