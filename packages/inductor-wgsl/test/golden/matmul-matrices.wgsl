// workgroups: 256 × 1

enable f16;

enable subgroups;

enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);

@group(0) @binding(0) var<storage, read> a: array<vec4u>;
@group(0) @binding(1) var<storage, read> b: array<vec4u>;
@group(0) @binding(2) var<storage, read> bias: array<vec4h>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4h>;
var<workgroup> slab_a0: array<vec4u, 576>;
var<workgroup> slab_b0: array<vec4u, 576>;
var<workgroup> result0: array<vec4f, 256>;

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
}

fn max_vec4f(a: vec4f, b: vec4f) -> vec4f {
  return select(select(max(a, b), b, is_nan_vec4f(b)), a, is_nan_vec4f(a));
}

fn round_f16_vec4f(x: vec4f) -> vec4f {
  let bits = bitcast<vec4u>(x);
  let magnitude = bits & vec4u(0x7fffffffu);
  var kept = (magnitude + vec4u(0xfffu) + ((magnitude >> vec4u(13u)) & vec4u(1u))) & vec4u(0xffffe000u);
  kept = select(kept, vec4u(0x7f800000u), kept >= vec4u(0x47800000u));
  kept = select(kept, bitcast<vec4u>(round(abs(x) * vec4f(16777216.0)) * vec4f(5.9604644775390625e-8)), magnitude < vec4u(0x38800000u));
  kept = select(kept, magnitude, magnitude > vec4u(0x7f800000u));
  return bitcast<vec4f>(kept | (bits & vec4u(0x80000000u)));
}

fn load_a(batch: u32, along: u32, depth: u32) -> vec4u {
  return a[(1024u * along + depth) >> 3u];
}

fn load_b(batch: u32, along: u32, depth: u32) -> vec4u {
  return b[(1024u * along + depth) >> 3u];
}

fn store_c(batch: u32, down: u32, along: u32, product: vec4f) {
  if (along >= 1000u) { return; }
  let t0 = vec4f(bias[along >> 2u]);
  out[(1000u * down + along) >> 2u] = vec4h(round_f16_vec4f(max_vec4f((product + t0), vec4f(0.0))));
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile / 256u;
  let first_m = ((tile / 16u) % 16u) * 64u;
  let first_n = (tile % 16u) * 64u;
  let part = lane / 32u;
  let part_m = (part / 2u) * 32u;
  let part_n = (part % 2u) * 32u;
  var c0_0 = subgroup_matrix_result<f32, 16, 16>();
  var c0_1 = subgroup_matrix_result<f32, 16, 16>();
  var c1_0 = subgroup_matrix_result<f32, 16, 16>();
  var c1_1 = subgroup_matrix_result<f32, 16, 16>();
  var next_a0 = vec4u(0);
  var next_a1 = vec4u(0);
  var next_a2 = vec4u(0);
  var next_a3 = vec4u(0);
  var next_b0 = vec4u(0);
  var next_b1 = vec4u(0);
  var next_b2 = vec4u(0);
  var next_b3 = vec4u(0);
  next_a0 = load_a(batch, first_m + lane / 8u, 0u + (lane % 8u) * 8u);
  next_a1 = load_a(batch, first_m + (lane + 128u) / 8u, 0u + ((lane + 128u) % 8u) * 8u);
  next_a2 = load_a(batch, first_m + (lane + 256u) / 8u, 0u + ((lane + 256u) % 8u) * 8u);
  next_a3 = load_a(batch, first_m + (lane + 384u) / 8u, 0u + ((lane + 384u) % 8u) * 8u);
  next_b0 = load_b(batch, first_n + lane / 8u, 0u + (lane % 8u) * 8u);
  next_b1 = load_b(batch, first_n + (lane + 128u) / 8u, 0u + ((lane + 128u) % 8u) * 8u);
  next_b2 = load_b(batch, first_n + (lane + 256u) / 8u, 0u + ((lane + 256u) % 8u) * 8u);
  next_b3 = load_b(batch, first_n + (lane + 384u) / 8u, 0u + ((lane + 384u) % 8u) * 8u);
  for (var step = 0u; step < 16u; step++) {
    slab_a0[(lane / 8u) * 9u + ((lane % 8u) * 8u) / 8u] = next_a0;
    slab_a0[((lane + 128u) / 8u) * 9u + (((lane + 128u) % 8u) * 8u) / 8u] = next_a1;
    slab_a0[((lane + 256u) / 8u) * 9u + (((lane + 256u) % 8u) * 8u) / 8u] = next_a2;
    slab_a0[((lane + 384u) / 8u) * 9u + (((lane + 384u) % 8u) * 8u) / 8u] = next_a3;
    slab_b0[(lane / 8u) * 9u + ((lane % 8u) * 8u) / 8u] = next_b0;
    slab_b0[((lane + 128u) / 8u) * 9u + (((lane + 128u) % 8u) * 8u) / 8u] = next_b1;
    slab_b0[((lane + 256u) / 8u) * 9u + (((lane + 256u) % 8u) * 8u) / 8u] = next_b2;
    slab_b0[((lane + 384u) / 8u) * 9u + (((lane + 384u) % 8u) * 8u) / 8u] = next_b3;
    workgroupBarrier();
    if (step + 1u < 16u) {
      next_a0 = load_a(batch, first_m + lane / 8u, (step + 1u) * 64u + (lane % 8u) * 8u);
      next_a1 = load_a(batch, first_m + (lane + 128u) / 8u, (step + 1u) * 64u + ((lane + 128u) % 8u) * 8u);
      next_a2 = load_a(batch, first_m + (lane + 256u) / 8u, (step + 1u) * 64u + ((lane + 256u) % 8u) * 8u);
      next_a3 = load_a(batch, first_m + (lane + 384u) / 8u, (step + 1u) * 64u + ((lane + 384u) % 8u) * 8u);
      next_b0 = load_b(batch, first_n + lane / 8u, (step + 1u) * 64u + (lane % 8u) * 8u);
      next_b1 = load_b(batch, first_n + (lane + 128u) / 8u, (step + 1u) * 64u + ((lane + 128u) % 8u) * 8u);
      next_b2 = load_b(batch, first_n + (lane + 256u) / 8u, (step + 1u) * 64u + ((lane + 256u) % 8u) * 8u);
      next_b3 = load_b(batch, first_n + (lane + 384u) / 8u, (step + 1u) * 64u + ((lane + 384u) % 8u) * 8u);
    }
    {
      let a0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m) * 9u + (0u) / 8u, 9u);
      let a1 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m + 16u) * 9u + (0u) / 8u, 9u);
      let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab_b0, (part_n) * 9u + (0u) / 8u, 9u);
      c0_0 = subgroupMatrixMultiplyAccumulate(a0, b0, c0_0);
      c1_0 = subgroupMatrixMultiplyAccumulate(a1, b0, c1_0);
      let b1 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab_b0, (part_n + 16u) * 9u + (0u) / 8u, 9u);
      c0_1 = subgroupMatrixMultiplyAccumulate(a0, b1, c0_1);
      c1_1 = subgroupMatrixMultiplyAccumulate(a1, b1, c1_1);
    }
    {
      let a0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m) * 9u + (16u) / 8u, 9u);
      let a1 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m + 16u) * 9u + (16u) / 8u, 9u);
      let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab_b0, (part_n) * 9u + (16u) / 8u, 9u);
      c0_0 = subgroupMatrixMultiplyAccumulate(a0, b0, c0_0);
      c1_0 = subgroupMatrixMultiplyAccumulate(a1, b0, c1_0);
      let b1 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab_b0, (part_n + 16u) * 9u + (16u) / 8u, 9u);
      c0_1 = subgroupMatrixMultiplyAccumulate(a0, b1, c0_1);
      c1_1 = subgroupMatrixMultiplyAccumulate(a1, b1, c1_1);
    }
    {
      let a0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m) * 9u + (32u) / 8u, 9u);
      let a1 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m + 16u) * 9u + (32u) / 8u, 9u);
      let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab_b0, (part_n) * 9u + (32u) / 8u, 9u);
      c0_0 = subgroupMatrixMultiplyAccumulate(a0, b0, c0_0);
      c1_0 = subgroupMatrixMultiplyAccumulate(a1, b0, c1_0);
      let b1 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab_b0, (part_n + 16u) * 9u + (32u) / 8u, 9u);
      c0_1 = subgroupMatrixMultiplyAccumulate(a0, b1, c0_1);
      c1_1 = subgroupMatrixMultiplyAccumulate(a1, b1, c1_1);
    }
    {
      let a0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m) * 9u + (48u) / 8u, 9u);
      let a1 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m + 16u) * 9u + (48u) / 8u, 9u);
      let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab_b0, (part_n) * 9u + (48u) / 8u, 9u);
      c0_0 = subgroupMatrixMultiplyAccumulate(a0, b0, c0_0);
      c1_0 = subgroupMatrixMultiplyAccumulate(a1, b0, c1_0);
      let b1 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab_b0, (part_n + 16u) * 9u + (48u) / 8u, 9u);
      c0_1 = subgroupMatrixMultiplyAccumulate(a0, b1, c0_1);
      c1_1 = subgroupMatrixMultiplyAccumulate(a1, b1, c1_1);
    }
    workgroupBarrier();
  }
  let first = part * 64u;
  subgroupMatrixStore<row_major>(&result0, first, c0_0, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + unit / 4u, first_n + part_n + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c0_1, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + unit / 4u, first_n + part_n + 16u + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c1_0, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 16u + unit / 4u, first_n + part_n + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c1_1, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 16u + unit / 4u, first_n + part_n + 16u + (unit % 4u) * 4u, result0[first + unit]);
  }
}
