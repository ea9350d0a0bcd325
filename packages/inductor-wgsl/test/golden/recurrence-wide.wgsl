// workgroups: s0

struct Uniforms {
  size0: u32,
  size1: u32,
  size2: u32,
}
@group(1) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(0) var<storage, read> first_: array<f32>;
@group(0) @binding(1) var<storage, read> given_: array<f32>;
@group(0) @binding(2) var<storage, read> weights_: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@group(0) @binding(4) var<storage, read_write> last_: array<f32>;
var<workgroup> vector0: array<f32, 302>;
var<workgroup> vector1: array<f32, 302>;

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

@compute @workgroup_size(151)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let row = (group.y * 65535u + group.x);
  if (row >= uniforms.size0) { return; }
  var state0: array<f32, 2>;
  var state1: array<f32, 2>;
  for (var mine = 0u; mine < 2u; mine++) {
    let unit = mine * 151u + lane;
    if (unit < 301u) {
      let t0 = first_[301u * row + unit];
      state0[mine] = t0;
      state1[mine] = 1.0;
    }
  }
  for (var step0 = 0u; step0 < uniforms.size2; step0++) {
    var sum0 = array<f32, 2>();
    var sum1 = array<f32, 2>();
    for (var begin = 0u; begin < 2u; begin += 2u) {
      for (var mine = begin; mine < begin + 2u; mine++) {
        let unit = mine * 151u + lane;
        if (unit < 301u) {
          let t1 = state0[mine];
          let t2 = state1[mine];
          vector0[(mine - begin) * 151u + lane] = t1;
          vector1[(mine - begin) * 151u + lane] = (t1 * t2);
        }
      }
      workgroupBarrier();
      for (var mine = 0u; mine < 2u; mine++) {
        let unit = mine * 151u + lane;
        if (unit < 301u) {
          let start = begin * 151u;
          var total0 = sum0[mine];
          var total1 = sum1[mine];
          for (var at = 0u; at < min(302u, 301u - start); at += 1u) {
            let other0 = start + at + 0u;
            let t3 = weights_[301u * unit + other0];
            let t4 = weights_[301u * unit + other0 + 90601u];
            let t5 = weights_[301u * unit + other0 + 181202u];
            total0 += t3 * vector0[at + 0u];
            total0 += t4 * vector1[at + 0u];
            total1 += t5 * vector0[at + 0u];
          }
          sum0[mine] = total0;
          sum1[mine] = total1;
        }
      }
      workgroupBarrier();
    }
    for (var mine = 0u; mine < 2u; mine++) {
      let unit = mine * 151u + lane;
      if (unit < 301u) {
        let t6 = state0[mine];
        let t7 = state1[mine];
        let t8 = sum0[mine];
        let t9 = sum1[mine];
        let t10 = given_[uniforms.size1 * step0 + 301u * row + unit];
        let t11 = tanh_f32((t8 + t10));
        let t12 = (t7 * sigmoid_f32(t9));
        out[uniforms.size1 * step0 + 301u * row + unit] = t11;
        state0[mine] = t11;
        state1[mine] = t12;
      }
    }
  }
  for (var mine = 0u; mine < 2u; mine++) {
    let unit = mine * 151u + lane;
    if (unit < 301u) {
      let t13 = state0[mine];
      let t14 = state1[mine];
      last_[301u * row + unit] = t14;
    }
  }
}
