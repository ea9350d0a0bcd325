// workgroups: 32 × 1

enable f16;

enable subgroups;

@group(0) @binding(0) var<storage, read> q: array<vec4h>;
@group(0) @binding(1) var<storage, read> k: array<vec4h>;
@group(0) @binding(2) var<storage, read> v: array<vec4h>;
@group(0) @binding(3) var<storage, read> bias: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4h>;
@group(0) @binding(5) var<storage, read_write> sums_: array<f32>;
var<workgroup> weights0: array<f32, 256>;
var<workgroup> peak0: array<f32, 2>;
var<workgroup> total0: array<f32, 2>;
var<workgroup> sums0: array<vec4f, 34>;

var<private> nan_bits: u32 = 0x7fc00000u;

var<private> inf_bits: u32 = 0x7f800000u;

fn round_f16_vec4f(x: vec4f) -> vec4f {
  let bits = bitcast<vec4u>(x);
  let magnitude = bits & vec4u(0x7fffffffu);
  var kept = (magnitude + vec4u(0xfffu) + ((magnitude >> vec4u(13u)) & vec4u(1u))) & vec4u(0xffffe000u);
  kept = select(kept, vec4u(0x7f800000u), kept >= vec4u(0x47800000u));
  kept = select(kept, bitcast<vec4u>(round(abs(x) * vec4f(16777216.0)) * vec4f(5.9604644775390625e-8)), magnitude < vec4u(0x38800000u));
  kept = select(kept, magnitude, magnitude > vec4u(0x7f800000u));
  return bitcast<vec4f>(kept | (bits & vec4u(0x80000000u)));
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

fn load_a0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t0 = vec4f(q[(64u * batch + 64u * 0u + depth) >> 2u]);
  return t0;
}

fn load_b0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t1 = vec4f(k[(16384u * batch + 64u * along + depth) >> 2u]);
  return t1;
}

fn load_v0(batch: u32, along: u32, depth: u32) -> vec4f {
  let t2 = vec4f(v[(16384u * batch + 64u * depth + along) >> 2u]);
  return t2;
}

fn store_c(batch: u32, down: u32, along: u32, product0: vec4f) {
  out[(64u * batch + 64u * 0u + along) >> 2u] = vec4h(round_f16_vec4f(product0));
}

fn store_row(batch: u32, down: u32, sum: f32) {
  sums_[batch + 0u] = sum;
}

fn weigh0(batch: u32, down: u32, along: u32, score0: vec4f) -> vec4f {
  let t3 = bias[(256u * 0u + along) >> 2u];
  return ((score0 * vec4f(0.25)) + t3);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = group.x;
  let batch = tile % 32u;
  let first_m = tile / 32u;
  let neighbour = lane % 8u;
  let query0 = load_a0(batch, first_m, neighbour * 4u);
  let query1 = load_a0(batch, first_m, neighbour * 4u + 32u);
  let key0 = lane / 8u * 4u;
  let key1 = lane / 8u * 4u + 1u;
  let key2 = lane / 8u * 4u + 2u;
  let key3 = lane / 8u * 4u + 3u;
  let key4 = lane / 8u * 4u + 32u;
  let key5 = lane / 8u * 4u + 33u;
  let key6 = lane / 8u * 4u + 34u;
  let key7 = lane / 8u * 4u + 35u;
  let key8 = lane / 8u * 4u + 64u;
  let key9 = lane / 8u * 4u + 65u;
  let key10 = lane / 8u * 4u + 66u;
  let key11 = lane / 8u * 4u + 67u;
  let key12 = lane / 8u * 4u + 96u;
  let key13 = lane / 8u * 4u + 97u;
  let key14 = lane / 8u * 4u + 98u;
  let key15 = lane / 8u * 4u + 99u;
  let key16 = lane / 8u * 4u + 128u;
  let key17 = lane / 8u * 4u + 129u;
  let key18 = lane / 8u * 4u + 130u;
  let key19 = lane / 8u * 4u + 131u;
  let key20 = lane / 8u * 4u + 160u;
  let key21 = lane / 8u * 4u + 161u;
  let key22 = lane / 8u * 4u + 162u;
  let key23 = lane / 8u * 4u + 163u;
  let key24 = lane / 8u * 4u + 192u;
  let key25 = lane / 8u * 4u + 193u;
  let key26 = lane / 8u * 4u + 194u;
  let key27 = lane / 8u * 4u + 195u;
  let key28 = lane / 8u * 4u + 224u;
  let key29 = lane / 8u * 4u + 225u;
  let key30 = lane / 8u * 4u + 226u;
  let key31 = lane / 8u * 4u + 227u;
  let vector0_0 = load_b0(batch, key0, neighbour * 4u);
  let vector0_1 = load_b0(batch, key0, neighbour * 4u + 32u);
  let vector1_0 = load_b0(batch, key1, neighbour * 4u);
  let vector1_1 = load_b0(batch, key1, neighbour * 4u + 32u);
  let vector2_0 = load_b0(batch, key2, neighbour * 4u);
  let vector2_1 = load_b0(batch, key2, neighbour * 4u + 32u);
  let vector3_0 = load_b0(batch, key3, neighbour * 4u);
  let vector3_1 = load_b0(batch, key3, neighbour * 4u + 32u);
  let vector4_0 = load_b0(batch, key4, neighbour * 4u);
  let vector4_1 = load_b0(batch, key4, neighbour * 4u + 32u);
  let vector5_0 = load_b0(batch, key5, neighbour * 4u);
  let vector5_1 = load_b0(batch, key5, neighbour * 4u + 32u);
  let vector6_0 = load_b0(batch, key6, neighbour * 4u);
  let vector6_1 = load_b0(batch, key6, neighbour * 4u + 32u);
  let vector7_0 = load_b0(batch, key7, neighbour * 4u);
  let vector7_1 = load_b0(batch, key7, neighbour * 4u + 32u);
  let vector8_0 = load_b0(batch, key8, neighbour * 4u);
  let vector8_1 = load_b0(batch, key8, neighbour * 4u + 32u);
  let vector9_0 = load_b0(batch, key9, neighbour * 4u);
  let vector9_1 = load_b0(batch, key9, neighbour * 4u + 32u);
  let vector10_0 = load_b0(batch, key10, neighbour * 4u);
  let vector10_1 = load_b0(batch, key10, neighbour * 4u + 32u);
  let vector11_0 = load_b0(batch, key11, neighbour * 4u);
  let vector11_1 = load_b0(batch, key11, neighbour * 4u + 32u);
  let vector12_0 = load_b0(batch, key12, neighbour * 4u);
  let vector12_1 = load_b0(batch, key12, neighbour * 4u + 32u);
  let vector13_0 = load_b0(batch, key13, neighbour * 4u);
  let vector13_1 = load_b0(batch, key13, neighbour * 4u + 32u);
  let vector14_0 = load_b0(batch, key14, neighbour * 4u);
  let vector14_1 = load_b0(batch, key14, neighbour * 4u + 32u);
  let vector15_0 = load_b0(batch, key15, neighbour * 4u);
  let vector15_1 = load_b0(batch, key15, neighbour * 4u + 32u);
  let vector16_0 = load_b0(batch, key16, neighbour * 4u);
  let vector16_1 = load_b0(batch, key16, neighbour * 4u + 32u);
  let vector17_0 = load_b0(batch, key17, neighbour * 4u);
  let vector17_1 = load_b0(batch, key17, neighbour * 4u + 32u);
  let vector18_0 = load_b0(batch, key18, neighbour * 4u);
  let vector18_1 = load_b0(batch, key18, neighbour * 4u + 32u);
  let vector19_0 = load_b0(batch, key19, neighbour * 4u);
  let vector19_1 = load_b0(batch, key19, neighbour * 4u + 32u);
  let vector20_0 = load_b0(batch, key20, neighbour * 4u);
  let vector20_1 = load_b0(batch, key20, neighbour * 4u + 32u);
  let vector21_0 = load_b0(batch, key21, neighbour * 4u);
  let vector21_1 = load_b0(batch, key21, neighbour * 4u + 32u);
  let vector22_0 = load_b0(batch, key22, neighbour * 4u);
  let vector22_1 = load_b0(batch, key22, neighbour * 4u + 32u);
  let vector23_0 = load_b0(batch, key23, neighbour * 4u);
  let vector23_1 = load_b0(batch, key23, neighbour * 4u + 32u);
  let vector24_0 = load_b0(batch, key24, neighbour * 4u);
  let vector24_1 = load_b0(batch, key24, neighbour * 4u + 32u);
  let vector25_0 = load_b0(batch, key25, neighbour * 4u);
  let vector25_1 = load_b0(batch, key25, neighbour * 4u + 32u);
  let vector26_0 = load_b0(batch, key26, neighbour * 4u);
  let vector26_1 = load_b0(batch, key26, neighbour * 4u + 32u);
  let vector27_0 = load_b0(batch, key27, neighbour * 4u);
  let vector27_1 = load_b0(batch, key27, neighbour * 4u + 32u);
  let vector28_0 = load_b0(batch, key28, neighbour * 4u);
  let vector28_1 = load_b0(batch, key28, neighbour * 4u + 32u);
  let vector29_0 = load_b0(batch, key29, neighbour * 4u);
  let vector29_1 = load_b0(batch, key29, neighbour * 4u + 32u);
  let vector30_0 = load_b0(batch, key30, neighbour * 4u);
  let vector30_1 = load_b0(batch, key30, neighbour * 4u + 32u);
  let vector31_0 = load_b0(batch, key31, neighbour * 4u);
  let vector31_1 = load_b0(batch, key31, neighbour * 4u + 32u);
  var score0 = dot(query0, vector0_0) + dot(query1, vector0_1);
  var score1 = dot(query0, vector1_0) + dot(query1, vector1_1);
  var score2 = dot(query0, vector2_0) + dot(query1, vector2_1);
  var score3 = dot(query0, vector3_0) + dot(query1, vector3_1);
  var score4 = dot(query0, vector4_0) + dot(query1, vector4_1);
  var score5 = dot(query0, vector5_0) + dot(query1, vector5_1);
  var score6 = dot(query0, vector6_0) + dot(query1, vector6_1);
  var score7 = dot(query0, vector7_0) + dot(query1, vector7_1);
  var score8 = dot(query0, vector8_0) + dot(query1, vector8_1);
  var score9 = dot(query0, vector9_0) + dot(query1, vector9_1);
  var score10 = dot(query0, vector10_0) + dot(query1, vector10_1);
  var score11 = dot(query0, vector11_0) + dot(query1, vector11_1);
  var score12 = dot(query0, vector12_0) + dot(query1, vector12_1);
  var score13 = dot(query0, vector13_0) + dot(query1, vector13_1);
  var score14 = dot(query0, vector14_0) + dot(query1, vector14_1);
  var score15 = dot(query0, vector15_0) + dot(query1, vector15_1);
  var score16 = dot(query0, vector16_0) + dot(query1, vector16_1);
  var score17 = dot(query0, vector17_0) + dot(query1, vector17_1);
  var score18 = dot(query0, vector18_0) + dot(query1, vector18_1);
  var score19 = dot(query0, vector19_0) + dot(query1, vector19_1);
  var score20 = dot(query0, vector20_0) + dot(query1, vector20_1);
  var score21 = dot(query0, vector21_0) + dot(query1, vector21_1);
  var score22 = dot(query0, vector22_0) + dot(query1, vector22_1);
  var score23 = dot(query0, vector23_0) + dot(query1, vector23_1);
  var score24 = dot(query0, vector24_0) + dot(query1, vector24_1);
  var score25 = dot(query0, vector25_0) + dot(query1, vector25_1);
  var score26 = dot(query0, vector26_0) + dot(query1, vector26_1);
  var score27 = dot(query0, vector27_0) + dot(query1, vector27_1);
  var score28 = dot(query0, vector28_0) + dot(query1, vector28_1);
  var score29 = dot(query0, vector29_0) + dot(query1, vector29_1);
  var score30 = dot(query0, vector30_0) + dot(query1, vector30_1);
  var score31 = dot(query0, vector31_0) + dot(query1, vector31_1);
  let score_upper4 = (lane & 4u) != 0u;
  score0 = select(score0, score16, score_upper4) + subgroupShuffleXor(select(score16, score0, score_upper4), 4u);
  score1 = select(score1, score17, score_upper4) + subgroupShuffleXor(select(score17, score1, score_upper4), 4u);
  score2 = select(score2, score18, score_upper4) + subgroupShuffleXor(select(score18, score2, score_upper4), 4u);
  score3 = select(score3, score19, score_upper4) + subgroupShuffleXor(select(score19, score3, score_upper4), 4u);
  score4 = select(score4, score20, score_upper4) + subgroupShuffleXor(select(score20, score4, score_upper4), 4u);
  score5 = select(score5, score21, score_upper4) + subgroupShuffleXor(select(score21, score5, score_upper4), 4u);
  score6 = select(score6, score22, score_upper4) + subgroupShuffleXor(select(score22, score6, score_upper4), 4u);
  score7 = select(score7, score23, score_upper4) + subgroupShuffleXor(select(score23, score7, score_upper4), 4u);
  score8 = select(score8, score24, score_upper4) + subgroupShuffleXor(select(score24, score8, score_upper4), 4u);
  score9 = select(score9, score25, score_upper4) + subgroupShuffleXor(select(score25, score9, score_upper4), 4u);
  score10 = select(score10, score26, score_upper4) + subgroupShuffleXor(select(score26, score10, score_upper4), 4u);
  score11 = select(score11, score27, score_upper4) + subgroupShuffleXor(select(score27, score11, score_upper4), 4u);
  score12 = select(score12, score28, score_upper4) + subgroupShuffleXor(select(score28, score12, score_upper4), 4u);
  score13 = select(score13, score29, score_upper4) + subgroupShuffleXor(select(score29, score13, score_upper4), 4u);
  score14 = select(score14, score30, score_upper4) + subgroupShuffleXor(select(score30, score14, score_upper4), 4u);
  score15 = select(score15, score31, score_upper4) + subgroupShuffleXor(select(score31, score15, score_upper4), 4u);
  let score_upper2 = (lane & 2u) != 0u;
  score0 = select(score0, score8, score_upper2) + subgroupShuffleXor(select(score8, score0, score_upper2), 2u);
  score1 = select(score1, score9, score_upper2) + subgroupShuffleXor(select(score9, score1, score_upper2), 2u);
  score2 = select(score2, score10, score_upper2) + subgroupShuffleXor(select(score10, score2, score_upper2), 2u);
  score3 = select(score3, score11, score_upper2) + subgroupShuffleXor(select(score11, score3, score_upper2), 2u);
  score4 = select(score4, score12, score_upper2) + subgroupShuffleXor(select(score12, score4, score_upper2), 2u);
  score5 = select(score5, score13, score_upper2) + subgroupShuffleXor(select(score13, score5, score_upper2), 2u);
  score6 = select(score6, score14, score_upper2) + subgroupShuffleXor(select(score14, score6, score_upper2), 2u);
  score7 = select(score7, score15, score_upper2) + subgroupShuffleXor(select(score15, score7, score_upper2), 2u);
  let score_upper1 = (lane & 1u) != 0u;
  score0 = select(score0, score4, score_upper1) + subgroupShuffleXor(select(score4, score0, score_upper1), 1u);
  score1 = select(score1, score5, score_upper1) + subgroupShuffleXor(select(score5, score1, score_upper1), 1u);
  score2 = select(score2, score6, score_upper1) + subgroupShuffleXor(select(score6, score2, score_upper1), 1u);
  score3 = select(score3, score7, score_upper1) + subgroupShuffleXor(select(score7, score3, score_upper1), 1u);
  let place = lane / 8u * 4u + lane % 8u * 32u;
  let column = lane % 16u * 4u;
  let value0 = load_v0(batch, column, lane / 16u);
  let value1 = load_v0(batch, column, lane / 16u + 4u);
  let value2 = load_v0(batch, column, lane / 16u + 8u);
  let value3 = load_v0(batch, column, lane / 16u + 12u);
  let value4 = load_v0(batch, column, lane / 16u + 16u);
  let value5 = load_v0(batch, column, lane / 16u + 20u);
  let value6 = load_v0(batch, column, lane / 16u + 24u);
  let value7 = load_v0(batch, column, lane / 16u + 28u);
  let value8 = load_v0(batch, column, lane / 16u + 32u);
  let value9 = load_v0(batch, column, lane / 16u + 36u);
  let value10 = load_v0(batch, column, lane / 16u + 40u);
  let value11 = load_v0(batch, column, lane / 16u + 44u);
  let value12 = load_v0(batch, column, lane / 16u + 48u);
  let value13 = load_v0(batch, column, lane / 16u + 52u);
  let value14 = load_v0(batch, column, lane / 16u + 56u);
  let value15 = load_v0(batch, column, lane / 16u + 60u);
  let value16 = load_v0(batch, column, lane / 16u + 64u);
  let value17 = load_v0(batch, column, lane / 16u + 68u);
  let value18 = load_v0(batch, column, lane / 16u + 72u);
  let value19 = load_v0(batch, column, lane / 16u + 76u);
  let value20 = load_v0(batch, column, lane / 16u + 80u);
  let value21 = load_v0(batch, column, lane / 16u + 84u);
  let value22 = load_v0(batch, column, lane / 16u + 88u);
  let value23 = load_v0(batch, column, lane / 16u + 92u);
  let value24 = load_v0(batch, column, lane / 16u + 96u);
  let value25 = load_v0(batch, column, lane / 16u + 100u);
  let value26 = load_v0(batch, column, lane / 16u + 104u);
  let value27 = load_v0(batch, column, lane / 16u + 108u);
  let value28 = load_v0(batch, column, lane / 16u + 112u);
  let value29 = load_v0(batch, column, lane / 16u + 116u);
  let value30 = load_v0(batch, column, lane / 16u + 120u);
  let value31 = load_v0(batch, column, lane / 16u + 124u);
  let value32 = load_v0(batch, column, lane / 16u + 128u);
  let value33 = load_v0(batch, column, lane / 16u + 132u);
  let value34 = load_v0(batch, column, lane / 16u + 136u);
  let value35 = load_v0(batch, column, lane / 16u + 140u);
  let value36 = load_v0(batch, column, lane / 16u + 144u);
  let value37 = load_v0(batch, column, lane / 16u + 148u);
  let value38 = load_v0(batch, column, lane / 16u + 152u);
  let value39 = load_v0(batch, column, lane / 16u + 156u);
  let value40 = load_v0(batch, column, lane / 16u + 160u);
  let value41 = load_v0(batch, column, lane / 16u + 164u);
  let value42 = load_v0(batch, column, lane / 16u + 168u);
  let value43 = load_v0(batch, column, lane / 16u + 172u);
  let value44 = load_v0(batch, column, lane / 16u + 176u);
  let value45 = load_v0(batch, column, lane / 16u + 180u);
  let value46 = load_v0(batch, column, lane / 16u + 184u);
  let value47 = load_v0(batch, column, lane / 16u + 188u);
  let value48 = load_v0(batch, column, lane / 16u + 192u);
  let value49 = load_v0(batch, column, lane / 16u + 196u);
  let value50 = load_v0(batch, column, lane / 16u + 200u);
  let value51 = load_v0(batch, column, lane / 16u + 204u);
  let value52 = load_v0(batch, column, lane / 16u + 208u);
  let value53 = load_v0(batch, column, lane / 16u + 212u);
  let value54 = load_v0(batch, column, lane / 16u + 216u);
  let value55 = load_v0(batch, column, lane / 16u + 220u);
  let value56 = load_v0(batch, column, lane / 16u + 224u);
  let value57 = load_v0(batch, column, lane / 16u + 228u);
  let value58 = load_v0(batch, column, lane / 16u + 232u);
  let value59 = load_v0(batch, column, lane / 16u + 236u);
  let value60 = load_v0(batch, column, lane / 16u + 240u);
  let value61 = load_v0(batch, column, lane / 16u + 244u);
  let value62 = load_v0(batch, column, lane / 16u + 248u);
  let value63 = load_v0(batch, column, lane / 16u + 252u);
  let four = weigh0(batch, first_m, place, vec4f(score0, score1, score2, score3));
  var peak = max(-3.4028234e38, max(max(four.x, four.y), max(four.z, four.w)));
  peak = max(peak, subgroupShuffleXor(peak, 16u));
  peak = max(peak, subgroupShuffleXor(peak, 8u));
  peak = max(peak, subgroupShuffleXor(peak, 4u));
  peak = max(peak, subgroupShuffleXor(peak, 2u));
  peak = max(peak, subgroupShuffleXor(peak, 1u));
  peak0[lane / 32u] = peak;
  workgroupBarrier();
  peak = peak0[lane % 2u];
  peak = max(peak, subgroupShuffleXor(peak, 1u));
  let raised = exp(four - peak);
  weights0[place] = raised.x;
  weights0[place + 1u] = raised.y;
  weights0[place + 2u] = raised.z;
  weights0[place + 3u] = raised.w;
  var total = dot(raised, vec4f(1));
  total = total + subgroupShuffleXor(total, 16u);
  total = total + subgroupShuffleXor(total, 8u);
  total = total + subgroupShuffleXor(total, 4u);
  total = total + subgroupShuffleXor(total, 2u);
  total = total + subgroupShuffleXor(total, 1u);
  total0[lane / 32u] = total;
  workgroupBarrier();
  total = total0[lane % 2u];
  total = total + subgroupShuffleXor(total, 1u);
  let divisor = select(total, 1f, total == 0);
  var result = vec4f(0);
  result += weights0[lane / 16u] * value0;
  result += weights0[lane / 16u + 4u] * value1;
  result += weights0[lane / 16u + 8u] * value2;
  result += weights0[lane / 16u + 12u] * value3;
  result += weights0[lane / 16u + 16u] * value4;
  result += weights0[lane / 16u + 20u] * value5;
  result += weights0[lane / 16u + 24u] * value6;
  result += weights0[lane / 16u + 28u] * value7;
  result += weights0[lane / 16u + 32u] * value8;
  result += weights0[lane / 16u + 36u] * value9;
  result += weights0[lane / 16u + 40u] * value10;
  result += weights0[lane / 16u + 44u] * value11;
  result += weights0[lane / 16u + 48u] * value12;
  result += weights0[lane / 16u + 52u] * value13;
  result += weights0[lane / 16u + 56u] * value14;
  result += weights0[lane / 16u + 60u] * value15;
  result += weights0[lane / 16u + 64u] * value16;
  result += weights0[lane / 16u + 68u] * value17;
  result += weights0[lane / 16u + 72u] * value18;
  result += weights0[lane / 16u + 76u] * value19;
  result += weights0[lane / 16u + 80u] * value20;
  result += weights0[lane / 16u + 84u] * value21;
  result += weights0[lane / 16u + 88u] * value22;
  result += weights0[lane / 16u + 92u] * value23;
  result += weights0[lane / 16u + 96u] * value24;
  result += weights0[lane / 16u + 100u] * value25;
  result += weights0[lane / 16u + 104u] * value26;
  result += weights0[lane / 16u + 108u] * value27;
  result += weights0[lane / 16u + 112u] * value28;
  result += weights0[lane / 16u + 116u] * value29;
  result += weights0[lane / 16u + 120u] * value30;
  result += weights0[lane / 16u + 124u] * value31;
  result += weights0[lane / 16u + 128u] * value32;
  result += weights0[lane / 16u + 132u] * value33;
  result += weights0[lane / 16u + 136u] * value34;
  result += weights0[lane / 16u + 140u] * value35;
  result += weights0[lane / 16u + 144u] * value36;
  result += weights0[lane / 16u + 148u] * value37;
  result += weights0[lane / 16u + 152u] * value38;
  result += weights0[lane / 16u + 156u] * value39;
  result += weights0[lane / 16u + 160u] * value40;
  result += weights0[lane / 16u + 164u] * value41;
  result += weights0[lane / 16u + 168u] * value42;
  result += weights0[lane / 16u + 172u] * value43;
  result += weights0[lane / 16u + 176u] * value44;
  result += weights0[lane / 16u + 180u] * value45;
  result += weights0[lane / 16u + 184u] * value46;
  result += weights0[lane / 16u + 188u] * value47;
  result += weights0[lane / 16u + 192u] * value48;
  result += weights0[lane / 16u + 196u] * value49;
  result += weights0[lane / 16u + 200u] * value50;
  result += weights0[lane / 16u + 204u] * value51;
  result += weights0[lane / 16u + 208u] * value52;
  result += weights0[lane / 16u + 212u] * value53;
  result += weights0[lane / 16u + 216u] * value54;
  result += weights0[lane / 16u + 220u] * value55;
  result += weights0[lane / 16u + 224u] * value56;
  result += weights0[lane / 16u + 228u] * value57;
  result += weights0[lane / 16u + 232u] * value58;
  result += weights0[lane / 16u + 236u] * value59;
  result += weights0[lane / 16u + 240u] * value60;
  result += weights0[lane / 16u + 244u] * value61;
  result += weights0[lane / 16u + 248u] * value62;
  result += weights0[lane / 16u + 252u] * value63;
  result += subgroupShuffleXor(result, 16u);
  sums0[lane / 32u * 17u + lane % 16u] = result;
  workgroupBarrier();
  if (lane < 32u) {
    result = sums0[(lane % 2u) * 17u + lane / 2u];
  }
  result += subgroupShuffleXor(result, 1u);
  if (lane % 2u == 0u && lane < 32u) {
    store_c(batch, first_m, lane / 2u * 4u, result / divisor);
  }
  if (lane == 0u) { store_row(batch, first_m, select(peak + log_f32(divisor), -inf_f32(), total == 0)); }
}
