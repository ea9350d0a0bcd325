// workgroups: 1024 × 1

enable subgroups;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> words: array<i32>;
@group(0) @binding(2) var<storage, read> scales: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
var<workgroup> shared_0: array<f32, 8>;
var<workgroup> shared_1: array<f32, 8>;

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
  let t0 = scales[8192u * k0 + 2u * point];
  let t1 = scales[8192u * k0 + 2u * point + 1u];
  let t2 = x[(32u * k0 + 8u * k1 + k2 + 4u) >> 2u];
  let t3 = x[(32u * k0 + 8u * k1 + k2) >> 2u];
  let t4 = vec4i((k2 + vec4u(0u, 1u, 2u, 3u)));
  let t5 = (t4 * vec4i(4));
  let t6 = shl_int_vec4i(vec4i(15), t5);
  let t7 = words[64u * point + 4u * k0 + k1];
  let t8 = (vec4f(1.0) / vec4f(shl_int_vec4i(vec4i(1), t5)));
  let t9 = (((t3 * t8) * vec4f((vec4i(t7) & t6))) + ((t2 * t8) * vec4f((vec4i(shr_int_i32(t7, 16)) & t6))));
  let t10 = ((t9 * vec4f(t0)) + ((t3 + t2) * vec4f((t1 - (t0 * 8.0)))));
  sum0 = sum0 + t10;
  let t11 = ((t3 * t3) + (t2 * t2));
  sum1 = sum1 + t11;
  var sum0_0 = sum0.x;
  sum0_0 = sum0_0 + sum0.y;
  sum0_0 = sum0_0 + sum0.z;
  sum0_0 = sum0_0 + sum0.w;
  var sum1_0 = sum1.x;
  sum1_0 = sum1_0 + sum1.y;
  sum1_0 = sum1_0 + sum1.z;
  sum1_0 = sum1_0 + sum1.w;
  for (var mask0 = 1u; mask0 < 32u; mask0 = mask0 << 1u) {
    let o0 = subgroupShuffleXor(sum0_0, mask0);
    sum0_0 = sum0_0 + o0;
    let o1 = subgroupShuffleXor(sum1_0, mask0);
    sum1_0 = sum1_0 + o1;
  }
  if (lane % 32u == 0u) {
    shared_0[lane / 32u] = sum0_0;
    shared_1[lane / 32u] = sum1_0;
  }
  workgroupBarrier();
  let first0 = (lane - part) / 32u;
  sum0_0 = shared_0[first0 + lane % (64u / 32u)];
  sum1_0 = shared_1[first0 + lane % (64u / 32u)];
  for (var mask1 = 1u; mask1 < 64u / 32u; mask1 = mask1 << 1u) {
    let o2 = subgroupShuffleXor(sum0_0, mask1);
    sum0_0 = sum0_0 + o2;
    let o3 = subgroupShuffleXor(sum1_0, mask1);
    sum1_0 = sum1_0 + o3;
  }
  let acc0 = sum0_0;
  let acc1 = sum1_0;
  if (part == 0u) {
    out[point] = (acc0 * acc1);
  }
}
