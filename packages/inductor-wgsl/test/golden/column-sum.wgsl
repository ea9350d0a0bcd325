// workgroups: 16 × 1

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> out0: array<vec4f>;
var<workgroup> shared_0: array<vec4f, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 8u + lane % 8u;
  let part = lane / 8u;
  let i0 = point * 4u;
  var sum0 = vec4f(0.0);
  for (var r0 = part; r0 < 1024u; r0 += 32u) {
    let t0 = x[(512u * r0 + i0) >> 2u];
    sum0 = sum0 + t0;
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
    out0[i0 >> 2u] = acc0;
  }
}
