// workgroups: -38 * Math.floor((-s0) / 16)

struct Uniforms {
  size0: u32,
  size1: u32,
  size2: u32,
  size3: u32,
}
@group(1) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(0) var<storage, read> given_: array<f32>;
@group(0) @binding(1) var<storage, read> weights_: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(3) var<storage, read_write> carried_: array<f32>;
var<workgroup> sums0: array<f32, 256>;
var<workgroup> parts0: array<f32, 3696>;

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

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  if ((group.y * 65535u + group.x) >= uniforms.size2) { return; }
  let first_unit = ((group.y * 65535u + group.x) % 38u) * 8u;
  let first_row = ((group.y * 65535u + group.x) / 38u) * 16u;
  let unit = min(first_unit + lane % 8u, 300u);
  let member = lane / 8u;
  let now = u32(carried_[6u * uniforms.size0 + first_row * 301u + first_unit]);
  let read_at = (now % 2u) * 2u * uniforms.size0;
  let write_at = (1u - now % 2u) * 2u * uniforms.size0;
  let row0 = read_at + (min(first_row + 0u, uniforms.size1 - 1u)) * 301u;
  var total0_0 = f32(0);
  var total1_0 = f32(0);
  let row1 = read_at + (min(first_row + 1u, uniforms.size1 - 1u)) * 301u;
  var total0_1 = f32(0);
  var total1_1 = f32(0);
  let row2 = read_at + (min(first_row + 2u, uniforms.size1 - 1u)) * 301u;
  var total0_2 = f32(0);
  var total1_2 = f32(0);
  let row3 = read_at + (min(first_row + 3u, uniforms.size1 - 1u)) * 301u;
  var total0_3 = f32(0);
  var total1_3 = f32(0);
  let row4 = read_at + (min(first_row + 4u, uniforms.size1 - 1u)) * 301u;
  var total0_4 = f32(0);
  var total1_4 = f32(0);
  let row5 = read_at + (min(first_row + 5u, uniforms.size1 - 1u)) * 301u;
  var total0_5 = f32(0);
  var total1_5 = f32(0);
  let row6 = read_at + (min(first_row + 6u, uniforms.size1 - 1u)) * 301u;
  var total0_6 = f32(0);
  var total1_6 = f32(0);
  let row7 = read_at + (min(first_row + 7u, uniforms.size1 - 1u)) * 301u;
  var total0_7 = f32(0);
  var total1_7 = f32(0);
  let row8 = read_at + (min(first_row + 8u, uniforms.size1 - 1u)) * 301u;
  var total0_8 = f32(0);
  var total1_8 = f32(0);
  let row9 = read_at + (min(first_row + 9u, uniforms.size1 - 1u)) * 301u;
  var total0_9 = f32(0);
  var total1_9 = f32(0);
  let row10 = read_at + (min(first_row + 10u, uniforms.size1 - 1u)) * 301u;
  var total0_10 = f32(0);
  var total1_10 = f32(0);
  let row11 = read_at + (min(first_row + 11u, uniforms.size1 - 1u)) * 301u;
  var total0_11 = f32(0);
  var total1_11 = f32(0);
  let row12 = read_at + (min(first_row + 12u, uniforms.size1 - 1u)) * 301u;
  var total0_12 = f32(0);
  var total1_12 = f32(0);
  let row13 = read_at + (min(first_row + 13u, uniforms.size1 - 1u)) * 301u;
  var total0_13 = f32(0);
  var total1_13 = f32(0);
  let row14 = read_at + (min(first_row + 14u, uniforms.size1 - 1u)) * 301u;
  var total0_14 = f32(0);
  var total1_14 = f32(0);
  let row15 = read_at + (min(first_row + 15u, uniforms.size1 - 1u)) * 301u;
  var total0_15 = f32(0);
  var total1_15 = f32(0);
  for (var at = member; at < 301u; at += 32u) {
    let other0 = at;
    let t0 = weights_[301u * unit + other0];
    let t1 = weights_[301u * unit + other0 + 90601u];
    let t2 = weights_[301u * unit + other0 + 181202u];
    let value0 = carried_[row0 + other0];
    let value1 = carried_[1u * uniforms.size0 + row0 + other0];
    let value2 = carried_[row1 + other0];
    let value3 = carried_[1u * uniforms.size0 + row1 + other0];
    let value4 = carried_[row2 + other0];
    let value5 = carried_[1u * uniforms.size0 + row2 + other0];
    let value6 = carried_[row3 + other0];
    let value7 = carried_[1u * uniforms.size0 + row3 + other0];
    let value8 = carried_[row4 + other0];
    let value9 = carried_[1u * uniforms.size0 + row4 + other0];
    let value10 = carried_[row5 + other0];
    let value11 = carried_[1u * uniforms.size0 + row5 + other0];
    let value12 = carried_[row6 + other0];
    let value13 = carried_[1u * uniforms.size0 + row6 + other0];
    let value14 = carried_[row7 + other0];
    let value15 = carried_[1u * uniforms.size0 + row7 + other0];
    let value16 = carried_[row8 + other0];
    let value17 = carried_[1u * uniforms.size0 + row8 + other0];
    let value18 = carried_[row9 + other0];
    let value19 = carried_[1u * uniforms.size0 + row9 + other0];
    let value20 = carried_[row10 + other0];
    let value21 = carried_[1u * uniforms.size0 + row10 + other0];
    let value22 = carried_[row11 + other0];
    let value23 = carried_[1u * uniforms.size0 + row11 + other0];
    let value24 = carried_[row12 + other0];
    let value25 = carried_[1u * uniforms.size0 + row12 + other0];
    let value26 = carried_[row13 + other0];
    let value27 = carried_[1u * uniforms.size0 + row13 + other0];
    let value28 = carried_[row14 + other0];
    let value29 = carried_[1u * uniforms.size0 + row14 + other0];
    let value30 = carried_[row15 + other0];
    let value31 = carried_[1u * uniforms.size0 + row15 + other0];
    total0_0 += t0 * value0;
    total0_0 += t1 * value1;
    total1_0 += t2 * value0;
    total0_1 += t0 * value2;
    total0_1 += t1 * value3;
    total1_1 += t2 * value2;
    total0_2 += t0 * value4;
    total0_2 += t1 * value5;
    total1_2 += t2 * value4;
    total0_3 += t0 * value6;
    total0_3 += t1 * value7;
    total1_3 += t2 * value6;
    total0_4 += t0 * value8;
    total0_4 += t1 * value9;
    total1_4 += t2 * value8;
    total0_5 += t0 * value10;
    total0_5 += t1 * value11;
    total1_5 += t2 * value10;
    total0_6 += t0 * value12;
    total0_6 += t1 * value13;
    total1_6 += t2 * value12;
    total0_7 += t0 * value14;
    total0_7 += t1 * value15;
    total1_7 += t2 * value14;
    total0_8 += t0 * value16;
    total0_8 += t1 * value17;
    total1_8 += t2 * value16;
    total0_9 += t0 * value18;
    total0_9 += t1 * value19;
    total1_9 += t2 * value18;
    total0_10 += t0 * value20;
    total0_10 += t1 * value21;
    total1_10 += t2 * value20;
    total0_11 += t0 * value22;
    total0_11 += t1 * value23;
    total1_11 += t2 * value22;
    total0_12 += t0 * value24;
    total0_12 += t1 * value25;
    total1_12 += t2 * value24;
    total0_13 += t0 * value26;
    total0_13 += t1 * value27;
    total1_13 += t2 * value26;
    total0_14 += t0 * value28;
    total0_14 += t1 * value29;
    total1_14 += t2 * value28;
    total0_15 += t0 * value30;
    total0_15 += t1 * value31;
    total1_15 += t2 * value30;
  }
  parts0[0u + lane] = total0_0;
  parts0[264u + lane] = total0_1;
  parts0[528u + lane] = total0_2;
  parts0[792u + lane] = total0_3;
  parts0[1056u + lane] = total0_4;
  parts0[1320u + lane] = total0_5;
  parts0[1584u + lane] = total0_6;
  parts0[1848u + lane] = total0_7;
  parts0[2112u + lane] = total0_8;
  parts0[2376u + lane] = total0_9;
  parts0[2640u + lane] = total0_10;
  parts0[2904u + lane] = total0_11;
  parts0[3168u + lane] = total0_12;
  parts0[3432u + lane] = total0_13;
  workgroupBarrier();
  for (var cell = lane; cell < 112u; cell += 256u) {
    let own = (cell / 8u) * 264u + cell % 8u;
    var sum = parts0[own];
    for (var other = 1u; other < 32u; other++) { sum += parts0[own + other * 8u]; }
    sums0[0u + cell] = sum;
  }
  workgroupBarrier();
  parts0[0u + lane] = total0_14;
  parts0[264u + lane] = total0_15;
  parts0[528u + lane] = total1_0;
  parts0[792u + lane] = total1_1;
  parts0[1056u + lane] = total1_2;
  parts0[1320u + lane] = total1_3;
  parts0[1584u + lane] = total1_4;
  parts0[1848u + lane] = total1_5;
  parts0[2112u + lane] = total1_6;
  parts0[2376u + lane] = total1_7;
  parts0[2640u + lane] = total1_8;
  parts0[2904u + lane] = total1_9;
  parts0[3168u + lane] = total1_10;
  parts0[3432u + lane] = total1_11;
  workgroupBarrier();
  for (var cell = lane; cell < 112u; cell += 256u) {
    let own = (cell / 8u) * 264u + cell % 8u;
    var sum = parts0[own];
    for (var other = 1u; other < 32u; other++) { sum += parts0[own + other * 8u]; }
    sums0[112u + cell] = sum;
  }
  workgroupBarrier();
  parts0[0u + lane] = total1_12;
  parts0[264u + lane] = total1_13;
  parts0[528u + lane] = total1_14;
  parts0[792u + lane] = total1_15;
  workgroupBarrier();
  for (var cell = lane; cell < 32u; cell += 256u) {
    let own = (cell / 8u) * 264u + cell % 8u;
    var sum = parts0[own];
    for (var other = 1u; other < 32u; other++) { sum += parts0[own + other * 8u]; }
    sums0[224u + cell] = sum;
  }
  workgroupBarrier();
  for (var cell = lane; cell < 128u; cell += 256u) {
    let own = first_unit + cell % 8u;
    let row = first_row + cell / 8u;
    if (own < 301u && row < uniforms.size1) {
      let place = row * 301u + own;
      let state0 = carried_[4u * uniforms.size0 + place];
      let state1 = carried_[5u * uniforms.size0 + place];
      let t3 = given_[uniforms.size0 * now + 301u * row + own];
      let t4 = tanh_f32((sums0[0u + cell] + t3));
      let following0 = t4;
      let following1 = (state1 * sigmoid_f32(sums0[128u + cell]));
      out[uniforms.size0 * now + 301u * row + own] = t4;
      carried_[4u * uniforms.size0 + place] = following0;
      carried_[5u * uniforms.size0 + place] = following1;
      if (cell == 0u) { carried_[6u * uniforms.size0 + place] = f32(now + 1u); }
      if (now + 1u < uniforms.size3) {
        let later = now + 1u;
        carried_[write_at + place] = following0;
        carried_[1u * uniforms.size0 + write_at + place] = (following0 * following1);
      }
    }
  }
}
