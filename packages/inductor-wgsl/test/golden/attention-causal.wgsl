// workgroups: 128 × 1

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> bias: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> sums_: array<f32>;
var<workgroup> slab_a0: array<array<f32, 20>, 16>;
var<workgroup> slab_b0: array<array<f32, 68>, 16>;
var<workgroup> slab_v0: array<array<vec4f, 17>, 16>;
var<workgroup> weights0: array<array<vec4f, 5>, 64>;
var<workgroup> rows0: array<array<vec4f, 4>, 16>;

var<private> inf_bits: u32 = 0x7f800000u;

var<private> nan_bits: u32 = 0x7fc00000u;

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

fn load_a0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t0 = q[(65536u * batch + 64u * along + depth) >> 2u];
  return t0;
}

fn load_b0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t1 = k[(65536u * batch + 64u * along + depth) >> 2u];
  return t1;
}

fn load_v0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t2 = v[(65536u * batch + 64u * depth + along) >> 2u];
  return t2;
}

fn store_c(batch: u32, down: u32, along: u32, product0: vec4f) {
  out[(65536u * batch + 64u * down + along) >> 2u] = product0;
}

fn store_row(batch: u32, down: u32, sum: f32) {
  sums_[1024u * batch + down] = sum;
}

fn weigh0(batch: u32, down: u32, along: u32, score0: vec4f) -> vec4f {
  let t3 = bias[(1024u * down + along) >> 2u];
  let t4 = i32(down);
  let t5 = vec4i((along + vec4u(0u, 1u, 2u, 3u)));
  let t6 = select(vec4f((-inf_f32())), ((score0 * vec4f(0.25)) + t3), (t5 <= vec4i(t4)));
  return t6;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile % 2u;
  let first_m = (64u - 1u - tile / 2u) * 16u;
  let cluster = lane / 32u;
  let column = (cluster % 2u) * 8u + (lane % 16u) / 2u;
  let row = (cluster / 2u) * 4u + ((lane % 32u) / 16u) * 2u + lane % 2u;
  var r0_0_0 = vec4f(0);
  var r0_1_0 = vec4f(0);
  var r0_2_0 = vec4f(0);
  var r0_3_0 = vec4f(0);
  var peak0 = vec4f((-0x1.fffffep+127));
  var total0 = vec4f(0);
  let end_block = min((first_m + 79u) / 64u, 16u);
  for (var block = 0u; block < end_block; block += 1u) {
    let first_j = block * 64u;
    var s0_0_0 = vec4f(0);
    var s0_1_0 = vec4f(0);
    var s0_2_0 = vec4f(0);
    var s0_3_0 = vec4f(0);
    var next_a00 = vec4f(0);
    var next_b00 = vec4f(0);
    var next_b01 = vec4f(0);
    var next_b02 = vec4f(0);
    var next_b03 = vec4f(0);
    next_a00 = load_a0(batch, first_m + lane / 4u, (lane % 4u) * 4u);
    next_b00 = load_b0(batch, first_j + lane / 4u, (lane % 4u) * 4u);
    next_b01 = load_b0(batch, first_j + (lane + 64u) / 4u, ((lane + 64u) % 4u) * 4u);
    next_b02 = load_b0(batch, first_j + (lane + 128u) / 4u, ((lane + 128u) % 4u) * 4u);
    next_b03 = load_b0(batch, first_j + (lane + 192u) / 4u, ((lane + 192u) % 4u) * 4u);
    for (var step = 0u; step < 4u; step += 1u) {
      slab_a0[(lane % 4u) * 4u][lane / 4u] = next_a00.x;
      slab_a0[(lane % 4u) * 4u + 1u][lane / 4u] = next_a00.y;
      slab_a0[(lane % 4u) * 4u + 2u][lane / 4u] = next_a00.z;
      slab_a0[(lane % 4u) * 4u + 3u][lane / 4u] = next_a00.w;
      slab_b0[(lane % 4u) * 4u][lane / 4u] = next_b00.x;
      slab_b0[(lane % 4u) * 4u + 1u][lane / 4u] = next_b00.y;
      slab_b0[(lane % 4u) * 4u + 2u][lane / 4u] = next_b00.z;
      slab_b0[(lane % 4u) * 4u + 3u][lane / 4u] = next_b00.w;
      slab_b0[((lane + 64u) % 4u) * 4u][(lane + 64u) / 4u] = next_b01.x;
      slab_b0[((lane + 64u) % 4u) * 4u + 1u][(lane + 64u) / 4u] = next_b01.y;
      slab_b0[((lane + 64u) % 4u) * 4u + 2u][(lane + 64u) / 4u] = next_b01.z;
      slab_b0[((lane + 64u) % 4u) * 4u + 3u][(lane + 64u) / 4u] = next_b01.w;
      slab_b0[((lane + 128u) % 4u) * 4u][(lane + 128u) / 4u] = next_b02.x;
      slab_b0[((lane + 128u) % 4u) * 4u + 1u][(lane + 128u) / 4u] = next_b02.y;
      slab_b0[((lane + 128u) % 4u) * 4u + 2u][(lane + 128u) / 4u] = next_b02.z;
      slab_b0[((lane + 128u) % 4u) * 4u + 3u][(lane + 128u) / 4u] = next_b02.w;
      slab_b0[((lane + 192u) % 4u) * 4u][(lane + 192u) / 4u] = next_b03.x;
      slab_b0[((lane + 192u) % 4u) * 4u + 1u][(lane + 192u) / 4u] = next_b03.y;
      slab_b0[((lane + 192u) % 4u) * 4u + 2u][(lane + 192u) / 4u] = next_b03.z;
      slab_b0[((lane + 192u) % 4u) * 4u + 3u][(lane + 192u) / 4u] = next_b03.w;
      workgroupBarrier();
      if (step + 1u < 4u) {
        next_a00 = load_a0(batch, first_m + lane / 4u, (step + 1u) * 16u + (lane % 4u) * 4u);
        next_b00 = load_b0(batch, first_j + lane / 4u, (step + 1u) * 16u + (lane % 4u) * 4u);
        next_b01 = load_b0(batch, first_j + (lane + 64u) / 4u, (step + 1u) * 16u + ((lane + 64u) % 4u) * 4u);
        next_b02 = load_b0(batch, first_j + (lane + 128u) / 4u, (step + 1u) * 16u + ((lane + 128u) % 4u) * 4u);
        next_b03 = load_b0(batch, first_j + (lane + 192u) / 4u, (step + 1u) * 16u + ((lane + 192u) % 4u) * 4u);
      }
      {
        let a0 = vec4f(slab_a0[0u][row * 4u], slab_a0[0u][row * 4u + 1u], slab_a0[0u][row * 4u + 2u], slab_a0[0u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[0u][column * 4u], slab_b0[0u][column * 4u + 1u], slab_b0[0u][column * 4u + 2u], slab_b0[0u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[1u][row * 4u], slab_a0[1u][row * 4u + 1u], slab_a0[1u][row * 4u + 2u], slab_a0[1u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[1u][column * 4u], slab_b0[1u][column * 4u + 1u], slab_b0[1u][column * 4u + 2u], slab_b0[1u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[2u][row * 4u], slab_a0[2u][row * 4u + 1u], slab_a0[2u][row * 4u + 2u], slab_a0[2u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[2u][column * 4u], slab_b0[2u][column * 4u + 1u], slab_b0[2u][column * 4u + 2u], slab_b0[2u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[3u][row * 4u], slab_a0[3u][row * 4u + 1u], slab_a0[3u][row * 4u + 2u], slab_a0[3u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[3u][column * 4u], slab_b0[3u][column * 4u + 1u], slab_b0[3u][column * 4u + 2u], slab_b0[3u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[4u][row * 4u], slab_a0[4u][row * 4u + 1u], slab_a0[4u][row * 4u + 2u], slab_a0[4u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[4u][column * 4u], slab_b0[4u][column * 4u + 1u], slab_b0[4u][column * 4u + 2u], slab_b0[4u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[5u][row * 4u], slab_a0[5u][row * 4u + 1u], slab_a0[5u][row * 4u + 2u], slab_a0[5u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[5u][column * 4u], slab_b0[5u][column * 4u + 1u], slab_b0[5u][column * 4u + 2u], slab_b0[5u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[6u][row * 4u], slab_a0[6u][row * 4u + 1u], slab_a0[6u][row * 4u + 2u], slab_a0[6u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[6u][column * 4u], slab_b0[6u][column * 4u + 1u], slab_b0[6u][column * 4u + 2u], slab_b0[6u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[7u][row * 4u], slab_a0[7u][row * 4u + 1u], slab_a0[7u][row * 4u + 2u], slab_a0[7u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[7u][column * 4u], slab_b0[7u][column * 4u + 1u], slab_b0[7u][column * 4u + 2u], slab_b0[7u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[8u][row * 4u], slab_a0[8u][row * 4u + 1u], slab_a0[8u][row * 4u + 2u], slab_a0[8u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[8u][column * 4u], slab_b0[8u][column * 4u + 1u], slab_b0[8u][column * 4u + 2u], slab_b0[8u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[9u][row * 4u], slab_a0[9u][row * 4u + 1u], slab_a0[9u][row * 4u + 2u], slab_a0[9u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[9u][column * 4u], slab_b0[9u][column * 4u + 1u], slab_b0[9u][column * 4u + 2u], slab_b0[9u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[10u][row * 4u], slab_a0[10u][row * 4u + 1u], slab_a0[10u][row * 4u + 2u], slab_a0[10u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[10u][column * 4u], slab_b0[10u][column * 4u + 1u], slab_b0[10u][column * 4u + 2u], slab_b0[10u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[11u][row * 4u], slab_a0[11u][row * 4u + 1u], slab_a0[11u][row * 4u + 2u], slab_a0[11u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[11u][column * 4u], slab_b0[11u][column * 4u + 1u], slab_b0[11u][column * 4u + 2u], slab_b0[11u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[12u][row * 4u], slab_a0[12u][row * 4u + 1u], slab_a0[12u][row * 4u + 2u], slab_a0[12u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[12u][column * 4u], slab_b0[12u][column * 4u + 1u], slab_b0[12u][column * 4u + 2u], slab_b0[12u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[13u][row * 4u], slab_a0[13u][row * 4u + 1u], slab_a0[13u][row * 4u + 2u], slab_a0[13u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[13u][column * 4u], slab_b0[13u][column * 4u + 1u], slab_b0[13u][column * 4u + 2u], slab_b0[13u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[14u][row * 4u], slab_a0[14u][row * 4u + 1u], slab_a0[14u][row * 4u + 2u], slab_a0[14u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[14u][column * 4u], slab_b0[14u][column * 4u + 1u], slab_b0[14u][column * 4u + 2u], slab_b0[14u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      {
        let a0 = vec4f(slab_a0[15u][row * 4u], slab_a0[15u][row * 4u + 1u], slab_a0[15u][row * 4u + 2u], slab_a0[15u][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[15u][column * 4u], slab_b0[15u][column * 4u + 1u], slab_b0[15u][column * 4u + 2u], slab_b0[15u][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      workgroupBarrier();
    }
    s0_0_0 = weigh0(batch, first_m + row * 4u, first_j + column * 4u, s0_0_0);
    s0_1_0 = weigh0(batch, first_m + row * 4u + 1u, first_j + column * 4u, s0_1_0);
    s0_2_0 = weigh0(batch, first_m + row * 4u + 2u, first_j + column * 4u, s0_2_0);
    s0_3_0 = weigh0(batch, first_m + row * 4u + 3u, first_j + column * 4u, s0_3_0);
    var next0 = vec4f(max(max(max(s0_0_0.x, s0_0_0.y), s0_0_0.z), s0_0_0.w), max(max(max(s0_1_0.x, s0_1_0.y), s0_1_0.z), s0_1_0.w), max(max(max(s0_2_0.x, s0_2_0.y), s0_2_0.z), s0_2_0.w), max(max(max(s0_3_0.x, s0_3_0.y), s0_3_0.z), s0_3_0.w));
    rows0[column][row] = next0;
    workgroupBarrier();
    next0 = rows0[0u][row];
    for (var other = 1u; other < 16u; other += 1u) {
      next0 = max(next0, rows0[other][row]);
    }
    next0 = max(next0, peak0);
    let shrink0 = exp(peak0 - next0);
    peak0 = next0;
    s0_0_0 = exp(s0_0_0 - peak0.x);
    s0_1_0 = exp(s0_1_0 - peak0.y);
    s0_2_0 = exp(s0_2_0 - peak0.z);
    s0_3_0 = exp(s0_3_0 - peak0.w);
    total0 = total0 * shrink0 + vec4f(dot(s0_0_0, vec4f(1)), dot(s0_1_0, vec4f(1)), dot(s0_2_0, vec4f(1)), dot(s0_3_0, vec4f(1)));
    r0_0_0 = r0_0_0 * shrink0.x;
    r0_1_0 = r0_1_0 * shrink0.y;
    r0_2_0 = r0_2_0 * shrink0.z;
    r0_3_0 = r0_3_0 * shrink0.w;
    weights0[column * 4u][row] = vec4f(s0_0_0.x, s0_1_0.x, s0_2_0.x, s0_3_0.x);
    weights0[column * 4u + 1u][row] = vec4f(s0_0_0.y, s0_1_0.y, s0_2_0.y, s0_3_0.y);
    weights0[column * 4u + 2u][row] = vec4f(s0_0_0.z, s0_1_0.z, s0_2_0.z, s0_3_0.z);
    weights0[column * 4u + 3u][row] = vec4f(s0_0_0.w, s0_1_0.w, s0_2_0.w, s0_3_0.w);
    var next_v00 = vec4f(0);
    var next_v01 = vec4f(0);
    var next_v02 = vec4f(0);
    var next_v03 = vec4f(0);
    next_v00 = load_v0(batch, (lane % 16u) * 4u, first_j + lane / 16u);
    next_v01 = load_v0(batch, ((lane + 64u) % 16u) * 4u, first_j + (lane + 64u) / 16u);
    next_v02 = load_v0(batch, ((lane + 128u) % 16u) * 4u, first_j + (lane + 128u) / 16u);
    next_v03 = load_v0(batch, ((lane + 192u) % 16u) * 4u, first_j + (lane + 192u) / 16u);
    for (var step = 0u; step < 4u; step += 1u) {
      slab_v0[lane / 16u][lane % 16u] = next_v00;
      slab_v0[(lane + 64u) / 16u][(lane + 64u) % 16u] = next_v01;
      slab_v0[(lane + 128u) / 16u][(lane + 128u) % 16u] = next_v02;
      slab_v0[(lane + 192u) / 16u][(lane + 192u) % 16u] = next_v03;
      workgroupBarrier();
      if (step + 1u < 4u) {
        next_v00 = load_v0(batch, (lane % 16u) * 4u, first_j + (step + 1u) * 16u + lane / 16u);
        next_v01 = load_v0(batch, ((lane + 64u) % 16u) * 4u, first_j + (step + 1u) * 16u + (lane + 64u) / 16u);
        next_v02 = load_v0(batch, ((lane + 128u) % 16u) * 4u, first_j + (step + 1u) * 16u + (lane + 128u) / 16u);
        next_v03 = load_v0(batch, ((lane + 192u) % 16u) * 4u, first_j + (step + 1u) * 16u + (lane + 192u) / 16u);
      }
      let first_k = step * 16u;
      {
        let a0 = weights0[first_k][row];
        let b0 = slab_v0[0u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 1u][row];
        let b0 = slab_v0[1u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 2u][row];
        let b0 = slab_v0[2u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 3u][row];
        let b0 = slab_v0[3u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 4u][row];
        let b0 = slab_v0[4u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 5u][row];
        let b0 = slab_v0[5u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 6u][row];
        let b0 = slab_v0[6u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 7u][row];
        let b0 = slab_v0[7u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 8u][row];
        let b0 = slab_v0[8u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 9u][row];
        let b0 = slab_v0[9u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 10u][row];
        let b0 = slab_v0[10u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 11u][row];
        let b0 = slab_v0[11u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 12u][row];
        let b0 = slab_v0[12u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 13u][row];
        let b0 = slab_v0[13u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 14u][row];
        let b0 = slab_v0[14u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      {
        let a0 = weights0[first_k + 15u][row];
        let b0 = slab_v0[15u][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      workgroupBarrier();
    }
  }
  rows0[column][row] = total0;
  workgroupBarrier();
  total0 = rows0[0u][row];
  for (var other = 1u; other < 16u; other += 1u) {
    total0 = total0 + rows0[other][row];
  }
  let divisor0 = select(total0, vec4f(1.0), total0 == vec4f(0.0));
  r0_0_0 = r0_0_0 / divisor0.x;
  r0_1_0 = r0_1_0 / divisor0.y;
  r0_2_0 = r0_2_0 / divisor0.z;
  r0_3_0 = r0_3_0 / divisor0.w;
  store_c(batch, first_m + row * 4u, column * 4u, r0_0_0);
  store_c(batch, first_m + row * 4u + 1u, column * 4u, r0_1_0);
  store_c(batch, first_m + row * 4u + 2u, column * 4u, r0_2_0);
  store_c(batch, first_m + row * 4u + 3u, column * 4u, r0_3_0);
  if (column == 0u) {
    store_row(batch, first_m + row * 4u, select(peak0.x + log_f32(divisor0.x), (-inf_f32()), total0.x == 0.0));
    store_row(batch, first_m + row * 4u + 1u, select(peak0.y + log_f32(divisor0.y), (-inf_f32()), total0.y == 0.0));
    store_row(batch, first_m + row * 4u + 2u, select(peak0.z + log_f32(divisor0.z), (-inf_f32()), total0.z == 0.0));
    store_row(batch, first_m + row * 4u + 3u, select(peak0.w + log_f32(divisor0.w), (-inf_f32()), total0.w == 0.0));
  }
}
