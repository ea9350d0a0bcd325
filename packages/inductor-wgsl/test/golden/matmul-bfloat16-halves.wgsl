// workgroups: 544 × 1

enable f16;

enable subgroups;

enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);

@group(0) @binding(0) var<storage, read> halves_a_: array<vec4u>;
@group(0) @binding(1) var<storage, read> halves_b_: array<f16>;
@group(0) @binding(2) var<storage, read> scales_a_: array<f32>;
@group(0) @binding(3) var<storage, read> scales_b_: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> out: array<f16>;
var<workgroup> slab_a0: array<vec4u, 640>;
var<workgroup> slab_b0: array<vec4h, 2112>;
var<workgroup> some0: array<atomic<u32>, 4>;
var<workgroup> result0: array<vec4f, 512>;

fn round_bf16_vec4f(x: vec4f) -> vec4f {
  let bits = bitcast<vec4u>(x);
  let magnitude = bits & vec4u(0x7fffffffu);
  let kept = (magnitude + vec4u(0x7fffu) + ((magnitude >> vec4u(16u)) & vec4u(1u))) & vec4u(0xffff0000u);
  return bitcast<vec4f>(select(kept, magnitude, magnitude > vec4u(0x7f800000u)) | (bits & vec4u(0x80000000u)));
}

fn load_a(batch: u32, along: u32, depth: u32) -> vec4u {
  return halves_a_[(4096u * along + depth) >> 3u];
}

fn load_b(batch: u32, along: u32, depth: u32) -> vec4h {
  let x0 = 4098u * depth + along;
  return vec4h(halves_b_[x0], halves_b_[x0 + 1u], halves_b_[x0 + 2u], halves_b_[x0 + 3u]);
}

fn left_row(batch: u32, at: u32) -> bool {
  let t0 = scales_a_[at];
  return (t0 < 0.0);
}

fn left_column(batch: u32, at: u32) -> bool {
  let t1 = scales_b_[at >> 2u][at & 3u];
  return (t1 < 0.0);
}

fn store_c(batch: u32, down: u32, along: u32, product: vec4f) {
  if (along >= 4098u) { return; }
  let along0 = min(along + 1u, 4097u);
  let along1 = min(along + 2u, 4097u);
  let along2 = min(along + 3u, 4097u);
  if ((left_row(batch, down) || left_column(batch, along) || left_column(batch, along0) || left_column(batch, along1) || left_column(batch, along2))) { return; }
  let t2 = scales_b_[along >> 2u];
  let t3 = scales_a_[down];
  let t4 = round_bf16_vec4f((product * (vec4f(t3) * t2)));
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

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile / 544u;
  let first_m = ((tile / 17u) % 32u) * 128u;
  let first_n = (tile % 17u) * 256u;
  for (var at = first_m + lane; at < min(first_m + 128u, 4096u); at += 256u) {
    if (!left_row(batch, at)) { atomicStore(&some0[0u], 1u); }
  }
  for (var at = first_n + lane; at < min(first_n + 256u, 4098u); at += 256u) {
    if (!left_column(batch, at)) { atomicStore(&some0[1u], 1u); }
  }
  let has_0 = workgroupUniformLoad(&some0[0u]) != 0u;
  let has_1 = workgroupUniformLoad(&some0[1u]) != 0u;
  if (!has_0 || !has_1) { return; }
  let part = lane / 32u;
  let part_m = (part / 4u) * 64u;
  let part_n = (part % 4u) * 64u;
  var c0_0 = subgroup_matrix_result<f32, 16, 16>();
  var c0_1 = subgroup_matrix_result<f32, 16, 16>();
  var c0_2 = subgroup_matrix_result<f32, 16, 16>();
  var c0_3 = subgroup_matrix_result<f32, 16, 16>();
  var c1_0 = subgroup_matrix_result<f32, 16, 16>();
  var c1_1 = subgroup_matrix_result<f32, 16, 16>();
  var c1_2 = subgroup_matrix_result<f32, 16, 16>();
  var c1_3 = subgroup_matrix_result<f32, 16, 16>();
  var c2_0 = subgroup_matrix_result<f32, 16, 16>();
  var c2_1 = subgroup_matrix_result<f32, 16, 16>();
  var c2_2 = subgroup_matrix_result<f32, 16, 16>();
  var c2_3 = subgroup_matrix_result<f32, 16, 16>();
  var c3_0 = subgroup_matrix_result<f32, 16, 16>();
  var c3_1 = subgroup_matrix_result<f32, 16, 16>();
  var c3_2 = subgroup_matrix_result<f32, 16, 16>();
  var c3_3 = subgroup_matrix_result<f32, 16, 16>();
  var next_a0 = vec4u(0);
  var next_a1 = vec4u(0);
  var next_b0 = vec4h(0);
  var next_b1 = vec4h(0);
  var next_b2 = vec4h(0);
  var next_b3 = vec4h(0);
  var next_b4 = vec4h(0);
  var next_b5 = vec4h(0);
  var next_b6 = vec4h(0);
  var next_b7 = vec4h(0);
  next_a0 = load_a(batch, first_m + (lane / 4u / 8u * 8u + lane / 4u % 2u * 4u + lane / 4u % 8u / 2u), 0u + (lane % 4u) * 8u);
  next_a1 = load_a(batch, first_m + ((lane + 256u) / 4u / 8u * 8u + (lane + 256u) / 4u % 2u * 4u + (lane + 256u) / 4u % 8u / 2u), 0u + ((lane + 256u) % 4u) * 8u);
  next_b0 = load_b(batch, first_n + (lane % 64u) * 4u, 0u + lane / 64u);
  next_b1 = load_b(batch, first_n + ((lane + 256u) % 64u) * 4u, 0u + (lane + 256u) / 64u);
  next_b2 = load_b(batch, first_n + ((lane + 512u) % 64u) * 4u, 0u + (lane + 512u) / 64u);
  next_b3 = load_b(batch, first_n + ((lane + 768u) % 64u) * 4u, 0u + (lane + 768u) / 64u);
  next_b4 = load_b(batch, first_n + ((lane + 1024u) % 64u) * 4u, 0u + (lane + 1024u) / 64u);
  next_b5 = load_b(batch, first_n + ((lane + 1280u) % 64u) * 4u, 0u + (lane + 1280u) / 64u);
  next_b6 = load_b(batch, first_n + ((lane + 1536u) % 64u) * 4u, 0u + (lane + 1536u) / 64u);
  next_b7 = load_b(batch, first_n + ((lane + 1792u) % 64u) * 4u, 0u + (lane + 1792u) / 64u);
  for (var step = 0u; step < 128u; step++) {
    slab_a0[((lane / 4u / 8u * 8u + lane / 4u % 2u * 4u + lane / 4u % 8u / 2u)) * 5u + ((lane % 4u) * 8u) / 8u] = next_a0;
    slab_a0[(((lane + 256u) / 4u / 8u * 8u + (lane + 256u) / 4u % 2u * 4u + (lane + 256u) / 4u % 8u / 2u)) * 5u + (((lane + 256u) % 4u) * 8u) / 8u] = next_a1;
    slab_b0[(lane / 64u) * 66u + ((lane % 64u) * 4u) / 4u] = next_b0;
    slab_b0[((lane + 256u) / 64u) * 66u + (((lane + 256u) % 64u) * 4u) / 4u] = next_b1;
    slab_b0[((lane + 512u) / 64u) * 66u + (((lane + 512u) % 64u) * 4u) / 4u] = next_b2;
    slab_b0[((lane + 768u) / 64u) * 66u + (((lane + 768u) % 64u) * 4u) / 4u] = next_b3;
    slab_b0[((lane + 1024u) / 64u) * 66u + (((lane + 1024u) % 64u) * 4u) / 4u] = next_b4;
    slab_b0[((lane + 1280u) / 64u) * 66u + (((lane + 1280u) % 64u) * 4u) / 4u] = next_b5;
    slab_b0[((lane + 1536u) / 64u) * 66u + (((lane + 1536u) % 64u) * 4u) / 4u] = next_b6;
    slab_b0[((lane + 1792u) / 64u) * 66u + (((lane + 1792u) % 64u) * 4u) / 4u] = next_b7;
    workgroupBarrier();
    if (step + 1u < 128u) {
      next_a0 = load_a(batch, first_m + (lane / 4u / 8u * 8u + lane / 4u % 2u * 4u + lane / 4u % 8u / 2u), (step + 1u) * 32u + (lane % 4u) * 8u);
      next_a1 = load_a(batch, first_m + ((lane + 256u) / 4u / 8u * 8u + (lane + 256u) / 4u % 2u * 4u + (lane + 256u) / 4u % 8u / 2u), (step + 1u) * 32u + ((lane + 256u) % 4u) * 8u);
      next_b0 = load_b(batch, first_n + (lane % 64u) * 4u, (step + 1u) * 32u + lane / 64u);
      next_b1 = load_b(batch, first_n + ((lane + 256u) % 64u) * 4u, (step + 1u) * 32u + (lane + 256u) / 64u);
      next_b2 = load_b(batch, first_n + ((lane + 512u) % 64u) * 4u, (step + 1u) * 32u + (lane + 512u) / 64u);
      next_b3 = load_b(batch, first_n + ((lane + 768u) % 64u) * 4u, (step + 1u) * 32u + (lane + 768u) / 64u);
      next_b4 = load_b(batch, first_n + ((lane + 1024u) % 64u) * 4u, (step + 1u) * 32u + (lane + 1024u) / 64u);
      next_b5 = load_b(batch, first_n + ((lane + 1280u) % 64u) * 4u, (step + 1u) * 32u + (lane + 1280u) / 64u);
      next_b6 = load_b(batch, first_n + ((lane + 1536u) % 64u) * 4u, (step + 1u) * 32u + (lane + 1536u) / 64u);
      next_b7 = load_b(batch, first_n + ((lane + 1792u) % 64u) * 4u, (step + 1u) * 32u + (lane + 1792u) / 64u);
    }
    {
      let a0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m) * 5u + (0u) / 8u, 5u);
      let a1 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m + 16u) * 5u + (0u) / 8u, 5u);
      let a2 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m + 32u) * 5u + (0u) / 8u, 5u);
      let a3 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m + 48u) * 5u + (0u) / 8u, 5u);
      let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab_b0, (0u) * 66u + (part_n) / 4u, 66u);
      c0_0 = subgroupMatrixMultiplyAccumulate(a0, b0, c0_0);
      c1_0 = subgroupMatrixMultiplyAccumulate(a1, b0, c1_0);
      c2_0 = subgroupMatrixMultiplyAccumulate(a2, b0, c2_0);
      c3_0 = subgroupMatrixMultiplyAccumulate(a3, b0, c3_0);
      let b1 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab_b0, (0u) * 66u + (part_n + 16u) / 4u, 66u);
      c0_1 = subgroupMatrixMultiplyAccumulate(a0, b1, c0_1);
      c1_1 = subgroupMatrixMultiplyAccumulate(a1, b1, c1_1);
      c2_1 = subgroupMatrixMultiplyAccumulate(a2, b1, c2_1);
      c3_1 = subgroupMatrixMultiplyAccumulate(a3, b1, c3_1);
      let b2 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab_b0, (0u) * 66u + (part_n + 32u) / 4u, 66u);
      c0_2 = subgroupMatrixMultiplyAccumulate(a0, b2, c0_2);
      c1_2 = subgroupMatrixMultiplyAccumulate(a1, b2, c1_2);
      c2_2 = subgroupMatrixMultiplyAccumulate(a2, b2, c2_2);
      c3_2 = subgroupMatrixMultiplyAccumulate(a3, b2, c3_2);
      let b3 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab_b0, (0u) * 66u + (part_n + 48u) / 4u, 66u);
      c0_3 = subgroupMatrixMultiplyAccumulate(a0, b3, c0_3);
      c1_3 = subgroupMatrixMultiplyAccumulate(a1, b3, c1_3);
      c2_3 = subgroupMatrixMultiplyAccumulate(a2, b3, c2_3);
      c3_3 = subgroupMatrixMultiplyAccumulate(a3, b3, c3_3);
    }
    {
      let a0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m) * 5u + (16u) / 8u, 5u);
      let a1 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m + 16u) * 5u + (16u) / 8u, 5u);
      let a2 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m + 32u) * 5u + (16u) / 8u, 5u);
      let a3 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab_a0, (part_m + 48u) * 5u + (16u) / 8u, 5u);
      let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab_b0, (16u) * 66u + (part_n) / 4u, 66u);
      c0_0 = subgroupMatrixMultiplyAccumulate(a0, b0, c0_0);
      c1_0 = subgroupMatrixMultiplyAccumulate(a1, b0, c1_0);
      c2_0 = subgroupMatrixMultiplyAccumulate(a2, b0, c2_0);
      c3_0 = subgroupMatrixMultiplyAccumulate(a3, b0, c3_0);
      let b1 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab_b0, (16u) * 66u + (part_n + 16u) / 4u, 66u);
      c0_1 = subgroupMatrixMultiplyAccumulate(a0, b1, c0_1);
      c1_1 = subgroupMatrixMultiplyAccumulate(a1, b1, c1_1);
      c2_1 = subgroupMatrixMultiplyAccumulate(a2, b1, c2_1);
      c3_1 = subgroupMatrixMultiplyAccumulate(a3, b1, c3_1);
      let b2 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab_b0, (16u) * 66u + (part_n + 32u) / 4u, 66u);
      c0_2 = subgroupMatrixMultiplyAccumulate(a0, b2, c0_2);
      c1_2 = subgroupMatrixMultiplyAccumulate(a1, b2, c1_2);
      c2_2 = subgroupMatrixMultiplyAccumulate(a2, b2, c2_2);
      c3_2 = subgroupMatrixMultiplyAccumulate(a3, b2, c3_2);
      let b3 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab_b0, (16u) * 66u + (part_n + 48u) / 4u, 66u);
      c0_3 = subgroupMatrixMultiplyAccumulate(a0, b3, c0_3);
      c1_3 = subgroupMatrixMultiplyAccumulate(a1, b3, c1_3);
      c2_3 = subgroupMatrixMultiplyAccumulate(a2, b3, c2_3);
      c3_3 = subgroupMatrixMultiplyAccumulate(a3, b3, c3_3);
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
  subgroupMatrixStore<row_major>(&result0, first, c0_2, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + unit / 4u, first_n + part_n + 32u + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c0_3, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + unit / 4u, first_n + part_n + 48u + (unit % 4u) * 4u, result0[first + unit]);
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
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c1_2, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 16u + unit / 4u, first_n + part_n + 32u + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c1_3, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 16u + unit / 4u, first_n + part_n + 48u + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c2_0, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 32u + unit / 4u, first_n + part_n + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c2_1, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 32u + unit / 4u, first_n + part_n + 16u + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c2_2, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 32u + unit / 4u, first_n + part_n + 32u + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c2_3, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 32u + unit / 4u, first_n + part_n + 48u + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c3_0, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 48u + unit / 4u, first_n + part_n + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c3_1, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 48u + unit / 4u, first_n + part_n + 16u + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c3_2, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 48u + unit / 4u, first_n + part_n + 32u + (unit % 4u) * 4u, result0[first + unit]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&result0, first, c3_3, 4u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    store_c(batch, first_m + part_m + 48u + unit / 4u, first_n + part_n + 48u + (unit % 4u) * 4u, result0[first + unit]);
  }
}
