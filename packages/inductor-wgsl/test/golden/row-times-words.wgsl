// workgroups: 256 × 1

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
  var sum2 = vec4f(0.0);
  let t0 = scales_[(8192u * k0 + 4u * point) >> 1u];
  let t1 = t0.x;
  let t2 = t0.y;
  let t3 = x[(32u * k0 + 16u * k1 + 0u + 12u) >> 2u];
  let t4 = x[(32u * k0 + 16u * k1 + 0u + 8u) >> 2u];
  let t5 = x[(32u * k0 + 16u * k1 + 0u + 4u) >> 2u];
  let t6 = x[(32u * k0 + 16u * k1 + 0u) >> 2u];
  let t7 = (((t6 + t5) + t4) + t3);
  let t8 = vec4i((0u + vec4u(0u, 1u, 2u, 3u)));
  let t9 = (t8 * vec4i(4));
  let t10 = shl_int_vec4i(vec4i(15), t9);
  let t11 = words_[(128u * point + 4u * k0 + 2u * k1) >> 1u];
  let t12 = t11.y;
  let t13 = (vec4f(1.0) / vec4f(shl_int_vec4i(vec4i(1), t9)));
  let t14 = (t3 * t13);
  let t15 = (t4 * t13);
  let t16 = t11.x;
  let t17 = (t5 * t13);
  let t18 = (t6 * t13);
  let t19 = ((t18 * vec4f((vec4i(t16) & t10))) + (t17 * vec4f((vec4i(shr_int_i32(t16, 16)) & t10))));
  let t20 = ((t19 + (t15 * vec4f((vec4i(t12) & t10)))) + (t14 * vec4f((vec4i(shr_int_i32(t12, 16)) & t10))));
  let t21 = ((t20 * vec4f(t1)) + (t7 * vec4f((t2 - (t1 * 8.0)))));
  sum0 = sum0 + t21;
  let t22 = scales_[(8192u * k0 + 4u * point + 2u) >> 1u];
  let t23 = t22.x;
  let t24 = t22.y;
  let t25 = words_[(128u * point + 4u * k0 + 2u * k1 + 64u) >> 1u];
  let t26 = t25.y;
  let t27 = t25.x;
  let t28 = ((t18 * vec4f((vec4i(t27) & t10))) + (t17 * vec4f((vec4i(shr_int_i32(t27, 16)) & t10))));
  let t29 = ((t28 + (t15 * vec4f((vec4i(t26) & t10)))) + (t14 * vec4f((vec4i(shr_int_i32(t26, 16)) & t10))));
  let t30 = ((t29 * vec4f(t23)) + (t7 * vec4f((t24 - (t23 * 8.0)))));
  sum1 = sum1 + t30;
  let t31 = ((((t6 * t6) + (t5 * t5)) + (t4 * t4)) + (t3 * t3));
  sum2 = sum2 + t31;
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
  sum0_0 = subgroupAdd(sum0_0);
  sum1_0 = subgroupAdd(sum1_0);
  sum2_0 = subgroupAdd(sum2_0);
  let acc0 = sum0_0;
  let acc2 = sum1_0;
  let acc1 = sum2_0;
  if (part / 2u == 0u) {
    let t32 = i32(part);
    out[2u * point + part] = (select(acc2, acc0, (t32 == 0)) * acc1);
  }
}
