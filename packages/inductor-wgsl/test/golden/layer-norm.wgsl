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

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 2u + lane / 128u;
  let part = lane % 128u;
  let r0 = part;
  let r0_ = r0 * 4u;
  let r1 = part + 128u;
  let r0__ = r1 * 4u;
  var mean0 = vec4f(0.0);
  var m2_0 = vec4f(0.0);
  var count0 = vec4f(0.0);
  let t0 = x[(768u * point + r0_) >> 2u];
  count0 = count0 + vec4f(1.0);
  let u0 = t0 - mean0;
  mean0 = mean0 + u0 / count0;
  m2_0 = m2_0 + u0 * (t0 - mean0);
  let t1 = x[(768u * point + r0__) >> 2u];
  if (r1 < 192u) {
    count0 = count0 + vec4f(1.0);
    let u1 = t1 - mean0;
    mean0 = mean0 + u1 / count0;
    m2_0 = m2_0 + u1 * (t1 - mean0);
  }
  var mean0_0 = mean0.x;
  var m2_0_0 = m2_0.x;
  var count0_0 = count0.x;
  let u2 = mean0.y - mean0_0;
  let u3 = count0_0 + count0.y;
  let u4 = count0.y / max(u3, f32(1.0));
  mean0_0 = mean0_0 + u2 * u4;
  m2_0_0 = m2_0_0 + m2_0.y + u2 * u2 * count0_0 * u4;
  count0_0 = u3;
  let u5 = mean0.z - mean0_0;
  let u6 = count0_0 + count0.z;
  let u7 = count0.z / max(u6, f32(1.0));
  mean0_0 = mean0_0 + u5 * u7;
  m2_0_0 = m2_0_0 + m2_0.z + u5 * u5 * count0_0 * u7;
  count0_0 = u6;
  let u8 = mean0.w - mean0_0;
  let u9 = count0_0 + count0.w;
  let u10 = count0.w / max(u9, f32(1.0));
  mean0_0 = mean0_0 + u8 * u10;
  m2_0_0 = m2_0_0 + m2_0.w + u8 * u8 * count0_0 * u10;
  count0_0 = u9;
  for (var mask0 = 1u; mask0 < 32u; mask0 = mask0 << 1u) {
    let o0 = subgroupShuffleXor(mean0_0, mask0);
    let o1 = subgroupShuffleXor(m2_0_0, mask0);
    let o2 = subgroupShuffleXor(count0_0, mask0);
    let u11 = o0 - mean0_0;
    let u12 = count0_0 + o2;
    let u13 = o2 / max(u12, f32(1.0));
    mean0_0 = mean0_0 + u11 * u13;
    m2_0_0 = m2_0_0 + o1 + u11 * u11 * count0_0 * u13;
    count0_0 = u12;
  }
  if (lane % 32u == 0u) {
    shared_0[lane / 32u] = mean0_0;
    shared_1[lane / 32u] = m2_0_0;
    shared_2[lane / 32u] = count0_0;
  }
  workgroupBarrier();
  let first0 = (lane - part) / 32u;
  mean0_0 = shared_0[first0];
  m2_0_0 = shared_1[first0];
  count0_0 = shared_2[first0];
  for (var i0 = 1u; i0 < 128u / 32u; i0++) {
    let o3 = shared_0[first0 + i0];
    let o4 = shared_1[first0 + i0];
    let o5 = shared_2[first0 + i0];
    let u14 = o3 - mean0_0;
    let u15 = count0_0 + o5;
    let u16 = o5 / max(u15, f32(1.0));
    mean0_0 = mean0_0 + u14 * u16;
    m2_0_0 = m2_0_0 + o4 + u14 * u14 * count0_0 * u16;
    count0_0 = u15;
  }
  let acc0 = mean0_0;
  let acc1 = m2_0_0;
  let t2 = inverseSqrt(((acc1 / 768.0) + 0.00001));
  if (part == 0u) {
    mean[point] = acc0;
    rstd[point] = t2;
  }
  let t3 = bias[r0_ >> 2u];
  let t4 = weight[r0_ >> 2u];
  out[(768u * point + r0_) >> 2u] = ((((t0 - vec4f(acc0)) * vec4f(t2)) * t4) + t3);
  let t5 = bias[r0__ >> 2u];
  let t6 = weight[r0__ >> 2u];
  if (r1 < 192u) {
    out[(768u * point + r0__) >> 2u] = ((((t1 - vec4f(acc0)) * vec4f(t2)) * t6) + t5);
  }
}
