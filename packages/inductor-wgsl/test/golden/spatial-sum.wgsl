// workgroups: 16 × 1

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f>;
var<workgroup> shared_0: array<vec4f, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 8u + lane % 8u;
  let part = lane / 8u;
  let i1 = (point % 16u) * 4u;
  let i0 = point / 16u;
  let r0 = part;
  let r1 = r0 % 14u;
  let r0_ = r0 / 14u;
  let r2 = part + 32u;
  let r1_ = r2 % 14u;
  let r0__ = r2 / 14u;
  let r3 = part + 64u;
  let r1__ = r3 % 14u;
  let r0___ = r3 / 14u;
  let r4 = part + 96u;
  let r1___ = r4 % 14u;
  let r0____ = r4 / 14u;
  let r5 = part + 128u;
  let r1____ = r5 % 14u;
  let r0_____ = r5 / 14u;
  let r6 = part + 160u;
  let r1_____ = r6 % 14u;
  let r0______ = r6 / 14u;
  let r7 = part + 192u;
  let r1______ = r7 % 14u;
  let r0_______ = r7 / 14u;
  var sum0 = vec4f(0.0);
  let t0 = x[(12544u * i0 + 896u * r0_ + 64u * r1 + i1) >> 2u];
  sum0 = sum0 + t0;
  let t1 = x[(12544u * i0 + 896u * r0__ + 64u * r1_ + i1) >> 2u];
  sum0 = sum0 + t1;
  let t2 = x[(12544u * i0 + 896u * r0___ + 64u * r1__ + i1) >> 2u];
  sum0 = sum0 + t2;
  let t3 = x[(12544u * i0 + 896u * r0____ + 64u * r1___ + i1) >> 2u];
  sum0 = sum0 + t3;
  let t4 = x[(12544u * i0 + 896u * r0_____ + 64u * r1____ + i1) >> 2u];
  sum0 = sum0 + t4;
  let t5 = x[(12544u * i0 + 896u * r0______ + 64u * r1_____ + i1) >> 2u];
  sum0 = sum0 + t5;
  let t6 = x[(12544u * i0 + 896u * r0_______ + 64u * r1______ + i1) >> 2u];
  if (r7 < 196u) {
    sum0 = sum0 + t6;
  }
  shared_0[lane] = sum0;
  workgroupBarrier();
  for (var half0 = 16u; half0 > 0u; half0 = half0 >> 1u) {
    if (part < half0) {
      let o0 = shared_0[lane + half0 * 8u];
      sum0 = sum0 + o0;
      shared_0[lane] = sum0;
    }
    workgroupBarrier();
  }
  sum0 = shared_0[lane - part * 8u];
  let acc0 = sum0;
  if (part == 0u) {
    out[(64u * i0 + i1) >> 2u] = acc0;
  }
}
