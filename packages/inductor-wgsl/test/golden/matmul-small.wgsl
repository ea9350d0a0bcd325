// workgroups: 4 × 1

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
var<workgroup> slab_a0: array<array<f32, 16>, 64>;
var<workgroup> slab_b0: array<array<vec4f, 4>, 64>;
var<workgroup> sums0: array<vec4f, 512>;

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
}

fn max_vec4f(a: vec4f, b: vec4f) -> vec4f {
  return select(select(max(a, b), b, is_nan_vec4f(b)), a, is_nan_vec4f(a));
}

fn load_a(batch: u32, along: u32, depth: u32) -> vec4f {
  let t0 = a[(784u * along + depth) >> 2u];
  return select(vec4f(0), t0, depth < 784u);
}

fn load_b(batch: u32, along: u32, depth: u32) -> vec4f {
  let x0 = 10u * depth + along;
  let t1 = vec4f(b[x0], b[x0 + 1u], b[x0 + 2u], b[x0 + 3u]);
  return select(vec4f(0), t1, depth < 784u);
}

fn store_c(batch: u32, down: u32, along: u32, product: vec4f) {
  if (along >= 10u) { return; }
  let t2 = bias[along >> 2u];
  let t3 = max_vec4f((product + t2), vec4f(0.0));
  let x1 = 10u * down + along;
  if (along + 3u < 10u) {
    out[x1] = t3.x;
    out[x1 + 1u] = t3.y;
    out[x1 + 2u] = t3.z;
    out[x1 + 3u] = t3.w;
  }
  else {
    if (along + 0u < 10u) { out[x1] = t3.x; }
    if (along + 1u < 10u) { out[x1 + 1u] = t3.y; }
    if (along + 2u < 10u) { out[x1 + 2u] = t3.z; }
    if (along + 3u < 10u) { out[x1 + 3u] = t3.w; }
  }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile / 4u;
  let first_m = (tile % 4u) * 16u;
  let first_n = 0u;
  let slice = lane / 16u;
  let column = (lane % 16u) % 4u;
  let row = (lane % 16u) / 4u;
  var c0_0 = vec4f(0);
  var c1_0 = vec4f(0);
  var c2_0 = vec4f(0);
  var c3_0 = vec4f(0);
  var next_a0 = vec4f(0);
  var next_b0 = vec4f(0);
  next_a0 = load_a(batch, first_m + lane / 16u, (lane % 16u) * 4u);
  next_b0 = load_b(batch, first_n + (lane % 4u) * 4u, lane / 4u);
  for (var step = 0u; step < 13u; step += 1u) {
    slab_a0[(lane % 16u) * 4u][lane / 16u] = next_a0.x;
    slab_a0[(lane % 16u) * 4u + 1u][lane / 16u] = next_a0.y;
    slab_a0[(lane % 16u) * 4u + 2u][lane / 16u] = next_a0.z;
    slab_a0[(lane % 16u) * 4u + 3u][lane / 16u] = next_a0.w;
    slab_b0[lane / 4u][lane % 4u] = next_b0;
    workgroupBarrier();
    if (step + 1u < 13u) {
      next_a0 = load_a(batch, first_m + lane / 16u, (step + 1u) * 64u + (lane % 16u) * 4u);
      next_b0 = load_b(batch, first_n + (lane % 4u) * 4u, (step + 1u) * 64u + lane / 4u);
    }
    {
      let a0 = vec4f(slab_a0[slice][row * 4u], slab_a0[slice][row * 4u + 1u], slab_a0[slice][row * 4u + 2u], slab_a0[slice][row * 4u + 3u]);
      let b0 = slab_b0[slice][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
    }
    {
      let a0 = vec4f(slab_a0[slice + 16u][row * 4u], slab_a0[slice + 16u][row * 4u + 1u], slab_a0[slice + 16u][row * 4u + 2u], slab_a0[slice + 16u][row * 4u + 3u]);
      let b0 = slab_b0[slice + 16u][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
    }
    {
      let a0 = vec4f(slab_a0[slice + 32u][row * 4u], slab_a0[slice + 32u][row * 4u + 1u], slab_a0[slice + 32u][row * 4u + 2u], slab_a0[slice + 32u][row * 4u + 3u]);
      let b0 = slab_b0[slice + 32u][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
    }
    {
      let a0 = vec4f(slab_a0[slice + 48u][row * 4u], slab_a0[slice + 48u][row * 4u + 1u], slab_a0[slice + 48u][row * 4u + 2u], slab_a0[slice + 48u][row * 4u + 3u]);
      let b0 = slab_b0[slice + 48u][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
    }
    workgroupBarrier();
  }
  for (var half = 8u; half > 0u; half = half >> 1u) {
    if (half < slice + 1u && slice < half * 2u) {
      sums0[(lane - half * 16u) * 4u] = c0_0;
      sums0[(lane - half * 16u) * 4u + 1u] = c1_0;
      sums0[(lane - half * 16u) * 4u + 2u] = c2_0;
      sums0[(lane - half * 16u) * 4u + 3u] = c3_0;
    }
    workgroupBarrier();
    if (slice < half) {
      c0_0 += sums0[lane * 4u];
      c1_0 += sums0[lane * 4u + 1u];
      c2_0 += sums0[lane * 4u + 2u];
      c3_0 += sums0[lane * 4u + 3u];
    }
    workgroupBarrier();
  }
  if (slice == 0u) {
    store_c(batch, first_m + row * 4u, first_n + column * 4u, c0_0);
    store_c(batch, first_m + row * 4u + 1u, first_n + column * 4u, c1_0);
    store_c(batch, first_m + row * 4u + 2u, first_n + column * 4u, c2_0);
    store_c(batch, first_m + row * 4u + 3u, first_n + column * 4u, c3_0);
  }
}
