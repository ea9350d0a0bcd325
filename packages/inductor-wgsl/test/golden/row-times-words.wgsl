// workgroups: 512 × 1

enable subgroups;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> words_: array<vec2<i32>>;
@group(0) @binding(2) var<storage, read> scales_: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

fn shl_int_vec4i(a: vec4i, b: vec4i) -> vec4i {
  return select(a << vec4u(b & vec4i(31)), vec4i(0), (b > vec4i(31)) | (b < vec4i(0)));
}

fn shr_int_i32(a: i32, b: i32) -> i32 {
  return a >> u32(select(min(b, 31), 31, b < 0));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 8u + lane / 32u;
  let part = lane % 32u;
  let r0 = part;
  let k1 = r0 % 2u;
  let k0 = r0 / 2u;
  var sum0 = vec4f(0.0);
  var sum1 = vec4f(0.0);
  let t0 = scales_[(8192u * k0 + 2u * point) >> 1u];
  let t1 = t0.x;
  let t2 = t0.y;
  let t3 = x[(32u * k0 + 16u * k1 + 0u + 12u) >> 2u];
  let t4 = x[(32u * k0 + 16u * k1 + 0u + 8u) >> 2u];
  let t5 = x[(32u * k0 + 16u * k1 + 0u + 4u) >> 2u];
  let t6 = x[(32u * k0 + 16u * k1 + 0u) >> 2u];
  let t7 = vec4i((0u + vec4u(0u, 1u, 2u, 3u)));
  let t8 = (t7 * vec4i(4));
  let t9 = shl_int_vec4i(vec4i(15), t8);
  let t10 = words_[(64u * point + 4u * k0 + 2u * k1) >> 1u];
  let t11 = t10.y;
  let t12 = (vec4f(1.0) / vec4f(shl_int_vec4i(vec4i(1), t8)));
  let t13 = t10.x;
  let t14 = (((t6 * t12) * vec4f((vec4i(t13) & t9))) + ((t5 * t12) * vec4f((vec4i(shr_int_i32(t13, 16)) & t9))));
  let t15 = ((t14 + ((t4 * t12) * vec4f((vec4i(t11) & t9)))) + ((t3 * t12) * vec4f((vec4i(shr_int_i32(t11, 16)) & t9))));
  let t16 = ((t15 * vec4f(t1)) + ((((t6 + t5) + t4) + t3) * vec4f((t2 - (t1 * 8.0)))));
  sum0 = sum0 + t16;
  let t17 = ((((t6 * t6) + (t5 * t5)) + (t4 * t4)) + (t3 * t3));
  sum1 = sum1 + t17;
  var sum0_0 = sum0.x;
  sum0_0 = sum0_0 + sum0.y;
  sum0_0 = sum0_0 + sum0.z;
  sum0_0 = sum0_0 + sum0.w;
  var sum1_0 = sum1.x;
  sum1_0 = sum1_0 + sum1.y;
  sum1_0 = sum1_0 + sum1.z;
  sum1_0 = sum1_0 + sum1.w;
  sum0_0 = subgroupAdd(sum0_0);
  sum1_0 = subgroupAdd(sum1_0);
  let acc0 = sum0_0;
  let acc1 = sum1_0;
  if (part == 0u) {
    out[point] = (acc0 * acc1);
  }
}
