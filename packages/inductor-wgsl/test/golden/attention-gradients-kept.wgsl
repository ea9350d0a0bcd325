// workgroups: 14 × 1

@group(0) @binding(0) var<storage, read> k: array<vec4f>;
@group(0) @binding(1) var<storage, read> q: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> g: array<vec4f>;
@group(0) @binding(4) var<storage, read> sums_: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> dv_: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> dk_: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> kept_: array<vec4f>;
var<workgroup> slab_a0: array<array<f32, 20>, 8>;
var<workgroup> slab_b0: array<array<f32, 36>, 8>;
var<workgroup> slab_v0: array<array<vec4f, 9>, 8>;
var<workgroup> weights0: array<array<vec4f, 5>, 32>;

fn is_nan_vec4f(x: vec4f) -> vec4<bool> {
  return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u);
}

fn min_vec4f(a: vec4f, b: vec4f) -> vec4f {
  return select(select(min(a, b), b, is_nan_vec4f(b)), a, is_nan_vec4f(a));
}

fn load_a0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t0 = k[(3200u * batch + 32u * along + depth) >> 2u];
  return t0;
}

fn load_b0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t1 = q[(3200u * batch + 32u * along + depth) >> 2u];
  return t1;
}

fn load_a1(batch: u32, along: u32, depth: u32) -> vec4f {
  let t2 = v[(3200u * batch + 32u * along + depth) >> 2u];
  return t2;
}

fn load_b1(batch: u32, along: u32, depth: u32) -> vec4f {
  let t3 = g[(3200u * batch + 32u * along + depth) >> 2u];
  return t3;
}

fn load_v0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t4 = g[(3200u * batch + 32u * depth + along) >> 2u];
  return select(vec4f(0), t4, depth < 100u);
}

fn load_v1(batch: u32, along: u32, depth: u32) -> vec4f {
  let t5 = q[(3200u * batch + 32u * depth + along) >> 2u];
  return select(vec4f(0), t5, depth < 100u);
}

fn store_c(batch: u32, down: u32, along: u32, product0: vec4f, product1: vec4f) {
  if (down >= 100u) { return; }
  dv_[(3200u * batch + 32u * down + along) >> 2u] = product0;
  dk_[(3200u * batch + 32u * down + along) >> 2u] = product1;
}

fn weigh0(batch: u32, down: u32, along: u32, score0: vec4f, score1: vec4f) -> vec4f {
  let t6 = sums_[(100u * batch + along) >> 2u];
  let t7 = i32(down);
  let t8 = vec4i((along + vec4u(0u, 1u, 2u, 3u)));
  let t9 = select(vec4f(0.0), exp(min_vec4f((score0 - t6), vec4f(1.0))), (t8 >= vec4i(t7)));
  return select(vec4f(0), t9, (along + vec4u(0u, 1u, 2u, 3u)) < vec4u(100u));
}

fn weigh1(batch: u32, down: u32, along: u32, score0: vec4f, score1: vec4f) -> vec4f {
  let t10 = sums_[(100u * batch + along) >> 2u];
  let t11 = i32(down);
  let t12 = vec4i((along + vec4u(0u, 1u, 2u, 3u)));
  let t13 = select(vec4f(0.0), exp(min_vec4f((score0 - t10), vec4f(1.0))), (t12 >= vec4i(t11)));
  return select(vec4f(0), (t13 * score1), (along + vec4u(0u, 1u, 2u, 3u)) < vec4u(100u));
}

fn store_weights(batch: u32, down: u32, along: u32, weight0: vec4f, weight1: vec4f) {
  if (down >= 100u || along >= 100u) { return; }
  kept_[(10000u * batch + 100u * down + along) >> 2u] = weight1;
}

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile % 2u;
  let first_m = (tile / 2u) * 16u;
  let cluster = lane / 32u;
  let column = (lane % 16u) / 2u;
  let row = cluster * 4u + ((lane % 32u) / 16u) * 2u + lane % 2u;
  var r0_0_0 = vec4f(0);
  var r0_1_0 = vec4f(0);
  var r0_2_0 = vec4f(0);
  var r0_3_0 = vec4f(0);
  var r1_0_0 = vec4f(0);
  var r1_1_0 = vec4f(0);
  var r1_2_0 = vec4f(0);
  var r1_3_0 = vec4f(0);
  let end_block = 4u;
  for (var block = first_m / 32u; block < end_block; block += 1u) {
    let first_j = block * 32u;
    var s0_0_0 = vec4f(0);
    var s0_1_0 = vec4f(0);
    var s0_2_0 = vec4f(0);
    var s0_3_0 = vec4f(0);
    var next_a00 = vec4f(0);
    var next_b00 = vec4f(0);
    var next_b01 = vec4f(0);
    next_a00 = load_a0(batch, first_m + lane / 2u, (lane % 2u) * 4u);
    next_b00 = load_b0(batch, first_j + lane / 2u, (lane % 2u) * 4u);
    next_b01 = load_b0(batch, first_j + (lane + 32u) / 2u, ((lane + 32u) % 2u) * 4u);
    for (var step = 0u; step < 4u; step += 1u) {
      slab_a0[(lane % 2u) * 4u][lane / 2u] = next_a00.x;
      slab_a0[(lane % 2u) * 4u + 1u][lane / 2u] = next_a00.y;
      slab_a0[(lane % 2u) * 4u + 2u][lane / 2u] = next_a00.z;
      slab_a0[(lane % 2u) * 4u + 3u][lane / 2u] = next_a00.w;
      slab_b0[(lane % 2u) * 4u][lane / 2u] = next_b00.x;
      slab_b0[(lane % 2u) * 4u + 1u][lane / 2u] = next_b00.y;
      slab_b0[(lane % 2u) * 4u + 2u][lane / 2u] = next_b00.z;
      slab_b0[(lane % 2u) * 4u + 3u][lane / 2u] = next_b00.w;
      slab_b0[((lane + 32u) % 2u) * 4u][(lane + 32u) / 2u] = next_b01.x;
      slab_b0[((lane + 32u) % 2u) * 4u + 1u][(lane + 32u) / 2u] = next_b01.y;
      slab_b0[((lane + 32u) % 2u) * 4u + 2u][(lane + 32u) / 2u] = next_b01.z;
      slab_b0[((lane + 32u) % 2u) * 4u + 3u][(lane + 32u) / 2u] = next_b01.w;
      workgroupBarrier();
      if (step + 1u < 4u) {
        next_a00 = load_a0(batch, first_m + lane / 2u, (step + 1u) * 8u + (lane % 2u) * 4u);
        next_b00 = load_b0(batch, first_j + lane / 2u, (step + 1u) * 8u + (lane % 2u) * 4u);
        next_b01 = load_b0(batch, first_j + (lane + 32u) / 2u, (step + 1u) * 8u + ((lane + 32u) % 2u) * 4u);
      }
      for (var kk = 0u; kk < 8u; kk += 1u) {
        let a0 = vec4f(slab_a0[kk][row * 4u], slab_a0[kk][row * 4u + 1u], slab_a0[kk][row * 4u + 2u], slab_a0[kk][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[kk][column * 4u], slab_b0[kk][column * 4u + 1u], slab_b0[kk][column * 4u + 2u], slab_b0[kk][column * 4u + 3u]);
        s0_0_0 += a0.x * b0;
        s0_1_0 += a0.y * b0;
        s0_2_0 += a0.z * b0;
        s0_3_0 += a0.w * b0;
      }
      workgroupBarrier();
    }
    var s1_0_0 = vec4f(0);
    var s1_1_0 = vec4f(0);
    var s1_2_0 = vec4f(0);
    var s1_3_0 = vec4f(0);
    var next_a10 = vec4f(0);
    var next_b10 = vec4f(0);
    var next_b11 = vec4f(0);
    next_a10 = load_a1(batch, first_m + lane / 2u, (lane % 2u) * 4u);
    next_b10 = load_b1(batch, first_j + lane / 2u, (lane % 2u) * 4u);
    next_b11 = load_b1(batch, first_j + (lane + 32u) / 2u, ((lane + 32u) % 2u) * 4u);
    for (var step = 0u; step < 4u; step += 1u) {
      slab_a0[(lane % 2u) * 4u][lane / 2u] = next_a10.x;
      slab_a0[(lane % 2u) * 4u + 1u][lane / 2u] = next_a10.y;
      slab_a0[(lane % 2u) * 4u + 2u][lane / 2u] = next_a10.z;
      slab_a0[(lane % 2u) * 4u + 3u][lane / 2u] = next_a10.w;
      slab_b0[(lane % 2u) * 4u][lane / 2u] = next_b10.x;
      slab_b0[(lane % 2u) * 4u + 1u][lane / 2u] = next_b10.y;
      slab_b0[(lane % 2u) * 4u + 2u][lane / 2u] = next_b10.z;
      slab_b0[(lane % 2u) * 4u + 3u][lane / 2u] = next_b10.w;
      slab_b0[((lane + 32u) % 2u) * 4u][(lane + 32u) / 2u] = next_b11.x;
      slab_b0[((lane + 32u) % 2u) * 4u + 1u][(lane + 32u) / 2u] = next_b11.y;
      slab_b0[((lane + 32u) % 2u) * 4u + 2u][(lane + 32u) / 2u] = next_b11.z;
      slab_b0[((lane + 32u) % 2u) * 4u + 3u][(lane + 32u) / 2u] = next_b11.w;
      workgroupBarrier();
      if (step + 1u < 4u) {
        next_a10 = load_a1(batch, first_m + lane / 2u, (step + 1u) * 8u + (lane % 2u) * 4u);
        next_b10 = load_b1(batch, first_j + lane / 2u, (step + 1u) * 8u + (lane % 2u) * 4u);
        next_b11 = load_b1(batch, first_j + (lane + 32u) / 2u, (step + 1u) * 8u + ((lane + 32u) % 2u) * 4u);
      }
      for (var kk = 0u; kk < 8u; kk += 1u) {
        let a0 = vec4f(slab_a0[kk][row * 4u], slab_a0[kk][row * 4u + 1u], slab_a0[kk][row * 4u + 2u], slab_a0[kk][row * 4u + 3u]);
        let b0 = vec4f(slab_b0[kk][column * 4u], slab_b0[kk][column * 4u + 1u], slab_b0[kk][column * 4u + 2u], slab_b0[kk][column * 4u + 3u]);
        s1_0_0 += a0.x * b0;
        s1_1_0 += a0.y * b0;
        s1_2_0 += a0.z * b0;
        s1_3_0 += a0.w * b0;
      }
      workgroupBarrier();
    }
    let weight0_0_0 = weigh0(batch, first_m + row * 4u, first_j + column * 4u, s0_0_0, s1_0_0);
    let weight1_0_0 = weigh1(batch, first_m + row * 4u, first_j + column * 4u, s0_0_0, s1_0_0);
    s0_0_0 = weight0_0_0;
    s1_0_0 = weight1_0_0;
    let weight0_1_0 = weigh0(batch, first_m + row * 4u + 1u, first_j + column * 4u, s0_1_0, s1_1_0);
    let weight1_1_0 = weigh1(batch, first_m + row * 4u + 1u, first_j + column * 4u, s0_1_0, s1_1_0);
    s0_1_0 = weight0_1_0;
    s1_1_0 = weight1_1_0;
    let weight0_2_0 = weigh0(batch, first_m + row * 4u + 2u, first_j + column * 4u, s0_2_0, s1_2_0);
    let weight1_2_0 = weigh1(batch, first_m + row * 4u + 2u, first_j + column * 4u, s0_2_0, s1_2_0);
    s0_2_0 = weight0_2_0;
    s1_2_0 = weight1_2_0;
    let weight0_3_0 = weigh0(batch, first_m + row * 4u + 3u, first_j + column * 4u, s0_3_0, s1_3_0);
    let weight1_3_0 = weigh1(batch, first_m + row * 4u + 3u, first_j + column * 4u, s0_3_0, s1_3_0);
    s0_3_0 = weight0_3_0;
    s1_3_0 = weight1_3_0;
    store_weights(batch, first_j + column * 4u, first_m + row * 4u, vec4f(s0_0_0.x, s0_1_0.x, s0_2_0.x, s0_3_0.x), vec4f(s1_0_0.x, s1_1_0.x, s1_2_0.x, s1_3_0.x));
    store_weights(batch, first_j + column * 4u + 1u, first_m + row * 4u, vec4f(s0_0_0.y, s0_1_0.y, s0_2_0.y, s0_3_0.y), vec4f(s1_0_0.y, s1_1_0.y, s1_2_0.y, s1_3_0.y));
    store_weights(batch, first_j + column * 4u + 2u, first_m + row * 4u, vec4f(s0_0_0.z, s0_1_0.z, s0_2_0.z, s0_3_0.z), vec4f(s1_0_0.z, s1_1_0.z, s1_2_0.z, s1_3_0.z));
    store_weights(batch, first_j + column * 4u + 3u, first_m + row * 4u, vec4f(s0_0_0.w, s0_1_0.w, s0_2_0.w, s0_3_0.w), vec4f(s1_0_0.w, s1_1_0.w, s1_2_0.w, s1_3_0.w));
    weights0[column * 4u][row] = vec4f(s0_0_0.x, s0_1_0.x, s0_2_0.x, s0_3_0.x);
    weights0[column * 4u + 1u][row] = vec4f(s0_0_0.y, s0_1_0.y, s0_2_0.y, s0_3_0.y);
    weights0[column * 4u + 2u][row] = vec4f(s0_0_0.z, s0_1_0.z, s0_2_0.z, s0_3_0.z);
    weights0[column * 4u + 3u][row] = vec4f(s0_0_0.w, s0_1_0.w, s0_2_0.w, s0_3_0.w);
    var next_v00 = vec4f(0);
    var next_v01 = vec4f(0);
    next_v00 = load_v0(batch, (lane % 8u) * 4u, first_j + lane / 8u);
    next_v01 = load_v0(batch, ((lane + 32u) % 8u) * 4u, first_j + (lane + 32u) / 8u);
    for (var step = 0u; step < 4u; step += 1u) {
      slab_v0[lane / 8u][lane % 8u] = next_v00;
      slab_v0[(lane + 32u) / 8u][(lane + 32u) % 8u] = next_v01;
      workgroupBarrier();
      if (step + 1u < 4u) {
        next_v00 = load_v0(batch, (lane % 8u) * 4u, first_j + (step + 1u) * 8u + lane / 8u);
        next_v01 = load_v0(batch, ((lane + 32u) % 8u) * 4u, first_j + (step + 1u) * 8u + (lane + 32u) / 8u);
      }
      let first_k = step * 8u;
      for (var kk = 0u; kk < 8u; kk += 1u) {
        let a0 = weights0[first_k + kk][row];
        let b0 = slab_v0[kk][column];
        r0_0_0 += a0.x * b0;
        r0_1_0 += a0.y * b0;
        r0_2_0 += a0.z * b0;
        r0_3_0 += a0.w * b0;
      }
      workgroupBarrier();
    }
    workgroupBarrier();
    weights0[column * 4u][row] = vec4f(s1_0_0.x, s1_1_0.x, s1_2_0.x, s1_3_0.x);
    weights0[column * 4u + 1u][row] = vec4f(s1_0_0.y, s1_1_0.y, s1_2_0.y, s1_3_0.y);
    weights0[column * 4u + 2u][row] = vec4f(s1_0_0.z, s1_1_0.z, s1_2_0.z, s1_3_0.z);
    weights0[column * 4u + 3u][row] = vec4f(s1_0_0.w, s1_1_0.w, s1_2_0.w, s1_3_0.w);
    var next_v10 = vec4f(0);
    var next_v11 = vec4f(0);
    next_v10 = load_v1(batch, (lane % 8u) * 4u, first_j + lane / 8u);
    next_v11 = load_v1(batch, ((lane + 32u) % 8u) * 4u, first_j + (lane + 32u) / 8u);
    for (var step = 0u; step < 4u; step += 1u) {
      slab_v0[lane / 8u][lane % 8u] = next_v10;
      slab_v0[(lane + 32u) / 8u][(lane + 32u) % 8u] = next_v11;
      workgroupBarrier();
      if (step + 1u < 4u) {
        next_v10 = load_v1(batch, (lane % 8u) * 4u, first_j + (step + 1u) * 8u + lane / 8u);
        next_v11 = load_v1(batch, ((lane + 32u) % 8u) * 4u, first_j + (step + 1u) * 8u + (lane + 32u) / 8u);
      }
      let first_k = step * 8u;
      for (var kk = 0u; kk < 8u; kk += 1u) {
        let a0 = weights0[first_k + kk][row];
        let b0 = slab_v0[kk][column];
        r1_0_0 += a0.x * b0;
        r1_1_0 += a0.y * b0;
        r1_2_0 += a0.z * b0;
        r1_3_0 += a0.w * b0;
      }
      workgroupBarrier();
    }
  }
  store_c(batch, first_m + row * 4u, column * 4u, r0_0_0, r1_0_0);
  store_c(batch, first_m + row * 4u + 1u, column * 4u, r0_1_0, r1_1_0);
  store_c(batch, first_m + row * 4u + 2u, column * 4u, r0_2_0, r1_2_0);
  store_c(batch, first_m + row * 4u + 3u, column * 4u, r0_3_0, r1_3_0);
}
