// workgroups: 64 × 1

enable f16;

enable subgroups;

enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);

@group(0) @binding(0) var<storage, read> q: array<vec4u>;
@group(0) @binding(1) var<storage, read> k: array<vec4u>;
@group(0) @binding(2) var<storage, read> v: array<vec4u>;
@group(0) @binding(3) var<storage, read> bias: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4h>;
@group(0) @binding(5) var<storage, read_write> sums_: array<f32>;
var<workgroup> slab0: array<vec4u, 240>;
var<workgroup> passage0: array<vec4f, 288>;
var<workgroup> scales0: array<f32, 32>;
var<workgroup> weights0: array<vec4h, 320>;
var<workgroup> grown0: array<atomic<u32>, 4>;

var<private> inf_bits: u32 = 0x7f800000u;

var<private> nan_bits: u32 = 0x7fc00000u;

fn round_f16_vec4f(x: vec4f) -> vec4f {
  let bits = bitcast<vec4u>(x);
  let magnitude = bits & vec4u(0x7fffffffu);
  var kept = (magnitude + vec4u(0xfffu) + ((magnitude >> vec4u(13u)) & vec4u(1u))) & vec4u(0xffffe000u);
  kept = select(kept, vec4u(0x7f800000u), kept >= vec4u(0x47800000u));
  kept = select(kept, bitcast<vec4u>(round(abs(x) * vec4f(16777216.0)) * vec4f(5.9604644775390625e-8)), magnitude < vec4u(0x38800000u));
  kept = select(kept, magnitude, magnitude > vec4u(0x7f800000u));
  return bitcast<vec4f>(kept | (bits & vec4u(0x80000000u)));
}

fn inf_f32() -> f32 {
  return f32(bitcast<f32>(inf_bits));
}

fn log_fraction_f32(x: f32) -> f32 {
  let big = select(x, x * 16777216.0, x < 1.1754944e-38);
  let bits = bitcast<u32>(big) + u32(0x3f800000u - 0x3f3504f3u);
  return bitcast<f32>((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0;
}

fn log_exponent_f32(x: f32) -> f32 {
  let small = x < 1.1754944e-38;
  let big = select(x, x * 16777216.0, small);
  let bits = bitcast<u32>(big) + u32(0x3f800000u - 0x3f3504f3u);
  return f32(i32(bits >> 23u) - 127) - select(0.0, 24.0, small);
}

fn log_core_f32(f: f32) -> f32 {
  var p = 7.0376836292e-2;
  p = p * f + -1.1514610310e-1;
  p = p * f + 1.1676998740e-1;
  p = p * f + -1.2420140846e-1;
  p = p * f + 1.4249322787e-1;
  p = p * f + -1.6668057665e-1;
  p = p * f + 2.0000714765e-1;
  p = p * f + -2.4999993993e-1;
  p = p * f + 3.3333331174e-1;
  return p * f * (f * f);
}

fn is_nan_f32(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn nan_f32() -> f32 {
  return f32(bitcast<f32>(nan_bits));
}

fn log_specials_f32(x: f32, y: f32) -> f32 {
  let infinite = select(y, x, (x > 3.4028234e38) | is_nan_f32(x));
  return select(select(infinite, nan_f32(), x < 0.0), -inf_f32(), x == 0.0);
}

fn log_f32(x: f32) -> f32 {
  let f = log_fraction_f32(x);
  let e = log_exponent_f32(x);
  let tail = log_core_f32(f) + e * -2.12194440e-4 - 0.5 * f * f;
  return log_specials_f32(x, f + tail + e * 0.693359375);
}

fn load_a0(batch: u32, along: u32, depth: u32) -> vec4u {
  if (depth >= 40u) { return vec4u(0); }
  return q[(40000u * batch + 40u * along + depth) >> 3u];
}

fn load_b0(batch: u32, along: u32, depth: u32) -> vec4u {
  if (depth >= 40u) { return vec4u(0); }
  return k[(40000u * batch + 40u * along + depth) >> 3u];
}

fn load_v0(batch: u32, along: u32, depth: u32) -> vec4u {
  if (depth >= 1000u) { return vec4u(0); }
  return v[(40000u * batch + 40u * depth + along) >> 3u];
}

fn store_c(batch: u32, down: u32, along: u32, product0: vec4f) {
  if (down >= 1000u || along >= 40u) { return; }
  out[(40000u * batch + 40u * down + along) >> 2u] = vec4h(round_f16_vec4f(product0));
}

fn store_row(batch: u32, down: u32, sum: f32) {
  if (down >= 1000u) { return; }
  sums_[1000u * batch + down] = sum;
}

fn weigh0(batch: u32, down: u32, along: u32, score0: vec4f) -> vec4f {
  let t0 = bias[(1000u * down + along) >> 2u];
  return select(vec4f((-inf_f32())), ((score0 * vec4f(0.25)) + t0), (along + vec4u(0u, 1u, 2u, 3u)) < vec4u(1000u));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile % 2u;
  let first_m = (tile / 2u) * 32u;
  let cluster = lane / 32u;
  let column = (lane % 16u) / 2u;
  let row = cluster * 4u + ((lane % 32u) / 16u) * 2u + lane % 2u;
  let part_m = (lane / 32u) * 16u;
  {
    var next_a00 = vec4u(0);
    var next_a01 = vec4u(0);
    var next_a02 = vec4u(0);
    next_a00 = load_a0(batch, first_m + lane / 6u, 0u + (lane % 6u) * 8u);
    next_a01 = load_a0(batch, first_m + (lane + 64u) / 6u, 0u + ((lane + 64u) % 6u) * 8u);
    next_a02 = load_a0(batch, first_m + (lane + 128u) / 6u, 0u + ((lane + 128u) % 6u) * 8u);
    slab0[(lane / 6u) * 7u + ((lane % 6u) * 8u) / 8u] = next_a00;
    slab0[((lane + 64u) / 6u) * 7u + (((lane + 64u) % 6u) * 8u) / 8u] = next_a01;
    slab0[((lane + 128u) / 6u) * 7u + (((lane + 128u) % 6u) * 8u) / 8u] = next_a02;
  }
  workgroupBarrier();
  let a0_0_0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab0, (part_m) * 7u + (0u) / 8u, 7u);
  let a0_0_1 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab0, (part_m) * 7u + (16u) / 8u, 7u);
  let a0_0_2 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab0, (part_m) * 7u + (32u) / 8u, 7u);
  workgroupBarrier();
  var r0_0_0 = subgroup_matrix_result<f32, 16, 16>();
  var r0_0_1 = subgroup_matrix_result<f32, 16, 16>();
  var r0_0_2 = subgroup_matrix_result<f32, 16, 16>();
  var peak0 = vec4f((-0x1.fffffep+127));
  var total0 = vec4f(0);
  var visit = 0u;
  var next_b00 = vec4u(0);
  var next_b01 = vec4u(0);
  var next_b02 = vec4u(0);
  var next_v00 = vec4u(0);
  var next_v01 = vec4u(0);
  var next_v02 = vec4u(0);
  let end_block = 32u;
  next_b00 = load_b0(batch, 0u + lane / 6u, 0u + (lane % 6u) * 8u);
  next_b01 = load_b0(batch, 0u + (lane + 64u) / 6u, 0u + ((lane + 64u) % 6u) * 8u);
  next_b02 = load_b0(batch, 0u + (lane + 128u) / 6u, 0u + ((lane + 128u) % 6u) * 8u);
  for (var block = 0u; block < end_block; block += 1u) {
    let first_j = block * 32u;
    {
      slab0[(lane / 6u) * 7u + ((lane % 6u) * 8u) / 8u] = next_b00;
      slab0[((lane + 64u) / 6u) * 7u + (((lane + 64u) % 6u) * 8u) / 8u] = next_b01;
      slab0[((lane + 128u) / 6u) * 7u + (((lane + 128u) % 6u) * 8u) / 8u] = next_b02;
    }
    workgroupBarrier();
    next_v00 = load_v0(batch, 0u + (lane % 6u) * 8u, first_j + lane / 6u);
    next_v01 = load_v0(batch, 0u + ((lane + 64u) % 6u) * 8u, first_j + (lane + 64u) / 6u);
    next_v02 = load_v0(batch, 0u + ((lane + 128u) % 6u) * 8u, first_j + (lane + 128u) / 6u);
    {
      var c0_0 = subgroup_matrix_result<f32, 16, 16>();
      var c0_1 = subgroup_matrix_result<f32, 16, 16>();
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (0u) * 7u + (0u) / 8u, 7u);
        c0_0 = subgroupMatrixMultiplyAccumulate(a0_0_0, b, c0_0);
      }
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (16u) * 7u + (0u) / 8u, 7u);
        c0_1 = subgroupMatrixMultiplyAccumulate(a0_0_0, b, c0_1);
      }
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (0u) * 7u + (16u) / 8u, 7u);
        c0_0 = subgroupMatrixMultiplyAccumulate(a0_0_1, b, c0_0);
      }
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (16u) * 7u + (16u) / 8u, 7u);
        c0_1 = subgroupMatrixMultiplyAccumulate(a0_0_1, b, c0_1);
      }
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (0u) * 7u + (32u) / 8u, 7u);
        c0_0 = subgroupMatrixMultiplyAccumulate(a0_0_2, b, c0_0);
      }
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (16u) * 7u + (32u) / 8u, 7u);
        c0_1 = subgroupMatrixMultiplyAccumulate(a0_0_2, b, c0_1);
      }
      subgroupMatrixStore<row_major>(&passage0, (part_m) * 9u, c0_0, 9u);
      subgroupMatrixStore<row_major>(&passage0, (part_m) * 9u + 4u, c0_1, 9u);
    }
    workgroupBarrier();
    var s0_0_0 = vec4f(0);
    var s0_1_0 = vec4f(0);
    var s0_2_0 = vec4f(0);
    var s0_3_0 = vec4f(0);
    s0_0_0 = passage0[(row * 4u) * 9u + column];
    s0_1_0 = passage0[(row * 4u + 1u) * 9u + column];
    s0_2_0 = passage0[(row * 4u + 2u) * 9u + column];
    s0_3_0 = passage0[(row * 4u + 3u) * 9u + column];
    s0_0_0 = weigh0(batch, first_m + row * 4u, first_j + column * 4u, s0_0_0);
    s0_1_0 = weigh0(batch, first_m + row * 4u + 1u, first_j + column * 4u, s0_1_0);
    s0_2_0 = weigh0(batch, first_m + row * 4u + 2u, first_j + column * 4u, s0_2_0);
    s0_3_0 = weigh0(batch, first_m + row * 4u + 3u, first_j + column * 4u, s0_3_0);
    var next0 = vec4f(max(max(max(s0_0_0.x, s0_0_0.y), s0_0_0.z), s0_0_0.w), max(max(max(s0_1_0.x, s0_1_0.y), s0_1_0.z), s0_1_0.w), max(max(max(s0_2_0.x, s0_2_0.y), s0_2_0.z), s0_2_0.w), max(max(max(s0_3_0.x, s0_3_0.y), s0_3_0.z), s0_3_0.w));
    next0 = max(next0, subgroupShuffleXor(next0, 2u));
    next0 = max(next0, subgroupShuffleXor(next0, 4u));
    next0 = max(next0, subgroupShuffleXor(next0, 8u));
    let grows = any(next0 > peak0 + 6.0);
    next0 = select(peak0, next0, next0 > peak0 + 6.0);
    let shrink0 = exp(peak0 - next0);
    peak0 = next0;
    s0_0_0 = exp(s0_0_0 - peak0.x);
    s0_1_0 = exp(s0_1_0 - peak0.y);
    s0_2_0 = exp(s0_2_0 - peak0.z);
    s0_3_0 = exp(s0_3_0 - peak0.w);
    total0 = total0 * shrink0 + vec4f(dot(s0_0_0, vec4f(1)), dot(s0_1_0, vec4f(1)), dot(s0_2_0, vec4f(1)), dot(s0_3_0, vec4f(1)));
    weights0[(row * 4u) * 10u + column] = vec4h(s0_0_0);
    weights0[(row * 4u + 1u) * 10u + column] = vec4h(s0_1_0);
    weights0[(row * 4u + 2u) * 10u + column] = vec4h(s0_2_0);
    weights0[(row * 4u + 3u) * 10u + column] = vec4h(s0_3_0);
    {
      slab0[(lane / 6u) * 7u + ((lane % 6u) * 8u) / 8u] = next_v00;
      slab0[((lane + 64u) / 6u) * 7u + (((lane + 64u) % 6u) * 8u) / 8u] = next_v01;
      slab0[((lane + 128u) / 6u) * 7u + (((lane + 128u) % 6u) * 8u) / 8u] = next_v02;
    }
    visit++;
    if (grows) { atomicStore(&grown0[0], visit); }
    if (column == 0u) {
      scales0[row * 4u] = shrink0.x;
      scales0[row * 4u + 1u] = shrink0.y;
      scales0[row * 4u + 2u] = shrink0.z;
      scales0[row * 4u + 3u] = shrink0.w;
    }
    let last_grown = workgroupUniformLoad(&grown0[0]);
    if (block + 1u < end_block) {
      next_b00 = load_b0(batch, (first_j + 32u) + lane / 6u, 0u + (lane % 6u) * 8u);
      next_b01 = load_b0(batch, (first_j + 32u) + (lane + 64u) / 6u, 0u + ((lane + 64u) % 6u) * 8u);
      next_b02 = load_b0(batch, (first_j + 32u) + (lane + 128u) / 6u, 0u + ((lane + 128u) % 6u) * 8u);
    }
    if (visit > 1u && last_grown == visit) {
      subgroupMatrixStore<row_major>(&passage0, (part_m) * 9u, r0_0_0, 9u);
      subgroupMatrixStore<row_major>(&passage0, (part_m) * 9u + 4u, r0_0_1, 9u);
      workgroupBarrier();
      for (var unit = lane % 32u; unit < 128u; unit += 32u) {
        let down = part_m + unit / 8u;
        passage0[down * 9u + unit % 8u] *= scales0[down];
      }
      workgroupBarrier();
      r0_0_0 = subgroupMatrixLoad<subgroup_matrix_result<f32, 16, 16>, row_major>(&passage0, (part_m) * 9u, 9u);
      r0_0_1 = subgroupMatrixLoad<subgroup_matrix_result<f32, 16, 16>, row_major>(&passage0, (part_m) * 9u + 4u, 9u);
      workgroupBarrier();
      subgroupMatrixStore<row_major>(&passage0, (part_m) * 9u, r0_0_2, 9u);
      workgroupBarrier();
      for (var unit = lane % 32u; unit < 64u; unit += 32u) {
        let down = part_m + unit / 4u;
        passage0[down * 9u + unit % 4u] *= scales0[down];
      }
      workgroupBarrier();
      r0_0_2 = subgroupMatrixLoad<subgroup_matrix_result<f32, 16, 16>, row_major>(&passage0, (part_m) * 9u, 9u);
      workgroupBarrier();
    }
    {
      {
        let w0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&weights0, (part_m) * 10u, 10u);
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (0u) * 7u + (0u) / 8u, 7u);
          r0_0_0 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_0);
        }
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (0u) * 7u + (16u) / 8u, 7u);
          r0_0_1 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_1);
        }
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (0u) * 7u + (32u) / 8u, 7u);
          r0_0_2 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_2);
        }
      }
      {
        let w0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&weights0, (part_m) * 10u + 4u, 10u);
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (16u) * 7u + (0u) / 8u, 7u);
          r0_0_0 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_0);
        }
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (16u) * 7u + (16u) / 8u, 7u);
          r0_0_1 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_1);
        }
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (16u) * 7u + (32u) / 8u, 7u);
          r0_0_2 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_2);
        }
      }
    }
    workgroupBarrier();
  }
  total0 = total0 + subgroupShuffleXor(total0, 2u);
  total0 = total0 + subgroupShuffleXor(total0, 4u);
  total0 = total0 + subgroupShuffleXor(total0, 8u);
  let divisor0 = select(total0, vec4f(1.0), total0 == vec4f(0.0));
  if (column == 0u) {
    scales0[row * 4u] = divisor0.x;
    scales0[row * 4u + 1u] = divisor0.y;
    scales0[row * 4u + 2u] = divisor0.z;
    scales0[row * 4u + 3u] = divisor0.w;
  }
  subgroupMatrixStore<row_major>(&passage0, (part_m) * 9u, r0_0_0, 9u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    let down = part_m + unit / 4u;
    let at = down * 9u + unit % 4u;
    store_c(batch, first_m + down, (unit % 4u) * 4u, passage0[at] / scales0[down]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&passage0, (part_m) * 9u, r0_0_1, 9u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    let down = part_m + unit / 4u;
    let at = down * 9u + unit % 4u;
    store_c(batch, first_m + down, (unit % 4u) * 4u + 16u, passage0[at] / scales0[down]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&passage0, (part_m) * 9u, r0_0_2, 9u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    let down = part_m + unit / 4u;
    let at = down * 9u + unit % 4u;
    store_c(batch, first_m + down, (unit % 4u) * 4u + 32u, passage0[at] / scales0[down]);
  }
  workgroupBarrier();
  if (column == 0u) {
    store_row(batch, first_m + row * 4u, select(peak0.x + log_f32(divisor0.x), (-inf_f32()), total0.x == 0.0));
    store_row(batch, first_m + row * 4u + 1u, select(peak0.y + log_f32(divisor0.y), (-inf_f32()), total0.y == 0.0));
    store_row(batch, first_m + row * 4u + 2u, select(peak0.z + log_f32(divisor0.z), (-inf_f32()), total0.z == 0.0));
    store_row(batch, first_m + row * 4u + 3u, select(peak0.w + log_f32(divisor0.w), (-inf_f32()), total0.w == 0.0));
  }
}
