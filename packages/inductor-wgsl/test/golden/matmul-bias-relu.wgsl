// workgroups: 256 × 1

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4f>;
var<workgroup> slab_a0: array<vec4f, 272>;
var<workgroup> slab_b0: array<vec4f, 272>;

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
}

fn max_vec4f(a: vec4f, b: vec4f) -> vec4f {
  return select(select(max(a, b), b, is_nan_vec4f(b)), a, is_nan_vec4f(a));
}

fn load_a(batch: u32, along: u32, depth: u32) -> vec4f {
  let x0 = 1024u * along + depth;
  let t0 = vec4f(a[x0], a[x0 + 1024u], a[x0 + 2048u], a[x0 + 3072u]);
  return t0;
}

fn load_b(batch: u32, along: u32, depth: u32) -> vec4f {
  let x1 = 1024u * along + depth;
  let t1 = vec4f(b[x1], b[x1 + 1024u], b[x1 + 2048u], b[x1 + 3072u]);
  return t1;
}

fn store_c(batch: u32, down: u32, along: u32, product: vec4f) {
  let t2 = bias[along >> 2u];
  out[(1024u * down + along) >> 2u] = max_vec4f((product + t2), vec4f(0.0));
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile / 256u;
  let first_m = ((tile / 16u) % 16u) * 64u;
  let first_n = (tile % 16u) * 64u;
  let column = lane % 8u;
  let row = lane / 8u;
  var c0_0 = vec4f(0);
  var c0_1 = vec4f(0);
  var c1_0 = vec4f(0);
  var c1_1 = vec4f(0);
  var c2_0 = vec4f(0);
  var c2_1 = vec4f(0);
  var c3_0 = vec4f(0);
  var c3_1 = vec4f(0);
  var next_a0 = vec4f(0);
  var next_a1 = vec4f(0);
  var next_b0 = vec4f(0);
  var next_b1 = vec4f(0);
  next_a0 = load_a(batch, first_m + (lane / 16u) * 4u, 0u + lane % 16u);
  next_a1 = load_a(batch, first_m + ((lane + 128u) / 16u) * 4u, 0u + (lane + 128u) % 16u);
  next_b0 = load_b(batch, first_n + (lane / 16u) * 4u, 0u + lane % 16u);
  next_b1 = load_b(batch, first_n + ((lane + 128u) / 16u) * 4u, 0u + (lane + 128u) % 16u);
  for (var step = 0u; step < 64u; step++) {
    slab_a0[(lane % 16u) * 17u + lane / 16u] = next_a0;
    slab_a0[((lane + 128u) % 16u) * 17u + (lane + 128u) / 16u] = next_a1;
    slab_b0[(lane % 16u) * 17u + lane / 16u] = next_b0;
    slab_b0[((lane + 128u) % 16u) * 17u + (lane + 128u) / 16u] = next_b1;
    workgroupBarrier();
    if (step + 1u < 64u) {
      next_a0 = load_a(batch, first_m + (lane / 16u) * 4u, (step + 1u) * 16u + lane % 16u);
      next_a1 = load_a(batch, first_m + ((lane + 128u) / 16u) * 4u, (step + 1u) * 16u + (lane + 128u) % 16u);
      next_b0 = load_b(batch, first_n + (lane / 16u) * 4u, (step + 1u) * 16u + lane % 16u);
      next_b1 = load_b(batch, first_n + ((lane + 128u) / 16u) * 4u, (step + 1u) * 16u + (lane + 128u) % 16u);
    }
    for (var kk = 0u; kk < 16u; kk++) {
      let a0 = slab_a0[kk * 17u + row];
      let b0 = slab_b0[kk * 17u + column];
      let b1 = slab_b0[kk * 17u + column + 8u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
    }
    workgroupBarrier();
  }
  store_c(batch, first_m + row * 4u, first_n + column * 4u, c0_0);
  store_c(batch, first_m + row * 4u, first_n + column * 4u + 32u, c0_1);
  store_c(batch, first_m + row * 4u + 1u, first_n + column * 4u, c1_0);
  store_c(batch, first_m + row * 4u + 1u, first_n + column * 4u + 32u, c1_1);
  store_c(batch, first_m + row * 4u + 2u, first_n + column * 4u, c2_0);
  store_c(batch, first_m + row * 4u + 2u, first_n + column * 4u + 32u, c2_1);
  store_c(batch, first_m + row * 4u + 3u, first_n + column * 4u, c3_0);
  store_c(batch, first_m + row * 4u + 3u, first_n + column * 4u + 32u, c3_1);
}
