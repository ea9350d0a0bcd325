// workgroups: 2 × 1

@group(0) @binding(0) var<storage, read> ids_: array<i32>;
@group(0) @binding(1) var<storage, read> table_: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 256u + lane;
  let i1 = (point % 16u) * 4u;
  let i0 = point / 16u;
  let t0 = ids_[i0];
  let t1 = table_[(64u * u32(t0) + i1) >> 2u];
  out[(64u * i0 + i1) >> 2u] = t1;
}
