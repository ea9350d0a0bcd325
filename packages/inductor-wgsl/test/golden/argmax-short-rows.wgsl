// workgroups: 57 × 1

enable subgroups;

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out0: array<i32>;

var<private> inf_bits: u32 = 0x7f800000u;

fn inf_f32() -> f32 {
  return f32(bitcast<f32>(inf_bits));
}

fn is_nan_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 32u + lane / 8u;
  let part = lane % 8u;
  let inside = point < 1797u;
  let nearest = min(point, 1796u);
  let r0 = part;
  let r1 = part + 8u;
  var best0 = f32((-inf_f32()));
  var place0 = i32(0);
  let t0 = x[10u * nearest + r0];
  let u0 = ((t0 > best0) | is_nan_f32(t0)) & (!is_nan_f32(best0));
  best0 = select(best0, t0, u0);
  place0 = select(place0, i32(r0), u0);
  let t1 = x[10u * nearest + r1];
  if (r1 < 10u) {
    let u1 = ((t1 > best0) | is_nan_f32(t1)) & (!is_nan_f32(best0));
    best0 = select(best0, t1, u1);
    place0 = select(place0, i32(r1), u1);
  }
  let o0 = subgroupShuffleXor(best0, 1u);
  let o1 = subgroupShuffleXor(place0, 1u);
  let u2 = is_nan_f32(o0);
  let u3 = is_nan_f32(best0);
  let u4 = (((o0 > best0) | u2) & (!u3)) | ((o1 < place0) & (!(((best0 > o0) | u3) & (!u2))));
  best0 = select(best0, o0, u4);
  place0 = select(place0, o1, u4);
  let o2 = subgroupShuffleXor(best0, 2u);
  let o3 = subgroupShuffleXor(place0, 2u);
  let u5 = is_nan_f32(o2);
  let u6 = is_nan_f32(best0);
  let u7 = (((o2 > best0) | u5) & (!u6)) | ((o3 < place0) & (!(((best0 > o2) | u6) & (!u5))));
  best0 = select(best0, o2, u7);
  place0 = select(place0, o3, u7);
  let o4 = subgroupShuffleXor(best0, 4u);
  let o5 = subgroupShuffleXor(place0, 4u);
  let u8 = is_nan_f32(o4);
  let u9 = is_nan_f32(best0);
  let u10 = (((o4 > best0) | u8) & (!u9)) | ((o5 < place0) & (!(((best0 > o4) | u9) & (!u8))));
  best0 = select(best0, o4, u10);
  place0 = select(place0, o5, u10);
  let acc0 = place0;
  if (inside && part == 0u) {
    out0[nearest] = acc0;
  }
}
