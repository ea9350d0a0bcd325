// workgroups: 128 × 1

@group(0) @binding(0) var<storage, read> image_: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
var<workgroup> slab_a0: array<array<vec4f, 17>, 16>;
var<workgroup> slab_b0: array<array<vec4f, 9>, 16>;

fn load_a(batch: u32, along: u32, depth: u32) -> vec4f {
  let quad0 = along / 4u;
  let m2 = (quad0 % 4u) * 4u;
  let m1 = (quad0 / 4u) % 16u;
  let m0 = quad0 / 64u;
  let k2 = depth % 3u;
  let k1 = (depth / 3u) % 3u;
  let k0 = depth / 9u;
  let x0 = 2048u * m0 + 256u * k0 + 16u * m1 + 16u * k1 + m2 + k2 - 17u;
  let t0 = vec4f(image_[x0], image_[x0 + 1u], image_[x0 + 2u], image_[x0 + 3u]);
  let t1 = vec4i((m2 + vec4u(0u, 1u, 2u, 3u)) + k2 - 1u);
  let t2 = i32(m1 + k1 - 1u);
  let t3 = (vec4<bool>(((t2 >= 0) & (t2 < 16))) & ((t1 >= vec4i(0)) & (t1 < vec4i(16))));
  let t4 = select(vec4f(0.0), t0, t3);
  return select(vec4f(0), t4, depth < 72u);
}

fn load_b(batch: u32, along: u32, depth: u32) -> vec4f {
  let k2_ = depth % 3u;
  let k1_ = (depth / 3u) % 3u;
  let k0_ = depth / 9u;
  let x1 = 72u * along + 9u * k0_ + 3u * k1_ + k2_;
  let t5 = vec4f(weight[x1], weight[x1 + 72u], weight[x1 + 144u], weight[x1 + 216u]);
  return select(vec4f(0), t5, depth < 72u);
}

fn store_c(batch: u32, down: u32, along: u32, product: vec4f) {
  if (along >= 16u) { return; }
  let m2_ = down % 16u;
  let m1_ = (down / 16u) % 16u;
  let m0_ = down / 256u;
  let t6 = product;
  let x2 = 4096u * m0_ + 256u * along + 16u * m1_ + m2_;
  out[x2] = t6.x;
  out[x2 + 256u] = t6.y;
  out[x2 + 512u] = t6.z;
  out[x2 + 768u] = t6.w;
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile / 128u;
  let first_m = (tile % 128u) * 64u;
  let first_n = 0u;
  let cluster = lane / 32u;
  let column = (lane % 16u) / 2u;
  let row = cluster * 4u + ((lane % 32u) / 16u) * 2u + lane % 2u;
  var c0_0 = vec4f(0);
  var c1_0 = vec4f(0);
  var c2_0 = vec4f(0);
  var c3_0 = vec4f(0);
  var next_a0 = vec4f(0);
  var next_a1 = vec4f(0);
  var next_b0 = vec4f(0);
  next_a0 = load_a(batch, first_m + (lane % 16u) * 4u, lane / 16u);
  next_a1 = load_a(batch, first_m + ((lane + 128u) % 16u) * 4u, (lane + 128u) / 16u);
  next_b0 = load_b(batch, first_n + (lane / 16u) * 4u, lane % 16u);
  for (var step = 0u; step < 5u; step += 1u) {
    slab_a0[lane / 16u][lane % 16u] = next_a0;
    slab_a0[(lane + 128u) / 16u][(lane + 128u) % 16u] = next_a1;
    slab_b0[lane % 16u][lane / 16u] = next_b0;
    workgroupBarrier();
    if (step + 1u < 5u) {
      next_a0 = load_a(batch, first_m + (lane % 16u) * 4u, (step + 1u) * 16u + lane / 16u);
      next_a1 = load_a(batch, first_m + ((lane + 128u) % 16u) * 4u, (step + 1u) * 16u + (lane + 128u) / 16u);
      next_b0 = load_b(batch, first_n + (lane / 16u) * 4u, (step + 1u) * 16u + lane % 16u);
    }
    for (var kk = 0u; kk < 16u; kk += 1u) {
      let a0 = slab_a0[kk][row];
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
