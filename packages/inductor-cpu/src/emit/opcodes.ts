/**
 * @file The instruction table of the emitter: WebAssembly names, their type signatures and opcodes. It has what generated
 * code uses, as every page downloads it.
 *
 * Instructions are grouped by signature (`'vv>v'` takes two v128 and gives one), so that the one
 * constructor `op(name, ...args)` in `code.ts` is checked by the type checker from the name alone.
 * Letters: i = i32, l = i64, f = f32, d = f64, v = v128; nothing after `>` is no result.
 * Then by what stands before the dot of their names; a list has consecutive opcodes, from the one at its left.
 * An opcode is `prefix << 16 | code`, without prefix for the one-byte instructions.
 *
 * Transcribed from the index of instructions of the WebAssembly 3.0 specification; the tests assemble
 * every entry and validate it with the engine, and compare with wabt's text parser.
 */

/** Plain instructions: operands in, result out, no immediates. */
// prettier-ignore
export const OPCODES = {
  'i>i': { i32: { 0x45: 'eqz', 0x67: 'clz' } },
  'ii>i': {
    i32: {
      0x46: 'eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u',
      0x6a: 'add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u',
    },
  },
  'l>i': {
    i64: { 0x50: 'eqz' },
    i32: { 0xa7: 'wrap_i64' },
  },
  'll>i': { i64: { 0x51: 'eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u' } },
  'll>l': { i64: { 0x7c: 'add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u' } },
  'ff>i': { f32: { 0x5b: 'eq ne lt gt le ge' } },
  'dd>i': { f64: { 0x61: 'eq ne lt gt le ge' } },
  'f>f': { f32: { 0x8b: 'abs neg ceil floor trunc nearest sqrt' } },
  'ff>f': { f32: { 0x92: 'add sub mul div min max copysign' } },
  'd>d': { f64: { 0x99: 'abs neg ceil floor trunc nearest sqrt' } },
  'dd>d': { f64: { 0xa0: 'add sub mul div min max copysign' } },
  'f>i': { i32: { 0xbc: 'reinterpret_f32', 0xfc0000: 'trunc_sat_f32_s trunc_sat_f32_u' } },
  'd>i': { i32: { 0xfc0002: 'trunc_sat_f64_s trunc_sat_f64_u' } },
  'i>l': { i64: { 0xac: 'extend_i32_s extend_i32_u' } },
  'f>l': { i64: { 0xfc0004: 'trunc_sat_f32_s trunc_sat_f32_u' } },
  'd>l': { i64: { 0xbd: 'reinterpret_f64', 0xfc0006: 'trunc_sat_f64_s trunc_sat_f64_u' } },
  'i>f': { f32: { 0xb2: 'convert_i32_s convert_i32_u', 0xbe: 'reinterpret_i32' } },
  'l>f': { f32: { 0xb4: 'convert_i64_s convert_i64_u' } },
  'd>f': { f32: { 0xb6: 'demote_f64' } },
  'i>d': { f64: { 0xb7: 'convert_i32_s convert_i32_u' } },
  'l>d': { f64: { 0xb9: 'convert_i64_s convert_i64_u', 0xbf: 'reinterpret_i64' } },
  'f>d': { f64: { 0xbb: 'promote_f32' } },
  'iii>': { memory: { 0xfc000a: 'copy fill' } },
  '>i': { memory: { 0x3f: 'size' } },
  '>': {
    '': { 0x00: 'unreachable nop' },
    atomic: { 0xfe0003: 'fence' },
  },
  'i>v': { i32x4: { 0xfd0011: 'splat' } },
  'l>v': { i64x2: { 0xfd0012: 'splat' } },
  'f>v': { f32x4: { 0xfd0013: 'splat' } },
  'd>v': { f64x2: { 0xfd0014: 'splat' } },
  'v>i': {
    v128: { 0xfd0053: 'any_true' },
    i32x4: { 0xfd00a3: 'all_true' },
    i64x2: { 0xfd00c3: 'all_true' },
  },
  'v>v': {
    v128: { 0xfd004d: 'not' },
    f32x4: {
      0xfd005e: 'demote_f64x2_zero', 0xfd0067: 'ceil floor trunc nearest', 0xfd00e0: 'abs neg',
      0xfd00e3: 'sqrt', 0xfd00fa: 'convert_i32x4_s convert_i32x4_u',
    },
    f64x2: {
      0xfd005f: 'promote_low_f32x4', 0xfd0074: 'ceil floor', 0xfd007a: 'trunc', 0xfd0094: 'nearest',
      0xfd00ec: 'abs neg', 0xfd00ef: 'sqrt', 0xfd00fe: 'convert_low_i32x4_s convert_low_i32x4_u',
    },
    i8x16: { 0xfd0060: 'abs neg' },
    i16x8: { 0xfd0087: 'extend_low_i8x16_s extend_high_i8x16_s extend_low_i8x16_u extend_high_i8x16_u' },
    i32x4: {
      0xfd00a0: 'abs neg',
      0xfd00a7: 'extend_low_i16x8_s extend_high_i16x8_s extend_low_i16x8_u extend_high_i16x8_u',
      0xfd00f8: 'trunc_sat_f32x4_s trunc_sat_f32x4_u',
      0xfd00fc: 'trunc_sat_f64x2_s_zero trunc_sat_f64x2_u_zero',
    },
    i64x2: {
      0xfd00c0: 'abs neg',
      0xfd00c7: 'extend_low_i32x4_s extend_high_i32x4_s extend_low_i32x4_u extend_high_i32x4_u',
    },
  },
  'vi>v': {
    i16x8: { 0xfd008b: 'shl shr_s shr_u' },
    i32x4: { 0xfd00ab: 'shl shr_s shr_u' },
    i64x2: { 0xfd00cb: 'shl shr_s shr_u' },
  },
  'vv>v': {
    i32x4: {
      0xfd0037: 'eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u', 0xfd00ae: 'add', 0xfd00b1: 'sub',
      0xfd00b5: 'mul min_s min_u max_s max_u dot_i16x8_s',
    },
    f32x4: { 0xfd0041: 'eq ne lt gt le ge', 0xfd00e4: 'add sub mul div min max pmin pmax' },
    f64x2: { 0xfd0047: 'eq ne lt gt le ge', 0xfd00f0: 'add sub mul div min max pmin pmax' },
    v128: { 0xfd004e: 'and andnot or xor' },
    i8x16: {
      0xfd0023: 'eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u', 0xfd0065: 'narrow_i16x8_s narrow_i16x8_u',
      0xfd006e: 'add', 0xfd0071: 'sub', 0xfd0076: 'min_s min_u max_s max_u',
    },
    i16x8: { 0xfd0085: 'narrow_i32x4_s narrow_i32x4_u', 0xfd0095: 'mul' },
    i64x2: {
      0xfd00ce: 'add', 0xfd00d1: 'sub',
      0xfd00d5: 'mul eq ne lt_s gt_s le_s ge_s extmul_low_i32x4_s extmul_high_i32x4_s extmul_low_i32x4_u extmul_high_i32x4_u',
    },
  },
  /** bitselect(a, b, mask) takes a's bits where mask is 1; relaxed_madd(a, b, c) = a * b + c, nmadd = c - a * b. */
  'vvv>v': {
    v128: { 0xfd0052: 'bitselect' },
    f32x4: { 0xfd0105: 'relaxed_madd relaxed_nmadd' },
    f64x2: { 0xfd0107: 'relaxed_madd relaxed_nmadd' },
  },
} as const;

/** Loads, stores and atomics: address first, then operands; with an offset. */
// prettier-ignore
export const MEMORY_OPCODES = {
  'i>i': {
    i32: { 0x28: 'load', 0x2c: 'load8_s load8_u load16_s load16_u', 0xfe0010: 'atomic.load' },
  },
  'i>l': { i64: { 0x29: 'load', 0xfe0011: 'atomic.load' } },
  'i>f': { f32: { 0x2a: 'load' } },
  'i>d': { f64: { 0x2b: 'load' } },
  'i>v': {
    v128: {
      0xfd0000: 'load load8x8_s load8x8_u load16x4_s load16x4_u',
      0xfd0009: 'load32_splat load64_splat', 0xfd005c: 'load32_zero load64_zero',
    },
  },
  'ii>': { i32: { 0x36: 'store', 0x3a: 'store8 store16', 0xfe0017: 'atomic.store' } },
  'il>': { i64: { 0x37: 'store', 0xfe0018: 'atomic.store' } },
  'if>': { f32: { 0x38: 'store' } },
  'id>': { f64: { 0x39: 'store' } },
  'iv>': { v128: { 0xfd000b: 'store' } },
  'ii>i': {
    memory: { 0xfe0000: 'atomic.notify' },
    i32: { 0xfe001e: 'atomic.rmw.add' },
  },
  'ill>l': { i64: { 0xfe0049: 'atomic.rmw.cmpxchg' } },
} as const;

/** Loads and stores of one lane: address, vector; with an offset and a lane number. */
export const LANE_MEMORY_OPCODES = {
  'iv>v': { v128: { 0xfd0056: 'load32_lane load64_lane' } },
  'iv>': { v128: { 0xfd0059: 'store16_lane store32_lane store64_lane' } },
} as const;

/** Lane access in registers, with a lane number. */
export const LANE_OPCODES = {
  'v>i': { i32x4: { 0xfd001b: 'extract_lane' } },
  'v>l': { i64x2: { 0xfd001d: 'extract_lane' } },
  'v>f': { f32x4: { 0xfd001f: 'extract_lane' } },
  'v>d': { f64x2: { 0xfd0021: 'extract_lane' } },
  'vi>v': { i32x4: { 0xfd001c: 'replace_lane' } },
  'vl>v': { i64x2: { 0xfd001e: 'replace_lane' } },
  'vf>v': { f32x4: { 0xfd0020: 'replace_lane' } },
  'vd>v': { f64x2: { 0xfd0022: 'replace_lane' } },
} as const;
