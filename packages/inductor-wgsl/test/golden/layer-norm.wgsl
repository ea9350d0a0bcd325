// workgroups: 32 × 1

enable subgroups;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<storage, read> bias: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> mean: array<f32>;
@group(0) @binding(4) var<storage, read_write> rstd: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<vec4f>;
var<workgroup> shared_0: array<f32, 8>;
var<workgroup> shared_1: array<f32, 8>;
var<workgroup> shared_2: array<f32, 8>;
var<workgroup> shared_3: array<f32, 8>;

fn is_nan_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn max_f32(a: f32, b: f32) -> f32 {
  return select(select(max(a, b), b, is_nan_f32(b)), a, is_nan_f32(a));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 2u + lane / 128u;
  let part = lane % 128u;
  let r0 = part;
  let r0_ = r0 * 4u;
  let r1 = part + 128u;
  let r0__ = r1 * 4u;
  var count0 = vec4f(0.0);
  var mean0 = vec4f(0.0);
  var m2_0 = vec4f(0.0);
  var sum0 = vec4f(0.0);
  let t0 = x[(768u * point + r0_) >> 2u];
  let u0 = count0 + vec4f(1.0);
  let u1 = t0 - mean0;
  let u2 = mean0 + (u1 * (vec4f(1.0) / u0));
  count0 = u0;
  mean0 = u2;
  m2_0 = m2_0 + (u1 * (t0 - u2));
  sum0 = sum0 + t0;
  let t1 = x[(768u * point + r0__) >> 2u];
  if (r1 < 192u) {
    let u3 = count0 + vec4f(1.0);
    let u4 = t1 - mean0;
    let u5 = mean0 + (u4 * (vec4f(1.0) / u3));
    count0 = u3;
    mean0 = u5;
    m2_0 = m2_0 + (u4 * (t1 - u5));
    sum0 = sum0 + t1;
  }
  var count0_0 = count0.x;
  var mean0_0 = mean0.x;
  var m2_0_0 = m2_0.x;
  var sum0_0 = sum0.x;
  let u6 = count0_0 + count0.y;
  let u7 = mean0.y - mean0_0;
  let u8 = count0.y / max_f32(u6, 1.0);
  let u9 = (m2_0_0 + m2_0.y) + ((u7 * u7) * (count0_0 * u8));
  count0_0 = u6;
  mean0_0 = mean0_0 + (u7 * u8);
  m2_0_0 = u9;
  sum0_0 = sum0_0 + sum0.y;
  let u10 = count0_0 + count0.z;
  let u11 = mean0.z - mean0_0;
  let u12 = count0.z / max_f32(u10, 1.0);
  let u13 = (m2_0_0 + m2_0.z) + ((u11 * u11) * (count0_0 * u12));
  count0_0 = u10;
  mean0_0 = mean0_0 + (u11 * u12);
  m2_0_0 = u13;
  sum0_0 = sum0_0 + sum0.z;
  let u14 = count0_0 + count0.w;
  let u15 = mean0.w - mean0_0;
  let u16 = count0.w / max_f32(u14, 1.0);
  let u17 = (m2_0_0 + m2_0.w) + ((u15 * u15) * (count0_0 * u16));
  count0_0 = u14;
  mean0_0 = mean0_0 + (u15 * u16);
  m2_0_0 = u17;
  sum0_0 = sum0_0 + sum0.w;
  let o0 = subgroupShuffleXor(count0_0, 1u);
  let o1 = subgroupShuffleXor(mean0_0, 1u);
  let o2 = subgroupShuffleXor(m2_0_0, 1u);
  let o3 = subgroupShuffleXor(sum0_0, 1u);
  let u18 = count0_0 + o0;
  let u19 = o1 - mean0_0;
  let u20 = o0 / max_f32(u18, 1.0);
  let u21 = (m2_0_0 + o2) + ((u19 * u19) * (count0_0 * u20));
  count0_0 = u18;
  mean0_0 = mean0_0 + (u19 * u20);
  m2_0_0 = u21;
  sum0_0 = sum0_0 + o3;
  let o4 = subgroupShuffleXor(count0_0, 2u);
  let o5 = subgroupShuffleXor(mean0_0, 2u);
  let o6 = subgroupShuffleXor(m2_0_0, 2u);
  let o7 = subgroupShuffleXor(sum0_0, 2u);
  let u22 = count0_0 + o4;
  let u23 = o5 - mean0_0;
  let u24 = o4 / max_f32(u22, 1.0);
  let u25 = (m2_0_0 + o6) + ((u23 * u23) * (count0_0 * u24));
  count0_0 = u22;
  mean0_0 = mean0_0 + (u23 * u24);
  m2_0_0 = u25;
  sum0_0 = sum0_0 + o7;
  let o8 = subgroupShuffleXor(count0_0, 4u);
  let o9 = subgroupShuffleXor(mean0_0, 4u);
  let o10 = subgroupShuffleXor(m2_0_0, 4u);
  let o11 = subgroupShuffleXor(sum0_0, 4u);
  let u26 = count0_0 + o8;
  let u27 = o9 - mean0_0;
  let u28 = o8 / max_f32(u26, 1.0);
  let u29 = (m2_0_0 + o10) + ((u27 * u27) * (count0_0 * u28));
  count0_0 = u26;
  mean0_0 = mean0_0 + (u27 * u28);
  m2_0_0 = u29;
  sum0_0 = sum0_0 + o11;
  let o12 = subgroupShuffleXor(count0_0, 8u);
  let o13 = subgroupShuffleXor(mean0_0, 8u);
  let o14 = subgroupShuffleXor(m2_0_0, 8u);
  let o15 = subgroupShuffleXor(sum0_0, 8u);
  let u30 = count0_0 + o12;
  let u31 = o13 - mean0_0;
  let u33 = o12 / max_f32(u30, 1.0);
  let u34 = (m2_0_0 + o14) + ((u31 * u31) * (count0_0 * u33));
  count0_0 = u30;
  mean0_0 = mean0_0 + (u31 * u33);
  m2_0_0 = u34;
  sum0_0 = sum0_0 + o15;
  let o16 = subgroupShuffleXor(count0_0, 16u);
  let o17 = subgroupShuffleXor(mean0_0, 16u);
  let o18 = subgroupShuffleXor(m2_0_0, 16u);
  let o19 = subgroupShuffleXor(sum0_0, 16u);
  let u35 = count0_0 + o16;
  let u36 = o17 - mean0_0;
  let u37 = o16 / max_f32(u35, 1.0);
  let u38 = (m2_0_0 + o18) + ((u36 * u36) * (count0_0 * u37));
  count0_0 = u35;
  mean0_0 = mean0_0 + (u36 * u37);
  m2_0_0 = u38;
  sum0_0 = sum0_0 + o19;
  if (lane % 32u == 0u) {
    shared_0[lane / 32u] = count0_0;
    shared_1[lane / 32u] = mean0_0;
    shared_2[lane / 32u] = m2_0_0;
    shared_3[lane / 32u] = sum0_0;
  }
  workgroupBarrier();
  let first0 = (lane - part) / 32u;
  count0_0 = shared_0[first0 + lane % 4u];
  mean0_0 = shared_1[first0 + lane % 4u];
  m2_0_0 = shared_2[first0 + lane % 4u];
  sum0_0 = shared_3[first0 + lane % 4u];
  let o20 = subgroupShuffleXor(count0_0, 1u);
  let o21 = subgroupShuffleXor(mean0_0, 1u);
  let o22 = subgroupShuffleXor(m2_0_0, 1u);
  let o23 = subgroupShuffleXor(sum0_0, 1u);
  let u39 = count0_0 + o20;
  let u40 = o21 - mean0_0;
  let u41 = o20 / max_f32(u39, 1.0);
  let u42 = (m2_0_0 + o22) + ((u40 * u40) * (count0_0 * u41));
  count0_0 = u39;
  mean0_0 = mean0_0 + (u40 * u41);
  m2_0_0 = u42;
  sum0_0 = sum0_0 + o23;
  let o24 = subgroupShuffleXor(count0_0, 2u);
  let o25 = subgroupShuffleXor(mean0_0, 2u);
  let o26 = subgroupShuffleXor(m2_0_0, 2u);
  let o27 = subgroupShuffleXor(sum0_0, 2u);
  let u43 = count0_0 + o24;
  let u44 = o25 - mean0_0;
  let u45 = o24 / max_f32(u43, 1.0);
  let u46 = (m2_0_0 + o26) + ((u44 * u44) * (count0_0 * u45));
  count0_0 = u43;
  mean0_0 = mean0_0 + (u44 * u45);
  m2_0_0 = u46;
  sum0_0 = sum0_0 + o27;
  let acc0 = select(mean0_0, (sum0_0 / count0_0), is_nan_f32(mean0_0));
  let acc1 = m2_0_0;
  if (part == 0u) {
    mean[point] = acc0;
    let t2 = inverseSqrt(((acc1 / 768.0) + 0.00001));
    rstd[point] = t2;
  }
  let t3 = bias[r0_ >> 2u];
  let t4 = weight[r0_ >> 2u];
  let t5 = inverseSqrt(((acc1 / 768.0) + 0.00001));
  out[(768u * point + r0_) >> 2u] = ((((t0 - vec4f(acc0)) * vec4f(t5)) * t4) + t3);
  let t6 = bias[r0__ >> 2u];
  let t7 = weight[r0__ >> 2u];
  if (r1 < 192u) {
    out[(768u * point + r0__) >> 2u] = ((((t1 - vec4f(acc0)) * vec4f(t5)) * t7) + t6);
  }
}
