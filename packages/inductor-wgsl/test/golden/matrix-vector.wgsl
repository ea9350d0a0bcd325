// workgroups: 1024 × 1

enable subgroups;

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
var<workgroup> shared_0: array<f32, 8>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x;
  let part = lane;
  let r0 = part;
  let k0 = r0 * 4u;
  var sum0 = vec4f(0.0);
  let t0 = b[(1024u * point + k0) >> 2u];
  let t1 = a[k0 >> 2u];
  let t2 = (t1 * t0);
  sum0 = sum0 + t2;
  var sum0_0 = sum0.x;
  sum0_0 = sum0_0 + sum0.y;
  sum0_0 = sum0_0 + sum0.z;
  sum0_0 = sum0_0 + sum0.w;
  sum0_0 = subgroupAdd(sum0_0);
  if (lane % 32u == 0u) {
    shared_0[lane / 32u] = sum0_0;
  }
  workgroupBarrier();
  let first0 = (lane - part) / 32u;
  sum0_0 = shared_0[first0 + lane % 8u];
  let o0 = subgroupShuffleXor(sum0_0, 1u);
  sum0_0 = sum0_0 + o0;
  let o1 = subgroupShuffleXor(sum0_0, 2u);
  sum0_0 = sum0_0 + o1;
  let o2 = subgroupShuffleXor(sum0_0, 4u);
  sum0_0 = sum0_0 + o2;
  let acc0 = sum0_0;
  if (part == 0u) {
    out[point] = acc0;
  }
}
