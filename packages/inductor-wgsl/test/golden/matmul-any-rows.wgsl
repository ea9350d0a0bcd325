// workgroups: -Math.floor((-s0) / 32)

struct Uniforms {
  size0: u32,
  size1: u32,
}
@group(1) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
var<workgroup> slab_a0: array<array<f32, 36>, 16>;
var<workgroup> slab_b0: array<array<vec4f, 17>, 16>;

fn load_a(batch: u32, along: u32, depth: u32) -> vec4f {
  let t0 = a[(128u * along + depth) >> 2u];
  return t0;
}

fn load_b(batch: u32, along: u32, depth: u32) -> vec4f {
  let t1 = b[(64u * depth + along) >> 2u];
  return t1;
}

fn store_c(batch: u32, down: u32, along: u32, product: vec4f) {
  if (down >= uniforms.size0) { return; }
  out[(64u * down + along) >> 2u] = product;
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  if ((group.y * 65535u + group.x) >= uniforms.size1) { return; }
  let tile = (group.y * 65535u + group.x);
  let batch = tile / uniforms.size1;
  let first_m = (tile % uniforms.size1) * 32u;
  let first_n = 0u;
  let cluster = lane / 32u;
  let column = (cluster % 2u) * 8u + (lane % 16u) / 2u;
  let row = (cluster / 2u) * 4u + ((lane % 32u) / 16u) * 2u + lane % 2u;
  var c0_0 = vec4f(0);
  var c1_0 = vec4f(0);
  var c2_0 = vec4f(0);
  var c3_0 = vec4f(0);
  var next_a0 = vec4f(0);
  var next_b0 = vec4f(0);
  var next_b1 = vec4f(0);
  next_a0 = load_a(batch, first_m + lane / 4u, (lane % 4u) * 4u);
  next_b0 = load_b(batch, first_n + (lane % 16u) * 4u, lane / 16u);
  next_b1 = load_b(batch, first_n + ((lane + 128u) % 16u) * 4u, (lane + 128u) / 16u);
  for (var step = 0u; step < 8u; step += 1u) {
    slab_a0[(lane % 4u) * 4u][lane / 4u] = next_a0.x;
    slab_a0[(lane % 4u) * 4u + 1u][lane / 4u] = next_a0.y;
    slab_a0[(lane % 4u) * 4u + 2u][lane / 4u] = next_a0.z;
    slab_a0[(lane % 4u) * 4u + 3u][lane / 4u] = next_a0.w;
    slab_b0[lane / 16u][lane % 16u] = next_b0;
    slab_b0[(lane + 128u) / 16u][(lane + 128u) % 16u] = next_b1;
    workgroupBarrier();
    if (step + 1u < 8u) {
      next_a0 = load_a(batch, first_m + lane / 4u, (step + 1u) * 16u + (lane % 4u) * 4u);
      next_b0 = load_b(batch, first_n + (lane % 16u) * 4u, (step + 1u) * 16u + lane / 16u);
      next_b1 = load_b(batch, first_n + ((lane + 128u) % 16u) * 4u, (step + 1u) * 16u + (lane + 128u) / 16u);
    }
    for (var kk = 0u; kk < 16u; kk += 1u) {
      let a0 = vec4f(slab_a0[kk][row * 4u], slab_a0[kk][row * 4u + 1u], slab_a0[kk][row * 4u + 2u], slab_a0[kk][row * 4u + 3u]);
      let b0 = slab_b0[kk][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
    }
    workgroupBarrier();
  }
  store_c(batch, first_m + row * 4u, first_n + column * 4u, c0_0);
  store_c(batch, first_m + row * 4u + 1u, first_n + column * 4u, c1_0);
  store_c(batch, first_m + row * 4u + 2u, first_n + column * 4u, c2_0);
  store_c(batch, first_m + row * 4u + 3u, first_n + column * 4u, c3_0);
}
