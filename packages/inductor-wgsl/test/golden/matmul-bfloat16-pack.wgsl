// workgroups: 4096 × 1

enable f16;

enable subgroups;

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> scales_a: array<f32>;
@group(0) @binding(2) var<storage, read_write> halves_a: array<vec4h>;
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

fn round_f16_vec4f(x: vec4f) -> vec4f {
  let bits = bitcast<vec4u>(x);
  let magnitude = bits & vec4u(0x7fffffffu);
  var kept = (magnitude + vec4u(0xfffu) + ((magnitude >> vec4u(13u)) & vec4u(1u))) & vec4u(0xffffe000u);
  kept = select(kept, vec4u(0x7f800000u), kept >= vec4u(0x47800000u));
  kept = select(kept, bitcast<vec4u>(round(abs(x) * vec4f(16777216.0)) * vec4f(5.9604644775390625e-8)), magnitude < vec4u(0x38800000u));
  kept = select(kept, magnitude, magnitude > vec4u(0x7f800000u));
  return bitcast<vec4f>(kept | (bits & vec4u(0x80000000u)));
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
  let t0 = a[(4096u * point + k0) >> 2u];
  let t1 = t0;
  let t2 = abs(t1);
  let t3 = select(t2, vec4f(inf_f32()), is_nan_vec4f(t1));
  max0 = max_vec4f(max0, t3);
  let t4 = select(t2, vec4f(1152921500000000000.0), (t2 == vec4f(0.0)));
  min0 = min_vec4f(min0, t4);
  let t5 = a[(4096u * point + k0_) >> 2u];
  let t6 = t5;
  let t7 = abs(t6);
  let t8 = select(t7, vec4f(inf_f32()), is_nan_vec4f(t6));
  max0 = max_vec4f(max0, t8);
  let t9 = select(t7, vec4f(1152921500000000000.0), (t7 == vec4f(0.0)));
  min0 = min_vec4f(min0, t9);
  let t10 = a[(4096u * point + k0__) >> 2u];
  let t11 = t10;
  let t12 = abs(t11);
  let t13 = select(t12, vec4f(inf_f32()), is_nan_vec4f(t11));
  max0 = max_vec4f(max0, t13);
  let t14 = select(t12, vec4f(1152921500000000000.0), (t12 == vec4f(0.0)));
  min0 = min_vec4f(min0, t14);
  let t15 = a[(4096u * point + k0___) >> 2u];
  let t16 = t15;
  let t17 = abs(t16);
  let t18 = select(t17, vec4f(inf_f32()), is_nan_vec4f(t16));
  max0 = max_vec4f(max0, t18);
  let t19 = select(t17, vec4f(1152921500000000000.0), (t17 == vec4f(0.0)));
  min0 = min_vec4f(min0, t19);
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
    let t20 = max_f32(acc0, 1.4210855e-14);
    let t21 = (t20 < 0.000015258789);
    let t22 = select(1.0, 2.3283064e-10, t21);
    let t23 = select(t20, (t20 * 4294967300.0), t21);
    let t24 = (t23 < 1.0);
    let t25 = select(t22, (t22 * 0.000015258789), t24);
    let t26 = select(t23, (t23 * 65536.0), t24);
    let t27 = (t26 < 256.0);
    let t28 = select(t25, (t25 * 0.00390625), t27);
    let t29 = select(t26, (t26 * 256.0), t27);
    let t30 = (t29 < 4096.0);
    let t31 = select(t28, (t28 * 0.0625), t30);
    let t32 = select(t29, (t29 * 16.0), t30);
    let t33 = (t32 < 16384.0);
    let t34 = select(t31, (t31 * 0.25), t33);
    let t35 = select(t32, (t32 * 4.0), t33);
    let t36 = (t35 < 32768.0);
    let t37 = select(t34, (t34 * 0.5), t36);
    let t38 = select(t35, (t35 * 2.0), t36);
    let t39 = (t38 >= 140737490000000.0);
    let t40 = select(t37, (t37 * 4294967300.0), t39);
    let t41 = select(t38, (t38 * 2.3283064e-10), t39);
    let t42 = (t41 >= 2147483600.0);
    let t43 = select(t40, (t40 * 65536.0), t42);
    let t44 = select(t41, (t41 * 0.000015258789), t42);
    let t45 = (t44 >= 8388608.0);
    let t46 = select(t43, (t43 * 256.0), t45);
    let t47 = select(t44, (t44 * 0.00390625), t45);
    let t48 = (t47 >= 524288.0);
    let t49 = select(t46, (t46 * 16.0), t48);
    let t50 = select(t47, (t47 * 0.0625), t48);
    let t51 = (t50 >= 131072.0);
    let t52 = select(t49, (t49 * 4.0), t51);
    let t53 = (select(t50, (t50 * 0.25), t51) >= 65536.0);
    let t54 = select(t52, (t52 * 2.0), t53);
    let t55 = select(1.0, 4294967300.0, t21);
    let t56 = select(t55, (t55 * 65536.0), t24);
    let t57 = select(t56, (t56 * 256.0), t27);
    let t58 = select(t57, (t57 * 16.0), t30);
    let t59 = select(t58, (t58 * 4.0), t33);
    let t60 = select(t59, (t59 * 2.0), t36);
    let t61 = select(t60, (t60 * 2.3283064e-10), t39);
    let t62 = select(t61, (t61 * 0.000015258789), t42);
    let t63 = select(t62, (t62 * 0.00390625), t45);
    let t64 = select(t63, (t63 * 0.0625), t48);
    let t65 = select(t64, (t64 * 0.25), t51);
    let t66 = select(t65, (t65 * 0.5), t53);
    let t67 = ((acc0 >= 1.5111573e+23) | ((acc1 * t66) < 0.000061035156));
    scales_a[point] = select(t54, (-t54), t67);
    scales_a[point + 4096u] = t66;
  }
  let t68 = max_f32(acc0, 1.4210855e-14);
  let t69 = (t68 < 0.000015258789);
  let t70 = select(1.0, 4294967300.0, t69);
  let t71 = select(t68, (t68 * 4294967300.0), t69);
  let t72 = (t71 < 1.0);
  let t73 = select(t70, (t70 * 65536.0), t72);
  let t74 = select(t71, (t71 * 65536.0), t72);
  let t75 = (t74 < 256.0);
  let t76 = select(t73, (t73 * 256.0), t75);
  let t77 = select(t74, (t74 * 256.0), t75);
  let t78 = (t77 < 4096.0);
  let t79 = select(t76, (t76 * 16.0), t78);
  let t80 = select(t77, (t77 * 16.0), t78);
  let t81 = (t80 < 16384.0);
  let t82 = select(t79, (t79 * 4.0), t81);
  let t83 = select(t80, (t80 * 4.0), t81);
  let t84 = (t83 < 32768.0);
  let t85 = select(t82, (t82 * 2.0), t84);
  let t86 = select(t83, (t83 * 2.0), t84);
  let t87 = (t86 >= 140737490000000.0);
  let t88 = select(t85, (t85 * 2.3283064e-10), t87);
  let t89 = select(t86, (t86 * 2.3283064e-10), t87);
  let t90 = (t89 >= 2147483600.0);
  let t91 = select(t88, (t88 * 0.000015258789), t90);
  let t92 = select(t89, (t89 * 0.000015258789), t90);
  let t93 = (t92 >= 8388608.0);
  let t94 = select(t91, (t91 * 0.00390625), t93);
  let t95 = select(t92, (t92 * 0.00390625), t93);
  let t96 = (t95 >= 524288.0);
  let t97 = select(t94, (t94 * 0.0625), t96);
  let t98 = select(t95, (t95 * 0.0625), t96);
  let t99 = (t98 >= 131072.0);
  let t100 = select(t97, (t97 * 0.25), t99);
  let t101 = (select(t98, (t98 * 0.25), t99) >= 65536.0);
  let t102 = select(t100, (t100 * 0.5), t101);
  halves_a[(4096u * point + k0) >> 2u] = vec4h(round_f16_vec4f((t1 * vec4f(t102))));
  halves_a[(4096u * point + k0_) >> 2u] = vec4h(round_f16_vec4f((t6 * vec4f(t102))));
  halves_a[(4096u * point + k0__) >> 2u] = vec4h(round_f16_vec4f((t11 * vec4f(t102))));
  halves_a[(4096u * point + k0___) >> 2u] = vec4h(round_f16_vec4f((t16 * vec4f(t102))));
}
