// workgroups: 4096 × 1

enable f16;

enable subgroups;

@group(0) @binding(0) var<storage, read> a: array<vec4h>;
@group(0) @binding(1) var<storage, read_write> scales_a_: array<f32>;
@group(0) @binding(2) var<storage, read_write> halves_a_: array<vec4h>;
var<workgroup> shared_0: array<f32, 8>;
var<workgroup> shared_1: array<f32, 8>;

var<private> inf_bits: u32 = 0x7f800000u;

fn inf_f32() -> f32 {
  return f32(bitcast<f32>(inf_bits));
}

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
}

fn max_vec4f(a: vec4f, b: vec4f) -> vec4f {
  return select(select(max(a, b), b, is_nan_vec4f(b)), a, is_nan_vec4f(a));
}

fn min_vec4f(a: vec4f, b: vec4f) -> vec4f {
  return select(select(min(a, b), b, is_nan_vec4f(b)), a, is_nan_vec4f(a));
}

fn is_nan_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn max_f32(a: f32, b: f32) -> f32 {
  return select(select(max(a, b), b, is_nan_f32(b)), a, is_nan_f32(a));
}

fn min_f32(a: f32, b: f32) -> f32 {
  return select(select(min(a, b), b, is_nan_f32(b)), a, is_nan_f32(a));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x;
  let part = lane;
  let r0 = part;
  let k0 = r0 * 4u;
  let r1 = part + 256u;
  let k0_ = r1 * 4u;
  let r2 = part + 512u;
  let k0__ = r2 * 4u;
  let r3 = part + 768u;
  let k0___ = r3 * 4u;
  var max0 = vec4f((-inf_f32()));
  var min0 = vec4f(inf_f32());
  let t0 = bitcast<vec4f>((bitcast<vec2u>(a[(4096u * point + k0) >> 2u]).xxyy << vec4u(16u, 0u, 16u, 0u)) & vec4u(0xffff0000u));
  let t1 = t0;
  let t2 = abs(t1);
  max0 = max_vec4f(max0, t2);
  let t3 = select(t2, vec4f(1152921500000000000.0), (t2 == vec4f(0.0)));
  min0 = min_vec4f(min0, t3);
  let t4 = bitcast<vec4f>((bitcast<vec2u>(a[(4096u * point + k0_) >> 2u]).xxyy << vec4u(16u, 0u, 16u, 0u)) & vec4u(0xffff0000u));
  let t5 = t4;
  let t6 = abs(t5);
  max0 = max_vec4f(max0, t6);
  let t7 = select(t6, vec4f(1152921500000000000.0), (t6 == vec4f(0.0)));
  min0 = min_vec4f(min0, t7);
  let t8 = bitcast<vec4f>((bitcast<vec2u>(a[(4096u * point + k0__) >> 2u]).xxyy << vec4u(16u, 0u, 16u, 0u)) & vec4u(0xffff0000u));
  let t9 = t8;
  let t10 = abs(t9);
  max0 = max_vec4f(max0, t10);
  let t11 = select(t10, vec4f(1152921500000000000.0), (t10 == vec4f(0.0)));
  min0 = min_vec4f(min0, t11);
  let t12 = bitcast<vec4f>((bitcast<vec2u>(a[(4096u * point + k0___) >> 2u]).xxyy << vec4u(16u, 0u, 16u, 0u)) & vec4u(0xffff0000u));
  let t13 = t12;
  let t14 = abs(t13);
  max0 = max_vec4f(max0, t14);
  let t15 = select(t14, vec4f(1152921500000000000.0), (t14 == vec4f(0.0)));
  min0 = min_vec4f(min0, t15);
  var max0_0 = max0.x;
  max0_0 = max_f32(max0_0, max0.y);
  max0_0 = max_f32(max0_0, max0.z);
  max0_0 = max_f32(max0_0, max0.w);
  var min0_0 = min0.x;
  min0_0 = min_f32(min0_0, min0.y);
  min0_0 = min_f32(min0_0, min0.z);
  min0_0 = min_f32(min0_0, min0.w);
  let o0 = subgroupShuffleXor(max0_0, 1u);
  max0_0 = max_f32(max0_0, o0);
  let o1 = subgroupShuffleXor(min0_0, 1u);
  min0_0 = min_f32(min0_0, o1);
  let o2 = subgroupShuffleXor(max0_0, 2u);
  max0_0 = max_f32(max0_0, o2);
  let o3 = subgroupShuffleXor(min0_0, 2u);
  min0_0 = min_f32(min0_0, o3);
  let o4 = subgroupShuffleXor(max0_0, 4u);
  max0_0 = max_f32(max0_0, o4);
  let o5 = subgroupShuffleXor(min0_0, 4u);
  min0_0 = min_f32(min0_0, o5);
  let o6 = subgroupShuffleXor(max0_0, 8u);
  max0_0 = max_f32(max0_0, o6);
  let o7 = subgroupShuffleXor(min0_0, 8u);
  min0_0 = min_f32(min0_0, o7);
  let o8 = subgroupShuffleXor(max0_0, 16u);
  max0_0 = max_f32(max0_0, o8);
  let o9 = subgroupShuffleXor(min0_0, 16u);
  min0_0 = min_f32(min0_0, o9);
  if (lane % 32u == 0u) {
    shared_0[lane / 32u] = max0_0;
    shared_1[lane / 32u] = min0_0;
  }
  workgroupBarrier();
  let first0 = (lane - part) / 32u;
  max0_0 = shared_0[first0 + lane % 8u];
  min0_0 = shared_1[first0 + lane % 8u];
  let o10 = subgroupShuffleXor(max0_0, 1u);
  max0_0 = max_f32(max0_0, o10);
  let o11 = subgroupShuffleXor(min0_0, 1u);
  min0_0 = min_f32(min0_0, o11);
  let o12 = subgroupShuffleXor(max0_0, 2u);
  max0_0 = max_f32(max0_0, o12);
  let o13 = subgroupShuffleXor(min0_0, 2u);
  min0_0 = min_f32(min0_0, o13);
  let o14 = subgroupShuffleXor(max0_0, 4u);
  max0_0 = max_f32(max0_0, o14);
  let o15 = subgroupShuffleXor(min0_0, 4u);
  min0_0 = min_f32(min0_0, o15);
  let acc0 = max0_0;
  let acc1 = min0_0;
  if (part == 0u) {
    let t16 = max_f32(acc0, 1.4210855e-14);
    let t17 = (t16 < 0.000015258789);
    let t18 = select(1.0, 2.3283064e-10, t17);
    let t19 = select(t16, (t16 * 4294967300.0), t17);
    let t20 = (t19 < 1.0);
    let t21 = select(t18, (t18 * 0.000015258789), t20);
    let t22 = select(t19, (t19 * 65536.0), t20);
    let t23 = (t22 < 256.0);
    let t24 = select(t21, (t21 * 0.00390625), t23);
    let t25 = select(t22, (t22 * 256.0), t23);
    let t26 = (t25 < 4096.0);
    let t27 = select(t24, (t24 * 0.0625), t26);
    let t28 = select(t25, (t25 * 16.0), t26);
    let t29 = (t28 < 16384.0);
    let t30 = select(t27, (t27 * 0.25), t29);
    let t31 = select(t28, (t28 * 4.0), t29);
    let t32 = (t31 < 32768.0);
    let t33 = select(t30, (t30 * 0.5), t32);
    let t34 = select(t31, (t31 * 2.0), t32);
    let t35 = (t34 >= 140737490000000.0);
    let t36 = select(t33, (t33 * 4294967300.0), t35);
    let t37 = select(t34, (t34 * 2.3283064e-10), t35);
    let t38 = (t37 >= 2147483600.0);
    let t39 = select(t36, (t36 * 65536.0), t38);
    let t40 = select(t37, (t37 * 0.000015258789), t38);
    let t41 = (t40 >= 8388608.0);
    let t42 = select(t39, (t39 * 256.0), t41);
    let t43 = select(t40, (t40 * 0.00390625), t41);
    let t44 = (t43 >= 524288.0);
    let t45 = select(t42, (t42 * 16.0), t44);
    let t46 = select(t43, (t43 * 0.0625), t44);
    let t47 = (t46 >= 131072.0);
    let t48 = select(t45, (t45 * 4.0), t47);
    let t49 = (select(t46, (t46 * 0.25), t47) >= 65536.0);
    let t50 = select(t48, (t48 * 2.0), t49);
    let t51 = select(1.0, 4294967300.0, t17);
    let t52 = select(t51, (t51 * 65536.0), t20);
    let t53 = select(t52, (t52 * 256.0), t23);
    let t54 = select(t53, (t53 * 16.0), t26);
    let t55 = select(t54, (t54 * 4.0), t29);
    let t56 = select(t55, (t55 * 2.0), t32);
    let t57 = select(t56, (t56 * 2.3283064e-10), t35);
    let t58 = select(t57, (t57 * 0.000015258789), t38);
    let t59 = select(t58, (t58 * 0.00390625), t41);
    let t60 = select(t59, (t59 * 0.0625), t44);
    let t61 = select(t60, (t60 * 0.25), t47);
    let t62 = select(t61, (t61 * 0.5), t49);
    let t63 = ((is_nan_f32(acc0) | (acc0 >= 1.5111573e+23)) | ((acc1 * t62) < 0.000061035156));
    scales_a_[point] = select(t50, (-t50), t63);
    scales_a_[point + 4096u] = t62;
  }
  let t64 = max_f32(acc0, 1.4210855e-14);
  let t65 = (t64 < 0.000015258789);
  let t66 = select(1.0, 4294967300.0, t65);
  let t67 = select(t64, (t64 * 4294967300.0), t65);
  let t68 = (t67 < 1.0);
  let t69 = select(t66, (t66 * 65536.0), t68);
  let t70 = select(t67, (t67 * 65536.0), t68);
  let t71 = (t70 < 256.0);
  let t72 = select(t69, (t69 * 256.0), t71);
  let t73 = select(t70, (t70 * 256.0), t71);
  let t74 = (t73 < 4096.0);
  let t75 = select(t72, (t72 * 16.0), t74);
  let t76 = select(t73, (t73 * 16.0), t74);
  let t77 = (t76 < 16384.0);
  let t78 = select(t75, (t75 * 4.0), t77);
  let t79 = select(t76, (t76 * 4.0), t77);
  let t80 = (t79 < 32768.0);
  let t81 = select(t78, (t78 * 2.0), t80);
  let t82 = select(t79, (t79 * 2.0), t80);
  let t83 = (t82 >= 140737490000000.0);
  let t84 = select(t81, (t81 * 2.3283064e-10), t83);
  let t85 = select(t82, (t82 * 2.3283064e-10), t83);
  let t86 = (t85 >= 2147483600.0);
  let t87 = select(t84, (t84 * 0.000015258789), t86);
  let t88 = select(t85, (t85 * 0.000015258789), t86);
  let t89 = (t88 >= 8388608.0);
  let t90 = select(t87, (t87 * 0.00390625), t89);
  let t91 = select(t88, (t88 * 0.00390625), t89);
  let t92 = (t91 >= 524288.0);
  let t93 = select(t90, (t90 * 0.0625), t92);
  let t94 = select(t91, (t91 * 0.0625), t92);
  let t95 = (t94 >= 131072.0);
  let t96 = select(t93, (t93 * 0.25), t95);
  let t97 = (select(t94, (t94 * 0.25), t95) >= 65536.0);
  let t98 = select(t96, (t96 * 0.5), t97);
  halves_a_[(4096u * point + k0) >> 2u] = vec4h((t1 * vec4f(t98)));
  halves_a_[(4096u * point + k0_) >> 2u] = vec4h((t5 * vec4f(t98)));
  halves_a_[(4096u * point + k0__) >> 2u] = vec4h((t9 * vec4f(t98)));
  halves_a_[(4096u * point + k0___) >> 2u] = vec4h((t13 * vec4f(t98)));
}
