// workgroups: 256 × 1

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read> bias: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4f>;
var<workgroup> slab_a0: array<array<vec4f, 19>, 16>;
var<workgroup> slab_b0: array<array<vec4f, 19>, 16>;

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
}

fn max_vec4f(a: vec4f, b: vec4f) -> vec4f {
  return select(select(max(a, b), b, is_nan_vec4f(b)), a, is_nan_vec4f(a));
}

fn load_a(batch: u32, along: u32, depth: u32) -> vec4f {
  let t0 = a[(1024u * along + depth) >> 2u];
  return t0;
}

fn load_b(batch: u32, along: u32, depth: u32) -> vec4f {
  let t1 = b[(1024u * along + depth) >> 2u];
  return t1;
}

fn store_c(batch: u32, down: u32, along: u32, product: vec4f) {
  let t2 = bias[along >> 2u];
  out[(1024u * down + along) >> 2u] = max_vec4f((product + t2), vec4f(0.0));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile / 256u;
  let first_m = ((tile / 16u) % 16u) * 64u;
  let first_n = (tile % 16u) * 64u;
  let cluster = lane / 32u;
  let column = (lane % 16u) / 2u;
  let row = cluster * 4u + ((lane % 32u) / 16u) * 2u + lane % 2u;
  var c0_0 = vec4f(0);
  var c0_1 = vec4f(0);
  var c1_0 = vec4f(0);
  var c1_1 = vec4f(0);
  var c2_0 = vec4f(0);
  var c2_1 = vec4f(0);
  var c3_0 = vec4f(0);
  var c3_1 = vec4f(0);
  var c4_0 = vec4f(0);
  var c4_1 = vec4f(0);
  var c5_0 = vec4f(0);
  var c5_1 = vec4f(0);
  var c6_0 = vec4f(0);
  var c6_1 = vec4f(0);
  var c7_0 = vec4f(0);
  var c7_1 = vec4f(0);
  var next_a0 = vec4f(0);
  var next_a1 = vec4f(0);
  var next_a2 = vec4f(0);
  var next_a3 = vec4f(0);
  var next_b0 = vec4f(0);
  var next_b1 = vec4f(0);
  var next_b2 = vec4f(0);
  var next_b3 = vec4f(0);
  next_a0 = load_a(batch, first_m + (lane / 4u) * 4u, (lane % 4u) * 4u);
  next_a1 = load_a(batch, first_m + (lane / 4u) * 4u + 1u, (lane % 4u) * 4u);
  next_a2 = load_a(batch, first_m + (lane / 4u) * 4u + 2u, (lane % 4u) * 4u);
  next_a3 = load_a(batch, first_m + (lane / 4u) * 4u + 3u, (lane % 4u) * 4u);
  next_b0 = load_b(batch, first_n + (lane / 4u) * 4u, (lane % 4u) * 4u);
  next_b1 = load_b(batch, first_n + (lane / 4u) * 4u + 1u, (lane % 4u) * 4u);
  next_b2 = load_b(batch, first_n + (lane / 4u) * 4u + 2u, (lane % 4u) * 4u);
  next_b3 = load_b(batch, first_n + (lane / 4u) * 4u + 3u, (lane % 4u) * 4u);
  for (var step = 0u; step < 64u; step += 1u) {
    slab_a0[(lane % 4u) * 4u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 2u] = vec4f(next_a0.x, next_a1.x, next_a2.x, next_a3.x);
    slab_a0[(lane % 4u) * 4u + 1u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 2u] = vec4f(next_a0.y, next_a1.y, next_a2.y, next_a3.y);
    slab_a0[(lane % 4u) * 4u + 2u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 2u] = vec4f(next_a0.z, next_a1.z, next_a2.z, next_a3.z);
    slab_a0[(lane % 4u) * 4u + 3u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 2u] = vec4f(next_a0.w, next_a1.w, next_a2.w, next_a3.w);
    slab_b0[(lane % 4u) * 4u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 2u] = vec4f(next_b0.x, next_b1.x, next_b2.x, next_b3.x);
    slab_b0[(lane % 4u) * 4u + 1u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 2u] = vec4f(next_b0.y, next_b1.y, next_b2.y, next_b3.y);
    slab_b0[(lane % 4u) * 4u + 2u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 2u] = vec4f(next_b0.z, next_b1.z, next_b2.z, next_b3.z);
    slab_b0[(lane % 4u) * 4u + 3u][lane / 4u + (((lane % 4u) * 4u) / 8u) * 2u] = vec4f(next_b0.w, next_b1.w, next_b2.w, next_b3.w);
    workgroupBarrier();
    if (step + 1u < 64u) {
      next_a0 = load_a(batch, first_m + (lane / 4u) * 4u, (step + 1u) * 16u + (lane % 4u) * 4u);
      next_a1 = load_a(batch, first_m + (lane / 4u) * 4u + 1u, (step + 1u) * 16u + (lane % 4u) * 4u);
      next_a2 = load_a(batch, first_m + (lane / 4u) * 4u + 2u, (step + 1u) * 16u + (lane % 4u) * 4u);
      next_a3 = load_a(batch, first_m + (lane / 4u) * 4u + 3u, (step + 1u) * 16u + (lane % 4u) * 4u);
      next_b0 = load_b(batch, first_n + (lane / 4u) * 4u, (step + 1u) * 16u + (lane % 4u) * 4u);
      next_b1 = load_b(batch, first_n + (lane / 4u) * 4u + 1u, (step + 1u) * 16u + (lane % 4u) * 4u);
      next_b2 = load_b(batch, first_n + (lane / 4u) * 4u + 2u, (step + 1u) * 16u + (lane % 4u) * 4u);
      next_b3 = load_b(batch, first_n + (lane / 4u) * 4u + 3u, (step + 1u) * 16u + (lane % 4u) * 4u);
    }
    {
      let a0 = slab_a0[0u][row];
      let a1 = slab_a0[0u][row + 8u];
      let b0 = slab_b0[0u][column];
      let b1 = slab_b0[0u][column + 8u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[1u][row];
      let a1 = slab_a0[1u][row + 8u];
      let b0 = slab_b0[1u][column];
      let b1 = slab_b0[1u][column + 8u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[2u][row];
      let a1 = slab_a0[2u][row + 8u];
      let b0 = slab_b0[2u][column];
      let b1 = slab_b0[2u][column + 8u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[3u][row];
      let a1 = slab_a0[3u][row + 8u];
      let b0 = slab_b0[3u][column];
      let b1 = slab_b0[3u][column + 8u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[4u][row];
      let a1 = slab_a0[4u][row + 8u];
      let b0 = slab_b0[4u][column];
      let b1 = slab_b0[4u][column + 8u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[5u][row];
      let a1 = slab_a0[5u][row + 8u];
      let b0 = slab_b0[5u][column];
      let b1 = slab_b0[5u][column + 8u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[6u][row];
      let a1 = slab_a0[6u][row + 8u];
      let b0 = slab_b0[6u][column];
      let b1 = slab_b0[6u][column + 8u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[7u][row];
      let a1 = slab_a0[7u][row + 8u];
      let b0 = slab_b0[7u][column];
      let b1 = slab_b0[7u][column + 8u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[8u][row + 2u];
      let a1 = slab_a0[8u][row + 8u + 2u];
      let b0 = slab_b0[8u][column + 2u];
      let b1 = slab_b0[8u][column + 8u + 2u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[9u][row + 2u];
      let a1 = slab_a0[9u][row + 8u + 2u];
      let b0 = slab_b0[9u][column + 2u];
      let b1 = slab_b0[9u][column + 8u + 2u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[10u][row + 2u];
      let a1 = slab_a0[10u][row + 8u + 2u];
      let b0 = slab_b0[10u][column + 2u];
      let b1 = slab_b0[10u][column + 8u + 2u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[11u][row + 2u];
      let a1 = slab_a0[11u][row + 8u + 2u];
      let b0 = slab_b0[11u][column + 2u];
      let b1 = slab_b0[11u][column + 8u + 2u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[12u][row + 2u];
      let a1 = slab_a0[12u][row + 8u + 2u];
      let b0 = slab_b0[12u][column + 2u];
      let b1 = slab_b0[12u][column + 8u + 2u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[13u][row + 2u];
      let a1 = slab_a0[13u][row + 8u + 2u];
      let b0 = slab_b0[13u][column + 2u];
      let b1 = slab_b0[13u][column + 8u + 2u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[14u][row + 2u];
      let a1 = slab_a0[14u][row + 8u + 2u];
      let b0 = slab_b0[14u][column + 2u];
      let b1 = slab_b0[14u][column + 8u + 2u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
    }
    {
      let a0 = slab_a0[15u][row + 2u];
      let a1 = slab_a0[15u][row + 8u + 2u];
      let b0 = slab_b0[15u][column + 2u];
      let b1 = slab_b0[15u][column + 8u + 2u];
      c0_0 += a0.x * b0;
      c0_1 += a0.x * b1;
      c1_0 += a0.y * b0;
      c1_1 += a0.y * b1;
      c2_0 += a0.z * b0;
      c2_1 += a0.z * b1;
      c3_0 += a0.w * b0;
      c3_1 += a0.w * b1;
      c4_0 += a1.x * b0;
      c4_1 += a1.x * b1;
      c5_0 += a1.y * b0;
      c5_1 += a1.y * b1;
      c6_0 += a1.z * b0;
      c6_1 += a1.z * b1;
      c7_0 += a1.w * b0;
      c7_1 += a1.w * b1;
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
  store_c(batch, first_m + row * 4u + 32u, first_n + column * 4u, c4_0);
  store_c(batch, first_m + row * 4u + 32u, first_n + column * 4u + 32u, c4_1);
  store_c(batch, first_m + row * 4u + 33u, first_n + column * 4u, c5_0);
  store_c(batch, first_m + row * 4u + 33u, first_n + column * 4u + 32u, c5_1);
  store_c(batch, first_m + row * 4u + 34u, first_n + column * 4u, c6_0);
  store_c(batch, first_m + row * 4u + 34u, first_n + column * 4u + 32u, c6_1);
  store_c(batch, first_m + row * 4u + 35u, first_n + column * 4u, c7_0);
  store_c(batch, first_m + row * 4u + 35u, first_n + column * 4u + 32u, c7_1);
}
