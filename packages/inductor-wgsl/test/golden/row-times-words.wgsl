// workgroups: 512 × 1

enable subgroups;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> words: array<i32>;
@group(0) @binding(2) var<storage, read> scales: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
var<workgroup> shared_0: array<f32, 8>;
var<workgroup> shared_1: array<f32, 8>;
var<workgroup> shared_2: array<f32, 8>;

fn shl_int_vec4i(a: vec4i, b: vec4i) -> vec4i {
  return select(a << vec4u(b & vec4i(31)), vec4i(0), (b > vec4i(31)) | (b < vec4i(0)));
}

fn shr_int_i32(a: i32, b: i32) -> i32 {
  return a >> u32(select(min(b, 31), 31, b < 0));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 4u + lane / 64u;
  let part = lane % 64u;
  let r0 = part;
  let k2 = (r0 % 1u) * 4u;
  let k1 = r0 % 4u;
  let k0 = r0 / 4u;
  var sum0 = vec4f(0.0);
  var sum1 = vec4f(0.0);
  var sum2 = vec4f(0.0);
  let t0 = scales[8192u * k0 + 4u * point];
  let t1 = scales[8192u * k0 + 4u * point + 1u];
  let t2 = x[(32u * k0 + 8u * k1 + k2 + 4u) >> 2u];
  let t3 = x[(32u * k0 + 8u * k1 + k2) >> 2u];
  let t4 = (t3 + t2);
  let t5 = vec4i((k2 + vec4u(0u, 1u, 2u, 3u)));
  let t6 = (t5 * vec4i(4));
  let t7 = shl_int_vec4i(vec4i(15), t6);
  let t8 = words[128u * point + 4u * k0 + k1];
  let t9 = (vec4f(1.0) / vec4f(shl_int_vec4i(vec4i(1), t6)));
  let t10 = (t2 * t9);
  let t11 = (t3 * t9);
  let t12 = ((t11 * vec4f((vec4i(t8) & t7))) + (t10 * vec4f((vec4i(shr_int_i32(t8, 16)) & t7))));
  let t13 = ((t12 * vec4f(t0)) + (t4 * vec4f((t1 - (t0 * 8.0)))));
  sum0 = sum0 + t13;
  let t14 = scales[8192u * k0 + 4u * point + 2u];
  let t15 = scales[8192u * k0 + 4u * point + 3u];
  let t16 = words[128u * point + 4u * k0 + k1 + 64u];
  let t17 = ((t11 * vec4f((vec4i(t16) & t7))) + (t10 * vec4f((vec4i(shr_int_i32(t16, 16)) & t7))));
  let t18 = ((t17 * vec4f(t14)) + (t4 * vec4f((t15 - (t14 * 8.0)))));
  sum1 = sum1 + t18;
  let t19 = ((t3 * t3) + (t2 * t2));
  sum2 = sum2 + t19;
  var sum0_0 = sum0.x;
  sum0_0 = sum0_0 + sum0.y;
  sum0_0 = sum0_0 + sum0.z;
  sum0_0 = sum0_0 + sum0.w;
  var sum1_0 = sum1.x;
  sum1_0 = sum1_0 + sum1.y;
  sum1_0 = sum1_0 + sum1.z;
  sum1_0 = sum1_0 + sum1.w;
  var sum2_0 = sum2.x;
  sum2_0 = sum2_0 + sum2.y;
  sum2_0 = sum2_0 + sum2.z;
  sum2_0 = sum2_0 + sum2.w;
  for (var mask0 = 1u; mask0 < 32u; mask0 = mask0 << 1u) {
    let o0 = subgroupShuffleXor(sum0_0, mask0);
    sum0_0 = sum0_0 + o0;
    let o1 = subgroupShuffleXor(sum1_0, mask0);
    sum1_0 = sum1_0 + o1;
    let o2 = subgroupShuffleXor(sum2_0, mask0);
    sum2_0 = sum2_0 + o2;
  }
  if (lane % 32u == 0u) {
    shared_0[lane / 32u] = sum0_0;
    shared_1[lane / 32u] = sum1_0;
    shared_2[lane / 32u] = sum2_0;
  }
  workgroupBarrier();
  let first0 = (lane - part) / 32u;
  sum0_0 = shared_0[first0 + lane % (64u / 32u)];
  sum1_0 = shared_1[first0 + lane % (64u / 32u)];
  sum2_0 = shared_2[first0 + lane % (64u / 32u)];
  for (var mask1 = 1u; mask1 < 64u / 32u; mask1 = mask1 << 1u) {
    let o3 = subgroupShuffleXor(sum0_0, mask1);
    sum0_0 = sum0_0 + o3;
    let o4 = subgroupShuffleXor(sum1_0, mask1);
    sum1_0 = sum1_0 + o4;
    let o5 = subgroupShuffleXor(sum2_0, mask1);
    sum2_0 = sum2_0 + o5;
  }
  let acc0 = sum0_0;
  let acc2 = sum1_0;
  let acc1 = sum2_0;
  if (part == 0u) {
    out[2u * point] = (acc0 * acc1);
    out[2u * point + 1u] = (acc2 * acc1);
  }
}
