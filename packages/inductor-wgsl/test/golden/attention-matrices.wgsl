// workgroups: 64 × 1

enable f16;

enable subgroups;

enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);

@group(0) @binding(0) var<storage, read> q: array<vec4h>;
@group(0) @binding(1) var<storage, read> k: array<vec4h>;
@group(0) @binding(2) var<storage, read> v: array<vec4h>;
@group(0) @binding(3) var<storage, read> bias: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4h>;
@group(0) @binding(5) var<storage, read_write> sums: array<f32>;
var<workgroup> slab0: array<f16, 1920>;
var<workgroup> passage0: array<f32, 1152>;
var<workgroup> scales0: array<f32, 32>;
var<workgroup> weights0: array<f16, 1280>;
var<workgroup> rows0: array<array<vec4f, 8>, 8>;
var<workgroup> grown0: atomic<u32>;

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

fn inf_vec4f() -> vec4f {
  return vec4f(bitcast<f32>(inf_bits));
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

fn inf_f32() -> f32 {
  return f32(bitcast<f32>(inf_bits));
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

fn load_a0(batch: u32, along: u32, depth: u32) -> vec4h {
  return select(vec4h(0), q[(40000u * batch + 40u * along + depth) >> 2u], depth < 40u);
}

fn load_b0(batch: u32, along: u32, depth: u32) -> vec4h {
  return select(vec4h(0), k[(40000u * batch + 40u * along + depth) >> 2u], depth < 40u);
}

fn load_v0(batch: u32, along: u32, depth: u32) -> vec4h {
  return select(vec4h(0), v[(40000u * batch + 40u * depth + along) >> 2u], depth < 1000u);
}

fn store_c(batch: u32, down: u32, along: u32, product0: vec4f) {
  if (down >= 1000u || along >= 40u) { return; }
  out[(40000u * batch + 40u * down + along) >> 2u] = vec4h(round_f16_vec4f(product0));
}

fn store_row(batch: u32, down: u32, sum: f32) {
  if (down >= 1000u) { return; }
  sums[1000u * batch + down] = sum;
}

fn weigh0(batch: u32, down: u32, along: u32, score0: vec4f) -> vec4f {
  let t0 = bias[(1000u * down + along) >> 2u];
  return select(-inf_vec4f(), ((score0 * vec4f(0.25)) + t0), (vec4u(along) + vec4u(0u, 1u, 2u, 3u)) < vec4u(1000u));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile % 2u;
  let first_m = (tile / 2u) * 32u;
  let cluster = lane / 32u;
  let column = (cluster % 1u) * 8u + lane % 16u / 2u;
  let row = (cluster / 1u) * 4u + lane % 32u / 16u * 2u + lane % 2u;
  let part_m = (lane / 32u) * 16u;
  {
    var next_a00 = vec4h(0);
    var next_a01 = vec4h(0);
    var next_a02 = vec4h(0);
    var next_a03 = vec4h(0);
    var next_a04 = vec4h(0);
    var next_a05 = vec4h(0);
    next_a00 = load_a0(batch, first_m + lane / 12u, 0u + (lane % 12u) * 4u);
    next_a01 = load_a0(batch, first_m + (lane + 64u) / 12u, 0u + ((lane + 64u) % 12u) * 4u);
    next_a02 = load_a0(batch, first_m + (lane + 128u) / 12u, 0u + ((lane + 128u) % 12u) * 4u);
    next_a03 = load_a0(batch, first_m + (lane + 192u) / 12u, 0u + ((lane + 192u) % 12u) * 4u);
    next_a04 = load_a0(batch, first_m + (lane + 256u) / 12u, 0u + ((lane + 256u) % 12u) * 4u);
    next_a05 = load_a0(batch, first_m + (lane + 320u) / 12u, 0u + ((lane + 320u) % 12u) * 4u);
    let at_a00 = (lane / 12u) * 56u + (lane % 12u) * 4u;
    slab0[at_a00] = next_a00[0];
    slab0[at_a00 + 1u] = next_a00[1];
    slab0[at_a00 + 2u] = next_a00[2];
    slab0[at_a00 + 3u] = next_a00[3];
    let at_a01 = ((lane + 64u) / 12u) * 56u + ((lane + 64u) % 12u) * 4u;
    slab0[at_a01] = next_a01[0];
    slab0[at_a01 + 1u] = next_a01[1];
    slab0[at_a01 + 2u] = next_a01[2];
    slab0[at_a01 + 3u] = next_a01[3];
    let at_a02 = ((lane + 128u) / 12u) * 56u + ((lane + 128u) % 12u) * 4u;
    slab0[at_a02] = next_a02[0];
    slab0[at_a02 + 1u] = next_a02[1];
    slab0[at_a02 + 2u] = next_a02[2];
    slab0[at_a02 + 3u] = next_a02[3];
    let at_a03 = ((lane + 192u) / 12u) * 56u + ((lane + 192u) % 12u) * 4u;
    slab0[at_a03] = next_a03[0];
    slab0[at_a03 + 1u] = next_a03[1];
    slab0[at_a03 + 2u] = next_a03[2];
    slab0[at_a03 + 3u] = next_a03[3];
    let at_a04 = ((lane + 256u) / 12u) * 56u + ((lane + 256u) % 12u) * 4u;
    slab0[at_a04] = next_a04[0];
    slab0[at_a04 + 1u] = next_a04[1];
    slab0[at_a04 + 2u] = next_a04[2];
    slab0[at_a04 + 3u] = next_a04[3];
    let at_a05 = ((lane + 320u) / 12u) * 56u + ((lane + 320u) % 12u) * 4u;
    slab0[at_a05] = next_a05[0];
    slab0[at_a05 + 1u] = next_a05[1];
    slab0[at_a05 + 2u] = next_a05[2];
    slab0[at_a05 + 3u] = next_a05[3];
  }
  workgroupBarrier();
  let a0_0_0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab0, (part_m) * 56u + 0u, 56u);
  let a0_0_1 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab0, (part_m) * 56u + 16u, 56u);
  let a0_0_2 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&slab0, (part_m) * 56u + 32u, 56u);
  workgroupBarrier();
  var r0_0_0 = subgroup_matrix_result<f32, 16, 16>();
  var r0_0_1 = subgroup_matrix_result<f32, 16, 16>();
  var r0_0_2 = subgroup_matrix_result<f32, 16, 16>();
  var peak0 = vec4f(-3.4028234e38);
  var total0 = vec4f(0);
  var visit = 0u;
  var next_b00 = vec4h(0);
  var next_b01 = vec4h(0);
  var next_b02 = vec4h(0);
  var next_b03 = vec4h(0);
  var next_b04 = vec4h(0);
  var next_b05 = vec4h(0);
  var next_v00 = vec4h(0);
  var next_v01 = vec4h(0);
  var next_v02 = vec4h(0);
  var next_v03 = vec4h(0);
  var next_v04 = vec4h(0);
  var next_v05 = vec4h(0);
  let end_block = 32u;
  next_b00 = load_b0(batch, 0u + lane / 12u, 0u + (lane % 12u) * 4u);
  next_b01 = load_b0(batch, 0u + (lane + 64u) / 12u, 0u + ((lane + 64u) % 12u) * 4u);
  next_b02 = load_b0(batch, 0u + (lane + 128u) / 12u, 0u + ((lane + 128u) % 12u) * 4u);
  next_b03 = load_b0(batch, 0u + (lane + 192u) / 12u, 0u + ((lane + 192u) % 12u) * 4u);
  next_b04 = load_b0(batch, 0u + (lane + 256u) / 12u, 0u + ((lane + 256u) % 12u) * 4u);
  next_b05 = load_b0(batch, 0u + (lane + 320u) / 12u, 0u + ((lane + 320u) % 12u) * 4u);
  for (var block = 0u; block < end_block; block++) {
    let first_j = block * 32u;
    {
      let at_b00 = (lane / 12u) * 56u + (lane % 12u) * 4u;
      slab0[at_b00] = next_b00[0];
      slab0[at_b00 + 1u] = next_b00[1];
      slab0[at_b00 + 2u] = next_b00[2];
      slab0[at_b00 + 3u] = next_b00[3];
      let at_b01 = ((lane + 64u) / 12u) * 56u + ((lane + 64u) % 12u) * 4u;
      slab0[at_b01] = next_b01[0];
      slab0[at_b01 + 1u] = next_b01[1];
      slab0[at_b01 + 2u] = next_b01[2];
      slab0[at_b01 + 3u] = next_b01[3];
      let at_b02 = ((lane + 128u) / 12u) * 56u + ((lane + 128u) % 12u) * 4u;
      slab0[at_b02] = next_b02[0];
      slab0[at_b02 + 1u] = next_b02[1];
      slab0[at_b02 + 2u] = next_b02[2];
      slab0[at_b02 + 3u] = next_b02[3];
      let at_b03 = ((lane + 192u) / 12u) * 56u + ((lane + 192u) % 12u) * 4u;
      slab0[at_b03] = next_b03[0];
      slab0[at_b03 + 1u] = next_b03[1];
      slab0[at_b03 + 2u] = next_b03[2];
      slab0[at_b03 + 3u] = next_b03[3];
      let at_b04 = ((lane + 256u) / 12u) * 56u + ((lane + 256u) % 12u) * 4u;
      slab0[at_b04] = next_b04[0];
      slab0[at_b04 + 1u] = next_b04[1];
      slab0[at_b04 + 2u] = next_b04[2];
      slab0[at_b04 + 3u] = next_b04[3];
      let at_b05 = ((lane + 320u) / 12u) * 56u + ((lane + 320u) % 12u) * 4u;
      slab0[at_b05] = next_b05[0];
      slab0[at_b05 + 1u] = next_b05[1];
      slab0[at_b05 + 2u] = next_b05[2];
      slab0[at_b05 + 3u] = next_b05[3];
    }
    workgroupBarrier();
    next_v00 = load_v0(batch, 0u + (lane % 12u) * 4u, first_j + lane / 12u);
    next_v01 = load_v0(batch, 0u + ((lane + 64u) % 12u) * 4u, first_j + (lane + 64u) / 12u);
    next_v02 = load_v0(batch, 0u + ((lane + 128u) % 12u) * 4u, first_j + (lane + 128u) / 12u);
    next_v03 = load_v0(batch, 0u + ((lane + 192u) % 12u) * 4u, first_j + (lane + 192u) / 12u);
    next_v04 = load_v0(batch, 0u + ((lane + 256u) % 12u) * 4u, first_j + (lane + 256u) / 12u);
    next_v05 = load_v0(batch, 0u + ((lane + 320u) % 12u) * 4u, first_j + (lane + 320u) / 12u);
    {
      var c0_0 = subgroup_matrix_result<f32, 16, 16>();
      var c0_1 = subgroup_matrix_result<f32, 16, 16>();
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (0u) * 56u + 0u, 56u);
        c0_0 = subgroupMatrixMultiplyAccumulate(a0_0_0, b, c0_0);
      }
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (16u) * 56u + 0u, 56u);
        c0_1 = subgroupMatrixMultiplyAccumulate(a0_0_0, b, c0_1);
      }
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (0u) * 56u + 16u, 56u);
        c0_0 = subgroupMatrixMultiplyAccumulate(a0_0_1, b, c0_0);
      }
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (16u) * 56u + 16u, 56u);
        c0_1 = subgroupMatrixMultiplyAccumulate(a0_0_1, b, c0_1);
      }
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (0u) * 56u + 32u, 56u);
        c0_0 = subgroupMatrixMultiplyAccumulate(a0_0_2, b, c0_0);
      }
      {
        let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&slab0, (16u) * 56u + 32u, 56u);
        c0_1 = subgroupMatrixMultiplyAccumulate(a0_0_2, b, c0_1);
      }
      subgroupMatrixStore<row_major>(&passage0, (part_m) * 36u, c0_0, 36u);
      subgroupMatrixStore<row_major>(&passage0, (part_m) * 36u + 16u, c0_1, 36u);
    }
    workgroupBarrier();
    let from_0_0 = (row * 4u) * 36u + column * 4u;
    var s0_0_0 = vec4f(passage0[from_0_0], passage0[from_0_0 + 1u], passage0[from_0_0 + 2u], passage0[from_0_0 + 3u]);
    let from_0_1 = (row * 4u + 1u) * 36u + column * 4u;
    var s0_1_0 = vec4f(passage0[from_0_1], passage0[from_0_1 + 1u], passage0[from_0_1 + 2u], passage0[from_0_1 + 3u]);
    let from_0_2 = (row * 4u + 2u) * 36u + column * 4u;
    var s0_2_0 = vec4f(passage0[from_0_2], passage0[from_0_2 + 1u], passage0[from_0_2 + 2u], passage0[from_0_2 + 3u]);
    let from_0_3 = (row * 4u + 3u) * 36u + column * 4u;
    var s0_3_0 = vec4f(passage0[from_0_3], passage0[from_0_3 + 1u], passage0[from_0_3 + 2u], passage0[from_0_3 + 3u]);
    {
      let weight0 = weigh0(batch, first_m + row * 4u, first_j + column * 4u, s0_0_0);
      s0_0_0 = weight0;
    }
    {
      let weight0 = weigh0(batch, first_m + row * 4u + 1u, first_j + column * 4u, s0_1_0);
      s0_1_0 = weight0;
    }
    {
      let weight0 = weigh0(batch, first_m + row * 4u + 2u, first_j + column * 4u, s0_2_0);
      s0_2_0 = weight0;
    }
    {
      let weight0 = weigh0(batch, first_m + row * 4u + 3u, first_j + column * 4u, s0_3_0);
      s0_3_0 = weight0;
    }
    var next0 = vec4f(max(max(max(s0_0_0.x, s0_0_0.y), s0_0_0.z), s0_0_0.w), max(max(max(s0_1_0.x, s0_1_0.y), s0_1_0.z), s0_1_0.w), max(max(max(s0_2_0.x, s0_2_0.y), s0_2_0.z), s0_2_0.w), max(max(max(s0_3_0.x, s0_3_0.y), s0_3_0.z), s0_3_0.w));
    rows0[column][row] = next0;
    workgroupBarrier();
    next0 = rows0[0][row];
    for (var other = 1u; other < 8u; other++) {
      next0 = max(next0, rows0[other][row]);
    }
    let grows0 = next0 > peak0 + vec4f(6);
    next0 = select(peak0, next0, grows0);
    let shrink0 = exp(peak0 - next0);
    peak0 = next0;
    s0_0_0 = exp(s0_0_0 - peak0.x);
    s0_1_0 = exp(s0_1_0 - peak0.y);
    s0_2_0 = exp(s0_2_0 - peak0.z);
    s0_3_0 = exp(s0_3_0 - peak0.w);
    total0 = total0 * shrink0 + vec4f(dot(s0_0_0, vec4f(1)), dot(s0_1_0, vec4f(1)), dot(s0_2_0, vec4f(1)), dot(s0_3_0, vec4f(1)));
    weights0[(row * 4u) * 40u + column * 4u] = f16(s0_0_0.x);
    weights0[(row * 4u) * 40u + column * 4u + 1u] = f16(s0_0_0.y);
    weights0[(row * 4u) * 40u + column * 4u + 2u] = f16(s0_0_0.z);
    weights0[(row * 4u) * 40u + column * 4u + 3u] = f16(s0_0_0.w);
    weights0[(row * 4u + 1u) * 40u + column * 4u] = f16(s0_1_0.x);
    weights0[(row * 4u + 1u) * 40u + column * 4u + 1u] = f16(s0_1_0.y);
    weights0[(row * 4u + 1u) * 40u + column * 4u + 2u] = f16(s0_1_0.z);
    weights0[(row * 4u + 1u) * 40u + column * 4u + 3u] = f16(s0_1_0.w);
    weights0[(row * 4u + 2u) * 40u + column * 4u] = f16(s0_2_0.x);
    weights0[(row * 4u + 2u) * 40u + column * 4u + 1u] = f16(s0_2_0.y);
    weights0[(row * 4u + 2u) * 40u + column * 4u + 2u] = f16(s0_2_0.z);
    weights0[(row * 4u + 2u) * 40u + column * 4u + 3u] = f16(s0_2_0.w);
    weights0[(row * 4u + 3u) * 40u + column * 4u] = f16(s0_3_0.x);
    weights0[(row * 4u + 3u) * 40u + column * 4u + 1u] = f16(s0_3_0.y);
    weights0[(row * 4u + 3u) * 40u + column * 4u + 2u] = f16(s0_3_0.z);
    weights0[(row * 4u + 3u) * 40u + column * 4u + 3u] = f16(s0_3_0.w);
    {
      let at_v00 = (lane / 12u) * 56u + (lane % 12u) * 4u;
      slab0[at_v00] = next_v00[0];
      slab0[at_v00 + 1u] = next_v00[1];
      slab0[at_v00 + 2u] = next_v00[2];
      slab0[at_v00 + 3u] = next_v00[3];
      let at_v01 = ((lane + 64u) / 12u) * 56u + ((lane + 64u) % 12u) * 4u;
      slab0[at_v01] = next_v01[0];
      slab0[at_v01 + 1u] = next_v01[1];
      slab0[at_v01 + 2u] = next_v01[2];
      slab0[at_v01 + 3u] = next_v01[3];
      let at_v02 = ((lane + 128u) / 12u) * 56u + ((lane + 128u) % 12u) * 4u;
      slab0[at_v02] = next_v02[0];
      slab0[at_v02 + 1u] = next_v02[1];
      slab0[at_v02 + 2u] = next_v02[2];
      slab0[at_v02 + 3u] = next_v02[3];
      let at_v03 = ((lane + 192u) / 12u) * 56u + ((lane + 192u) % 12u) * 4u;
      slab0[at_v03] = next_v03[0];
      slab0[at_v03 + 1u] = next_v03[1];
      slab0[at_v03 + 2u] = next_v03[2];
      slab0[at_v03 + 3u] = next_v03[3];
      let at_v04 = ((lane + 256u) / 12u) * 56u + ((lane + 256u) % 12u) * 4u;
      slab0[at_v04] = next_v04[0];
      slab0[at_v04 + 1u] = next_v04[1];
      slab0[at_v04 + 2u] = next_v04[2];
      slab0[at_v04 + 3u] = next_v04[3];
      let at_v05 = ((lane + 320u) / 12u) * 56u + ((lane + 320u) % 12u) * 4u;
      slab0[at_v05] = next_v05[0];
      slab0[at_v05 + 1u] = next_v05[1];
      slab0[at_v05 + 2u] = next_v05[2];
      slab0[at_v05 + 3u] = next_v05[3];
    }
    visit++;
    if (any(grows0)) { atomicStore(&grown0, visit); }
    if (column == 0u) {
      scales0[row * 4u] = shrink0.x;
      scales0[row * 4u + 1u] = shrink0.y;
      scales0[row * 4u + 2u] = shrink0.z;
      scales0[row * 4u + 3u] = shrink0.w;
    }
    let last_grown = workgroupUniformLoad(&grown0);
    if (block + 1u < end_block) {
      next_b00 = load_b0(batch, (first_j + 32u) + lane / 12u, 0u + (lane % 12u) * 4u);
      next_b01 = load_b0(batch, (first_j + 32u) + (lane + 64u) / 12u, 0u + ((lane + 64u) % 12u) * 4u);
      next_b02 = load_b0(batch, (first_j + 32u) + (lane + 128u) / 12u, 0u + ((lane + 128u) % 12u) * 4u);
      next_b03 = load_b0(batch, (first_j + 32u) + (lane + 192u) / 12u, 0u + ((lane + 192u) % 12u) * 4u);
      next_b04 = load_b0(batch, (first_j + 32u) + (lane + 256u) / 12u, 0u + ((lane + 256u) % 12u) * 4u);
      next_b05 = load_b0(batch, (first_j + 32u) + (lane + 320u) / 12u, 0u + ((lane + 320u) % 12u) * 4u);
    }
    if (visit > 1u && last_grown == visit) {
      subgroupMatrixStore<row_major>(&passage0, (part_m) * 36u, r0_0_0, 36u);
      subgroupMatrixStore<row_major>(&passage0, (part_m) * 36u + 16u, r0_0_1, 36u);
      workgroupBarrier();
      for (var unit = lane % 32u; unit < 512u; unit += 32u) {
        let down = part_m + unit / 32u;
        passage0[down * 36u + unit % 32u] *= scales0[down];
      }
      workgroupBarrier();
      r0_0_0 = subgroupMatrixLoad<subgroup_matrix_result<f32, 16, 16>, row_major>(&passage0, (part_m) * 36u, 36u);
      r0_0_1 = subgroupMatrixLoad<subgroup_matrix_result<f32, 16, 16>, row_major>(&passage0, (part_m) * 36u + 16u, 36u);
      workgroupBarrier();
      subgroupMatrixStore<row_major>(&passage0, (part_m) * 36u, r0_0_2, 36u);
      workgroupBarrier();
      for (var unit = lane % 32u; unit < 256u; unit += 32u) {
        let down = part_m + unit / 16u;
        passage0[down * 36u + unit % 16u] *= scales0[down];
      }
      workgroupBarrier();
      r0_0_2 = subgroupMatrixLoad<subgroup_matrix_result<f32, 16, 16>, row_major>(&passage0, (part_m) * 36u, 36u);
      workgroupBarrier();
    }
    {
      {
        let w0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&weights0, (part_m) * 40u, 40u);
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (0u) * 56u + 0u, 56u);
          r0_0_0 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_0);
        }
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (0u) * 56u + 16u, 56u);
          r0_0_1 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_1);
        }
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (0u) * 56u + 32u, 56u);
          r0_0_2 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_2);
        }
      }
      {
        let w0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&weights0, (part_m) * 40u + 16u, 40u);
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (16u) * 56u + 0u, 56u);
          r0_0_0 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_0);
        }
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (16u) * 56u + 16u, 56u);
          r0_0_1 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_1);
        }
        {
          let b = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&slab0, (16u) * 56u + 32u, 56u);
          r0_0_2 = subgroupMatrixMultiplyAccumulate(w0, b, r0_0_2);
        }
      }
    }
    workgroupBarrier();
  }
  rows0[column][row] = total0;
  workgroupBarrier();
  total0 = rows0[0][row];
  for (var other = 1u; other < 8u; other++) {
    total0 = total0 + rows0[other][row];
  }
  let divisor0 = select(total0, vec4f(1), total0 == vec4f(0));
  if (column == 0u) {
    scales0[row * 4u] = divisor0.x;
    scales0[row * 4u + 1u] = divisor0.y;
    scales0[row * 4u + 2u] = divisor0.z;
    scales0[row * 4u + 3u] = divisor0.w;
  }
  subgroupMatrixStore<row_major>(&passage0, (part_m) * 36u, r0_0_0, 36u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    let down = part_m + unit / 4u;
    let at = down * 36u + (unit % 4u) * 4u;
    store_c(batch, first_m + down, (unit % 4u) * 4u, vec4f(passage0[at], passage0[at + 1u], passage0[at + 2u], passage0[at + 3u]) / scales0[down]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&passage0, (part_m) * 36u, r0_0_1, 36u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    let down = part_m + unit / 4u;
    let at = down * 36u + (unit % 4u) * 4u;
    store_c(batch, first_m + down, (unit % 4u) * 4u + 16u, vec4f(passage0[at], passage0[at + 1u], passage0[at + 2u], passage0[at + 3u]) / scales0[down]);
  }
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&passage0, (part_m) * 36u, r0_0_2, 36u);
  workgroupBarrier();
  for (var unit = lane % 32u; unit < 64u; unit += 32u) {
    let down = part_m + unit / 4u;
    let at = down * 36u + (unit % 4u) * 4u;
    store_c(batch, first_m + down, (unit % 4u) * 4u + 32u, vec4f(passage0[at], passage0[at + 1u], passage0[at + 2u], passage0[at + 3u]) / scales0[down]);
  }
  workgroupBarrier();
  if (column == 0u) {
    store_row(batch, first_m + row * 4u, select(peak0.x + log_f32(divisor0.x), -inf_f32(), total0.x == 0));
    store_row(batch, first_m + row * 4u + 1u, select(peak0.y + log_f32(divisor0.y), -inf_f32(), total0.y == 0));
    store_row(batch, first_m + row * 4u + 2u, select(peak0.z + log_f32(divisor0.z), -inf_f32(), total0.z == 0));
    store_row(batch, first_m + row * 4u + 3u, select(peak0.w + log_f32(divisor0.w), -inf_f32(), total0.w == 0));
  }
}
