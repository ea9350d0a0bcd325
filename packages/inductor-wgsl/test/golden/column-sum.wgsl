// workgroups: 32 × 1

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out0: array<vec4f>;
var<workgroup> shared_0: array<vec4f, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 4u + lane % 4u;
  let part = lane / 4u;
  let i0 = point * 4u;
  let r0 = part;
  let r1 = part + 64u;
  let r2 = part + 128u;
  let r3 = part + 192u;
  let r4 = part + 256u;
  let r5 = part + 320u;
  let r6 = part + 384u;
  let r7 = part + 448u;
  let r8 = part + 512u;
  let r9 = part + 576u;
  let r10 = part + 640u;
  let r11 = part + 704u;
  let r12 = part + 768u;
  let r13 = part + 832u;
  let r14 = part + 896u;
  let r15 = part + 960u;
  var sum0 = vec4f(0.0);
  let t0 = x[(512u * r0 + i0) >> 2u];
  sum0 = sum0 + t0;
  let t1 = x[(512u * r1 + i0) >> 2u];
  sum0 = sum0 + t1;
  let t2 = x[(512u * r2 + i0) >> 2u];
  sum0 = sum0 + t2;
  let t3 = x[(512u * r3 + i0) >> 2u];
  sum0 = sum0 + t3;
  let t4 = x[(512u * r4 + i0) >> 2u];
  sum0 = sum0 + t4;
  let t5 = x[(512u * r5 + i0) >> 2u];
  sum0 = sum0 + t5;
  let t6 = x[(512u * r6 + i0) >> 2u];
  sum0 = sum0 + t6;
  let t7 = x[(512u * r7 + i0) >> 2u];
  sum0 = sum0 + t7;
  let t8 = x[(512u * r8 + i0) >> 2u];
  sum0 = sum0 + t8;
  let t9 = x[(512u * r9 + i0) >> 2u];
  sum0 = sum0 + t9;
  let t10 = x[(512u * r10 + i0) >> 2u];
  sum0 = sum0 + t10;
  let t11 = x[(512u * r11 + i0) >> 2u];
  sum0 = sum0 + t11;
  let t12 = x[(512u * r12 + i0) >> 2u];
  sum0 = sum0 + t12;
  let t13 = x[(512u * r13 + i0) >> 2u];
  sum0 = sum0 + t13;
  let t14 = x[(512u * r14 + i0) >> 2u];
  sum0 = sum0 + t14;
  let t15 = x[(512u * r15 + i0) >> 2u];
  sum0 = sum0 + t15;
  shared_0[lane] = sum0;
  workgroupBarrier();
  for (var half0 = 32u; half0 > 0u; half0 = half0 >> 1u) {
    if (part < half0) {
      let o0 = shared_0[lane + half0 * 4u];
      sum0 = sum0 + o0;
      shared_0[lane] = sum0;
    }
    workgroupBarrier();
  }
  sum0 = shared_0[lane - part * 4u];
  let acc0 = sum0;
  if (part == 0u) {
    out0[i0 >> 2u] = acc0;
  }
}
