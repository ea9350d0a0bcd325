// workgroups: 128 × 1

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out0: array<vec4f>;
var<workgroup> shared_0: array<vec4f, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 16u + lane % 16u;
  let part = lane / 16u;
  let i0 = point * 4u;
  let r0 = part;
  let r1 = part + 16u;
  let r2 = part + 32u;
  let r3 = part + 48u;
  var sum0 = vec4f(0.0);
  let t0 = x[(8192u * r0 + i0) >> 2u];
  sum0 = sum0 + t0;
  let t1 = x[(8192u * r1 + i0) >> 2u];
  sum0 = sum0 + t1;
  let t2 = x[(8192u * r2 + i0) >> 2u];
  sum0 = sum0 + t2;
  let t3 = x[(8192u * r3 + i0) >> 2u];
  sum0 = sum0 + t3;
  shared_0[lane] = sum0;
  workgroupBarrier();
  for (var half0 = 8u; half0 > 0u; half0 = half0 >> 1u) {
    if (part < half0) {
      let o0 = shared_0[lane + half0 * 16u];
      sum0 = sum0 + o0;
      shared_0[lane] = sum0;
    }
    workgroupBarrier();
  }
  sum0 = shared_0[lane - part * 16u];
  let acc0 = sum0;
  if (part == 0u) {
    out0[i0 >> 2u] = acc0;
  }
}
