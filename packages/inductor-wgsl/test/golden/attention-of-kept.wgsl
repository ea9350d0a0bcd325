// workgroups: 14 × 1

@group(0) @binding(0) var<storage, read> kept_: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
var<workgroup> slab_v0: array<array<vec4f, 17>, 16>;
var<workgroup> weights0: array<array<vec4f, 5>, 64>;

fn load_v0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t0 = k[(3200u * batch + 32u * depth + along) >> 2u];
  return select(vec4f(0), t0, depth < 100u);
}

fn store_c(batch: u32, down: u32, along: u32, product0: vec4f) {
  if (down >= 100u || along >= 32u) { return; }
  out[(3200u * batch + 32u * down + along) >> 2u] = product0;
}

fn weigh0(batch: u32, down: u32, along: u32) -> vec4f {
  let t1 = kept_[(10000u * batch + 100u * down + along) >> 2u];
  let t2 = i32(down);
  let t3 = vec4i((along + vec4u(0u, 1u, 2u, 3u)));
  return select(vec4f(0), select(vec4f(0.0), t1, (t3 <= vec4i(t2))), (along + vec4u(0u, 1u, 2u, 3u)) < vec4u(100u));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile % 2u;
  let first_m = (7u - 1u - tile / 2u) * 16u;
  let cluster = lane / 32u;
  let column = (cluster % 2u) * 8u + (lane % 16u) / 2u;
  let row = (cluster / 2u) * 4u + ((lane % 32u) / 16u) * 2u + lane % 2u;
  var r0_0_0 = vec4f(0);
  var r0_1_0 = vec4f(0);
  var r0_2_0 = vec4f(0);
  var r0_3_0 = vec4f(0);
  let end_block = min((first_m + 79u) / 64u, 2u);
  for (var block = 0u; block < end_block; block += 1u) {
    let first_j = block * 64u;
    var w0_0_0 = vec4f(0);
    var w0_1_0 = vec4f(0);
    var w0_2_0 = vec4f(0);
    var w0_3_0 = vec4f(0);
    w0_0_0 = weigh0(batch, first_m + row * 4u, first_j + column * 4u);
    w0_1_0 = weigh0(batch, first_m + row * 4u + 1u, first_j + column * 4u);
    w0_2_0 = weigh0(batch, first_m + row * 4u + 2u, first_j + column * 4u);
    w0_3_0 = weigh0(batch, first_m + row * 4u + 3u, first_j + column * 4u);
    weights0[column * 4u][row] = vec4f(w0_0_0.x, w0_1_0.x, w0_2_0.x, w0_3_0.x);
    weights0[column * 4u + 1u][row] = vec4f(w0_0_0.y, w0_1_0.y, w0_2_0.y, w0_3_0.y);
    weights0[column * 4u + 2u][row] = vec4f(w0_0_0.z, w0_1_0.z, w0_2_0.z, w0_3_0.z);
    weights0[column * 4u + 3u][row] = vec4f(w0_0_0.w, w0_1_0.w, w0_2_0.w, w0_3_0.w);
    var next_v00 = vec4f(0);
    var next_v01 = vec4f(0);
    var next_v02 = vec4f(0);
    var next_v03 = vec4f(0);
    next_v00 = load_v0(batch, (lane % 16u) * 4u, first_j + lane / 16u);
    next_v01 = load_v0(batch, ((lane + 64u) % 16u) * 4u, first_j + (lane + 64u) / 16u);
    next_v02 = load_v0(batch, ((lane + 128u) % 16u) * 4u, first_j + (lane + 128u) / 16u);
    next_v03 = load_v0(batch, ((lane + 192u) % 16u) * 4u, first_j + (lane + 192u) / 16u);
    for (var step = 0u; step < 4u; step += 1u) {
      slab_v0[lane / 16u][lane % 16u] = next_v00;
      slab_v0[(lane + 64u) / 16u][(lane + 64u) % 16u] = next_v01;
      slab_v0[(lane + 128u) / 16u][(lane + 128u) % 16u] = next_v02;
      slab_v0[(lane + 192u) / 16u][(lane + 192u) % 16u] = next_v03;
      workgroupBarrier();
      if (step + 1u < 4u) {
        next_v00 = load_v0(batch, (lane % 16u) * 4u, first_j + (step + 1u) * 16u + lane / 16u);
        next_v01 = load_v0(batch, ((lane + 64u) % 16u) * 4u, first_j + (step + 1u) * 16u + (lane + 64u) / 16u);
        next_v02 = load_v0(batch, ((lane + 128u) % 16u) * 4u, first_j + (step + 1u) * 16u + (lane + 128u) / 16u);
        next_v03 = load_v0(batch, ((lane + 192u) % 16u) * 4u, first_j + (step + 1u) * 16u + (lane + 192u) / 16u);
      }
      let first_k = step * 16u;
      for (var kk = 0u; kk < 16u; kk += 1u) {
        let a0 = weights0[first_k + kk][row];
        let b0 = slab_v0[kk][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      workgroupBarrier();
    }
  }
  store_c(batch, first_m + row * 4u, column * 4u, r0_0_0);
  store_c(batch, first_m + row * 4u + 1u, column * 4u, r0_1_0);
  store_c(batch, first_m + row * 4u + 2u, column * 4u, r0_2_0);
  store_c(batch, first_m + row * 4u + 3u, column * 4u, r0_3_0);
}
