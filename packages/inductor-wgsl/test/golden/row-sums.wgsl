// workgroups: 2 × 1

@group(0) @binding(0) var<storage, read> ids_: array<i32>;
@group(0) @binding(1) var<storage, read> rows_: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> table_: array<atomic<u32>>;

fn add_float0(index: u32, value: f32) {
  if (value == 0.0) { return; }
  var seen = atomicLoad(&table_[index]);
  loop {
    let sum = bitcast<u32>(bitcast<f32>(seen) + value);
    let met = atomicCompareExchangeWeak(&table_[index], seen, sum);
    if (met.exchanged) { break; }
    seen = met.old_value;
  }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 256u + lane;
  let i1 = (point % 16u) * 4u;
  let i0 = point / 16u;
  let t0 = rows_[(64u * i0 + i1) >> 2u];
  let t1 = ids_[i0];
  let x0 = 64u * u32(t1) + i1;
  add_float0(x0, t0.x);
  add_float0(x0 + 1u, t0.y);
  add_float0(x0 + 2u, t0.z);
  add_float0(x0 + 3u, t0.w);
}
