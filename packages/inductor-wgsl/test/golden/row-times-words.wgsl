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
  let column_ = part % 2u;
  let r0 = part;
  let k1 = r0 % 2u;
  let k0 = r0 / 2u;
  var sum0 = vec2f(0.0);
  var sum1 = vec2f(0.0);
  var sum2 = vec2f(0.0);
  let t0 = scales_[(8192u * k0 + 4u * point) >> 1u];
  let t1 = t0.x;
  let t2 = vec4i((0u + vec4u(0u, 1u, 2u, 3u)));
  let t3 = (t2 * vec4i(4));
  let t4 = shl_int_vec4i(vec4i(15), t3);
  let t5 = words_[(128u * point + 4u * k0 + 2u * k1) >> 1u];
  let t6 = t5.y;
  let t7 = (vec4f(1.0) / vec4f(shl_int_vec4i(vec4i(1), t3)));
  let t8 = x[(32u * k0 + 16u * k1 + 0u + 12u) >> 2u];
  let t9 = (t8 * t7);
  let t10 = x[(32u * k0 + 16u * k1 + 0u + 8u) >> 2u];
  let t11 = (t10 * t7);
  let t12 = t5.x;
  let t13 = x[(32u * k0 + 16u * k1 + 0u + 4u) >> 2u];
  let t14 = (t13 * t7);
  let t15 = x[(32u * k0 + 16u * k1 + 0u) >> 2u];
  let t16 = (t15 * t7);
  let t17 = ((t16 * vec4f((vec4i(t12) & t4))) + (t14 * vec4f((vec4i(shr_int_i32(t12, 16)) & t4))));
  let t18 = ((t17 + (t11 * vec4f((vec4i(t6) & t4)))) + (t9 * vec4f((vec4i(shr_int_i32(t6, 16)) & t4))));
  let t19 = (t18 * vec4f(t1));
  sum0 = sum0 + t19.xy;
  sum0 = sum0 + t19.zw;
  let t20 = scales_[(8192u * k0 + 4u * point + 2u) >> 1u];
  let t21 = t20.x;
  let t22 = words_[(128u * point + 4u * k0 + 2u * k1 + 64u) >> 1u];
  let t23 = t22.y;
  let t24 = t22.x;
  let t25 = ((t16 * vec4f((vec4i(t24) & t4))) + (t14 * vec4f((vec4i(shr_int_i32(t24, 16)) & t4))));
  let t26 = ((t25 + (t11 * vec4f((vec4i(t23) & t4)))) + (t9 * vec4f((vec4i(shr_int_i32(t23, 16)) & t4))));
  let t27 = (t26 * vec4f(t21));
  sum1 = sum1 + t27.xy;
  sum1 = sum1 + t27.zw;
  let t28 = (((t15 * t15) + (t13 * t13)) + (t10 * t10));
  sum2 = sum2 + t28.xy;
  sum2 = sum2 + t28.zw;
  let t29 = t0.y;
  let t30 = (((t15 + t13) + t10) + t8);
  let t31 = (t30 * vec4f((t29 - (t1 * 8.0))));
  sum0 = sum0 + t31.xy;
  sum0 = sum0 + t31.zw;
  let t32 = t20.y;
  let t33 = (t30 * vec4f((t32 - (t21 * 8.0))));
  sum1 = sum1 + t33.xy;
  sum1 = sum1 + t33.zw;
  let t34 = (t8 * t8);
  sum2 = sum2 + t34.xy;
  sum2 = sum2 + t34.zw;
  var sum0_0 = sum0.x;
  sum0_0 = sum0_0 + sum0.y;
  var sum1_0 = sum1.x;
  sum1_0 = sum1_0 + sum1.y;
  var sum2_0 = sum2.x;
  sum2_0 = sum2_0 + sum2.y;
  sum0_0 = subgroupAdd(sum0_0);
  sum1_0 = subgroupAdd(sum1_0);
  sum2_0 = subgroupAdd(sum2_0);
  let acc0 = sum0_0;
  let acc2 = sum1_0;
  let acc1 = sum2_0;
  if (part / 2u == 0u) {
    let t35 = i32(column_);
    out[2u * point + column_] = (select(acc2, acc0, (t35 == 0)) * acc1);
  }
}
