// workgroups: 8256 × 1

enable f16;

@group(0) @binding(0) var<storage, read> a: array<vec4h>;
@group(0) @binding(1) var<storage, read> b: array<f16>;
@group(0) @binding(2) var<storage, read_write> out: array<f16>;
@group(0) @binding(3) var<storage, read> scales_a_: array<f32>;
@group(0) @binding(4) var<storage, read> scales_b_: array<f32>;
var<workgroup> slab_a0: array<array<f32, 76>, 16>;
var<workgroup> slab_b0: array<array<vec4f, 9>, 16>;
var<workgroup> some0: array<atomic<u32>, 4>;
var<workgroup> sums0: array<vec4f, 512>;

fn round_bf16_vec4f(x: vec4f) -> vec4f {
  let bits = bitcast<vec4u>(x);
  let magnitude = bits & vec4u(0x7fffffffu);
  let kept = (magnitude + vec4u(0x7fffu) + ((magnitude >> vec4u(16u)) & vec4u(1u))) & vec4u(0xffff0000u);
  return bitcast<vec4f>(select(kept, magnitude, magnitude > vec4u(0x7f800000u)) | (bits & vec4u(0x80000000u)));
}

fn load_a(batch: u32, along: u32, depth: u32) -> vec4f {
  let t0 = bitcast<vec4f>((bitcast<vec2u>(a[(4096u * along + depth) >> 2u]).xxyy << vec4u(16u, 0u, 16u, 0u)) & vec4u(0xffff0000u));
  return t0;
}

fn load_b(batch: u32, along: u32, depth: u32) -> vec4f {
  let x0 = 4098u * depth + along;
  let t1 = bitcast<vec4f>((bitcast<vec2u>(vec4h(b[x0], b[x0 + 1u], b[x0 + 2u], b[x0 + 3u])).xxyy << vec4u(16u, 0u, 16u, 0u)) & vec4u(0xffff0000u));
  return t1;
}

fn left_row(batch: u32, at: u32) -> bool {
  let t2 = scales_a_[at];
  return (t2 < 0.0);
}

fn left_column(batch: u32, at: u32) -> bool {
  let t3 = scales_b_[at];
  return (t3 < 0.0);
}

fn store_c(batch: u32, down: u32, along: u32, product: vec4f) {
  if (along >= 4098u) { return; }
  let along0 = min(along + 1u, 4097u);
  let along1 = min(along + 2u, 4097u);
  let along2 = min(along + 3u, 4097u);
  if (!(left_row(batch, down) || left_column(batch, along) || left_column(batch, along0) || left_column(batch, along1) || left_column(batch, along2))) { return; }
  let t4 = round_bf16_vec4f(product);
  let t5 = bitcast<vec4h>((bitcast<vec4u>(t4).xz >> vec2u(16u)) | (bitcast<vec4u>(t4).yw & vec2u(0xffff0000u)));
  let x1 = 4098u * down + along;
  if (along + 3u < 4098u) {
    out[x1] = t5.x;
    out[x1 + 1u] = t5.y;
    out[x1 + 2u] = t5.z;
    out[x1 + 3u] = t5.w;
  }
  else {
    if (along + 0u < 4098u) { out[x1] = t5.x; }
    if (along + 1u < 4098u) { out[x1 + 1u] = t5.y; }
    if (along + 2u < 4098u) { out[x1 + 2u] = t5.z; }
    if (along + 3u < 4098u) { out[x1 + 3u] = t5.w; }
  }
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile / 8256u;
  let first_m = ((tile / 129u) % 64u) * 64u;
  let first_n = (tile % 129u) * 32u;
  for (var at = first_m + lane; at < min(first_m + 64u, 4096u); at += 128u) {
    if (left_row(batch, at)) { atomicStore(&some0[0u], 1u); }
  }
  for (var at = first_n + lane; at < min(first_n + 32u, 4098u); at += 128u) {
    if (left_column(batch, at)) { atomicStore(&some0[1u], 1u); }
  }
  let has_0 = workgroupUniformLoad(&some0[0u]) != 0u;
  let has_1 = workgroupUniformLoad(&some0[1u]) != 0u;
  if (!(has_0 || has_1)) { return; }
  let slice = lane / 64u;
  let cluster = (lane % 64u) / 32u;
  let column = (lane % 16u) / 2u;
  let row = cluster * 4u + ((lane % 32u) / 16u) * 2u + lane % 2u;
  var c0_0 = vec4f(0);
  var c1_0 = vec4f(0);
  var c2_0 = vec4f(0);
  var c3_0 = vec4f(0);
  var c4_0 = vec4f(0);
  var c5_0 = vec4f(0);
  var c6_0 = vec4f(0);
  var c7_0 = vec4f(0);
  var next_a0 = vec4f(0);
  var next_a1 = vec4f(0);
  var next_b0 = vec4f(0);
  next_a0 = load_a(batch, first_m + lane / 4u, (lane % 4u) * 4u);
  next_a1 = load_a(batch, first_m + (lane + 128u) / 4u, ((lane + 128u) % 4u) * 4u);
  next_b0 = load_b(batch, first_n + (lane % 8u) * 4u, lane / 8u);
  for (var step = 0u; step < 256u; step += 1u) {
    slab_a0[(lane % 4u) * 4u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 8u] = next_a0.x;
    slab_a0[(lane % 4u) * 4u + 1u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 8u] = next_a0.y;
    slab_a0[(lane % 4u) * 4u + 2u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 8u] = next_a0.z;
    slab_a0[(lane % 4u) * 4u + 3u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 8u] = next_a0.w;
    slab_a0[((lane + 128u) % 4u) * 4u][(lane + 128u) / 4u + ((((lane + 128u) % 4u) * 4u) / 8u) * 8u] = next_a1.x;
    slab_a0[((lane + 128u) % 4u) * 4u + 1u][(lane + 128u) / 4u + ((((lane + 128u) % 4u) * 4u) / 8u) * 8u] = next_a1.y;
    slab_a0[((lane + 128u) % 4u) * 4u + 2u][(lane + 128u) / 4u + ((((lane + 128u) % 4u) * 4u) / 8u) * 8u] = next_a1.z;
    slab_a0[((lane + 128u) % 4u) * 4u + 3u][(lane + 128u) / 4u + ((((lane + 128u) % 4u) * 4u) / 8u) * 8u] = next_a1.w;
    slab_b0[lane / 8u][lane % 8u] = next_b0;
    workgroupBarrier();
    if (step + 1u < 256u) {
      next_a0 = load_a(batch, first_m + lane / 4u, (step + 1u) * 16u + (lane % 4u) * 4u);
      next_a1 = load_a(batch, first_m + (lane + 128u) / 4u, (step + 1u) * 16u + ((lane + 128u) % 4u) * 4u);
      next_b0 = load_b(batch, first_n + (lane % 8u) * 4u, (step + 1u) * 16u + lane / 8u);
    }
    {
      let a0 = vec4f(slab_a0[slice][row * 4u], slab_a0[slice][row * 4u + 1u], slab_a0[slice][row * 4u + 2u], slab_a0[slice][row * 4u + 3u]);
      let a1 = vec4f(slab_a0[slice][(row + 8u) * 4u], slab_a0[slice][(row + 8u) * 4u + 1u], slab_a0[slice][(row + 8u) * 4u + 2u], slab_a0[slice][(row + 8u) * 4u + 3u]);
      let b0 = slab_b0[slice][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
      c4_0 += a1.x * b0;
      c5_0 += a1.y * b0;
      c6_0 += a1.z * b0;
      c7_0 += a1.w * b0;
    }
    {
      let a0 = vec4f(slab_a0[slice + 2u][row * 4u], slab_a0[slice + 2u][row * 4u + 1u], slab_a0[slice + 2u][row * 4u + 2u], slab_a0[slice + 2u][row * 4u + 3u]);
      let a1 = vec4f(slab_a0[slice + 2u][(row + 8u) * 4u], slab_a0[slice + 2u][(row + 8u) * 4u + 1u], slab_a0[slice + 2u][(row + 8u) * 4u + 2u], slab_a0[slice + 2u][(row + 8u) * 4u + 3u]);
      let b0 = slab_b0[slice + 2u][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
      c4_0 += a1.x * b0;
      c5_0 += a1.y * b0;
      c6_0 += a1.z * b0;
      c7_0 += a1.w * b0;
    }
    {
      let a0 = vec4f(slab_a0[slice + 4u][row * 4u], slab_a0[slice + 4u][row * 4u + 1u], slab_a0[slice + 4u][row * 4u + 2u], slab_a0[slice + 4u][row * 4u + 3u]);
      let a1 = vec4f(slab_a0[slice + 4u][(row + 8u) * 4u], slab_a0[slice + 4u][(row + 8u) * 4u + 1u], slab_a0[slice + 4u][(row + 8u) * 4u + 2u], slab_a0[slice + 4u][(row + 8u) * 4u + 3u]);
      let b0 = slab_b0[slice + 4u][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
      c4_0 += a1.x * b0;
      c5_0 += a1.y * b0;
      c6_0 += a1.z * b0;
      c7_0 += a1.w * b0;
    }
    {
      let a0 = vec4f(slab_a0[slice + 6u][row * 4u], slab_a0[slice + 6u][row * 4u + 1u], slab_a0[slice + 6u][row * 4u + 2u], slab_a0[slice + 6u][row * 4u + 3u]);
      let a1 = vec4f(slab_a0[slice + 6u][(row + 8u) * 4u], slab_a0[slice + 6u][(row + 8u) * 4u + 1u], slab_a0[slice + 6u][(row + 8u) * 4u + 2u], slab_a0[slice + 6u][(row + 8u) * 4u + 3u]);
      let b0 = slab_b0[slice + 6u][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
      c4_0 += a1.x * b0;
      c5_0 += a1.y * b0;
      c6_0 += a1.z * b0;
      c7_0 += a1.w * b0;
    }
    {
      let a0 = vec4f(slab_a0[slice + 8u][(row + 2u) * 4u], slab_a0[slice + 8u][(row + 2u) * 4u + 1u], slab_a0[slice + 8u][(row + 2u) * 4u + 2u], slab_a0[slice + 8u][(row + 2u) * 4u + 3u]);
      let a1 = vec4f(slab_a0[slice + 8u][(row + 8u + 2u) * 4u], slab_a0[slice + 8u][(row + 8u + 2u) * 4u + 1u], slab_a0[slice + 8u][(row + 8u + 2u) * 4u + 2u], slab_a0[slice + 8u][(row + 8u + 2u) * 4u + 3u]);
      let b0 = slab_b0[slice + 8u][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
      c4_0 += a1.x * b0;
      c5_0 += a1.y * b0;
      c6_0 += a1.z * b0;
      c7_0 += a1.w * b0;
    }
    {
      let a0 = vec4f(slab_a0[slice + 10u][(row + 2u) * 4u], slab_a0[slice + 10u][(row + 2u) * 4u + 1u], slab_a0[slice + 10u][(row + 2u) * 4u + 2u], slab_a0[slice + 10u][(row + 2u) * 4u + 3u]);
      let a1 = vec4f(slab_a0[slice + 10u][(row + 8u + 2u) * 4u], slab_a0[slice + 10u][(row + 8u + 2u) * 4u + 1u], slab_a0[slice + 10u][(row + 8u + 2u) * 4u + 2u], slab_a0[slice + 10u][(row + 8u + 2u) * 4u + 3u]);
      let b0 = slab_b0[slice + 10u][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
      c4_0 += a1.x * b0;
      c5_0 += a1.y * b0;
      c6_0 += a1.z * b0;
      c7_0 += a1.w * b0;
    }
    {
      let a0 = vec4f(slab_a0[slice + 12u][(row + 2u) * 4u], slab_a0[slice + 12u][(row + 2u) * 4u + 1u], slab_a0[slice + 12u][(row + 2u) * 4u + 2u], slab_a0[slice + 12u][(row + 2u) * 4u + 3u]);
      let a1 = vec4f(slab_a0[slice + 12u][(row + 8u + 2u) * 4u], slab_a0[slice + 12u][(row + 8u + 2u) * 4u + 1u], slab_a0[slice + 12u][(row + 8u + 2u) * 4u + 2u], slab_a0[slice + 12u][(row + 8u + 2u) * 4u + 3u]);
      let b0 = slab_b0[slice + 12u][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
      c4_0 += a1.x * b0;
      c5_0 += a1.y * b0;
      c6_0 += a1.z * b0;
      c7_0 += a1.w * b0;
    }
    {
      let a0 = vec4f(slab_a0[slice + 14u][(row + 2u) * 4u], slab_a0[slice + 14u][(row + 2u) * 4u + 1u], slab_a0[slice + 14u][(row + 2u) * 4u + 2u], slab_a0[slice + 14u][(row + 2u) * 4u + 3u]);
      let a1 = vec4f(slab_a0[slice + 14u][(row + 8u + 2u) * 4u], slab_a0[slice + 14u][(row + 8u + 2u) * 4u + 1u], slab_a0[slice + 14u][(row + 8u + 2u) * 4u + 2u], slab_a0[slice + 14u][(row + 8u + 2u) * 4u + 3u]);
      let b0 = slab_b0[slice + 14u][column];
      c0_0 += a0.x * b0;
      c1_0 += a0.y * b0;
      c2_0 += a0.z * b0;
      c3_0 += a0.w * b0;
      c4_0 += a1.x * b0;
      c5_0 += a1.y * b0;
      c6_0 += a1.z * b0;
      c7_0 += a1.w * b0;
    }
    workgroupBarrier();
  }
  for (var half = 1u; half > 0u; half = half >> 1u) {
    if (half < slice + 1u && slice < half * 2u) {
      sums0[(lane - half * 64u) * 8u] = c0_0;
      sums0[(lane - half * 64u) * 8u + 1u] = c1_0;
      sums0[(lane - half * 64u) * 8u + 2u] = c2_0;
      sums0[(lane - half * 64u) * 8u + 3u] = c3_0;
      sums0[(lane - half * 64u) * 8u + 4u] = c4_0;
      sums0[(lane - half * 64u) * 8u + 5u] = c5_0;
      sums0[(lane - half * 64u) * 8u + 6u] = c6_0;
      sums0[(lane - half * 64u) * 8u + 7u] = c7_0;
    }
    workgroupBarrier();
    if (slice < half) {
      c0_0 += sums0[lane * 8u];
      c1_0 += sums0[lane * 8u + 1u];
      c2_0 += sums0[lane * 8u + 2u];
      c3_0 += sums0[lane * 8u + 3u];
      c4_0 += sums0[lane * 8u + 4u];
      c5_0 += sums0[lane * 8u + 5u];
      c6_0 += sums0[lane * 8u + 6u];
      c7_0 += sums0[lane * 8u + 7u];
    }
    workgroupBarrier();
  }
  if (slice == 0u) {
    store_c(batch, first_m + row * 4u, first_n + column * 4u, c0_0);
    store_c(batch, first_m + row * 4u + 1u, first_n + column * 4u, c1_0);
    store_c(batch, first_m + row * 4u + 2u, first_n + column * 4u, c2_0);
    store_c(batch, first_m + row * 4u + 3u, first_n + column * 4u, c3_0);
    store_c(batch, first_m + row * 4u + 32u, first_n + column * 4u, c4_0);
    store_c(batch, first_m + row * 4u + 33u, first_n + column * 4u, c5_0);
    store_c(batch, first_m + row * 4u + 34u, first_n + column * 4u, c6_0);
    store_c(batch, first_m + row * 4u + 35u, first_n + column * 4u, c7_0);
  }
}
