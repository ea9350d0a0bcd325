// workgroups: 4 × 1

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read> bias: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4f>;
var<workgroup> slab_a0: array<array<f32, 36>, 16>;
var<workgroup> slab_b0: array<array<f32, 36>, 16>;

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
}

fn max_vec4f(a: vec4f, b: vec4f) -> vec4f {
  return select(select(max(a, b), b, is_nan_vec4f(b)), a, is_nan_vec4f(a));
}

fn load_a(batch: u32, along: u32, depth: u32) -> vec4f {
  let t0 = a[(64u * along + depth) >> 2u];
  return t0;
}

fn load_b(batch: u32, along: u32, depth: u32) -> vec4f {
  let t1 = b[(64u * along + depth) >> 2u];
  return t1;
}

fn store_c(batch: u32, down: u32, along: u32, product: vec4f) {
  let t2 = bias[along >> 2u];
  out[(64u * down + along) >> 2u] = max_vec4f((product + t2), vec4f(0.0));
}

@compute @workgroup_size(16)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile / 4u;
  let first_m = ((tile / 2u) % 2u) * 32u;
  let first_n = (tile % 2u) * 32u;
  let column = lane % 4u;
  let row = lane / 4u;
  var c0_0 = vec4f(0);
  var c0_1 = vec4f(0);
  var c1_0 = vec4f(0);
  var c1_1 = vec4f(0);
  var c2_0 = vec4f(0);
  var c2_1 = vec4f(0);
  var c3_0 = vec4f(0);
  var c3_1 = vec4f(0);
  var c4_0 = vec4f(0);
  var c4_1 = vec4f(0);
  var c5_0 = vec4f(0);
  var c5_1 = vec4f(0);
  var c6_0 = vec4f(0);
  var c6_1 = vec4f(0);
  var c7_0 = vec4f(0);
  var c7_1 = vec4f(0);
  var next_a0 = vec4f(0);
  var next_b0 = vec4f(0);
  for (var step = 0u; step < 4u; step += 1u) {
    for (var unit = lane; unit < 128u; unit += 16u) {
      next_a0 = load_a(batch, first_m + unit / 4u, step * 16u + (unit % 4u) * 4u);
      slab_a0[(unit % 4u) * 4u][unit / 4u] = next_a0.x;
      slab_a0[(unit % 4u) * 4u + 1u][unit / 4u] = next_a0.y;
      slab_a0[(unit % 4u) * 4u + 2u][unit / 4u] = next_a0.z;
      slab_a0[(unit % 4u) * 4u + 3u][unit / 4u] = next_a0.w;
    }
    for (var unit = lane; unit < 128u; unit += 16u) {
      next_b0 = load_b(batch, first_n + unit / 4u, step * 16u + (unit % 4u) * 4u);
      slab_b0[(unit % 4u) * 4u][unit / 4u] = next_b0.x;
      slab_b0[(unit % 4u) * 4u + 1u][unit / 4u] = next_b0.y;
      slab_b0[(unit % 4u) * 4u + 2u][unit / 4u] = next_b0.z;
      slab_b0[(unit % 4u) * 4u + 3u][unit / 4u] = next_b0.w;
    }
    workgroupBarrier();
    for (var kk = 0u; kk < 16u; kk += 1u) {
      let a0 = vec4f(slab_a0[kk][row * 4u], slab_a0[kk][row * 4u + 1u], slab_a0[kk][row * 4u + 2u], slab_a0[kk][row * 4u + 3u]);
      let a1 = vec4f(slab_a0[kk][(row + 4u) * 4u], slab_a0[kk][(row + 4u) * 4u + 1u], slab_a0[kk][(row + 4u) * 4u + 2u], slab_a0[kk][(row + 4u) * 4u + 3u]);
      let b0 = vec4f(slab_b0[kk][column * 4u], slab_b0[kk][column * 4u + 1u], slab_b0[kk][column * 4u + 2u], slab_b0[kk][column * 4u + 3u]);
      let b1 = vec4f(slab_b0[kk][(column + 4u) * 4u], slab_b0[kk][(column + 4u) * 4u + 1u], slab_b0[kk][(column + 4u) * 4u + 2u], slab_b0[kk][(column + 4u) * 4u + 3u]);
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    workgroupBarrier();
  }
  store_c(batch, first_m + row * 4u, first_n + column * 4u, c0_0);
  store_c(batch, first_m + row * 4u, first_n + column * 4u + 16u, c0_1);
  store_c(batch, first_m + row * 4u + 1u, first_n + column * 4u, c1_0);
  store_c(batch, first_m + row * 4u + 1u, first_n + column * 4u + 16u, c1_1);
  store_c(batch, first_m + row * 4u + 2u, first_n + column * 4u, c2_0);
  store_c(batch, first_m + row * 4u + 2u, first_n + column * 4u + 16u, c2_1);
  store_c(batch, first_m + row * 4u + 3u, first_n + column * 4u, c3_0);
  store_c(batch, first_m + row * 4u + 3u, first_n + column * 4u + 16u, c3_1);
  store_c(batch, first_m + row * 4u + 16u, first_n + column * 4u, c4_0);
  store_c(batch, first_m + row * 4u + 16u, first_n + column * 4u + 16u, c4_1);
  store_c(batch, first_m + row * 4u + 17u, first_n + column * 4u, c5_0);
  store_c(batch, first_m + row * 4u + 17u, first_n + column * 4u + 16u, c5_1);
  store_c(batch, first_m + row * 4u + 18u, first_n + column * 4u, c6_0);
  store_c(batch, first_m + row * 4u + 18u, first_n + column * 4u + 16u, c6_1);
  store_c(batch, first_m + row * 4u + 19u, first_n + column * 4u, c7_0);
  store_c(batch, first_m + row * 4u + 19u, first_n + column * 4u + 16u, c7_1);
}
