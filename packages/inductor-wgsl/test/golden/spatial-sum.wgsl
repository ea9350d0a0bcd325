// workgroups: 32 × 1

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
var<workgroup> shared_0: array<f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 16u + lane % 16u;
  let part = lane / 16u;
  let i1 = point % 64u;
  let i0 = point / 64u;
  var sum0 = f32(0.0);
  for (var r0 = part; r0 < 196u; r0 += 16u) {
    let r1 = r0 % 14u;
    let r0_ = r0 / 14u;
    let t0 = x[12544u * i0 + 896u * r0_ + 64u * r1 + i1];
    sum0 = sum0 + t0;
  }
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
    out[64u * i0 + i1] = acc0;
  }
}
