/**
 * @file The instruction table of the emitter: WebAssembly names, their type signatures and opcodes. It has what generated
 * code uses, as every page downloads it.
 *
 * Instructions are grouped by signature (`'vv>v'` takes two v128 and gives one), so that the one
 * constructor `op(name, ...args)` in `code.ts` is checked by the type checker from the name alone.
 * Letters: i = i32, l = i64, f = f32, d = f64, v = v128; nothing after `>` is no result.
 * An opcode is `prefix << 16 | code`, without prefix for the one-byte instructions.
 *
 * Transcribed from the index of instructions of the WebAssembly 3.0 specification; the tests assemble
 * every entry and validate it with the engine, and compare with wabt's text parser.
 */

/** Plain instructions: operands in, result out, no immediates. */
// prettier-ignore
export const OPCODES = {
  'i>i': {
    'i32.eqz': 0x45, 'i32.clz': 0x67,
  },
  'ii>i': {
    'i32.eq': 0x46, 'i32.ne': 0x47, 'i32.lt_s': 0x48, 'i32.lt_u': 0x49, 'i32.gt_s': 0x4a, 'i32.gt_u': 0x4b,
    'i32.le_s': 0x4c, 'i32.le_u': 0x4d, 'i32.ge_s': 0x4e, 'i32.ge_u': 0x4f,
    'i32.add': 0x6a, 'i32.sub': 0x6b, 'i32.mul': 0x6c, 'i32.div_s': 0x6d, 'i32.div_u': 0x6e,
    'i32.rem_s': 0x6f, 'i32.rem_u': 0x70, 'i32.and': 0x71, 'i32.or': 0x72, 'i32.xor': 0x73,
    'i32.shl': 0x74, 'i32.shr_s': 0x75, 'i32.shr_u': 0x76,
  },
  'l>i': { 'i64.eqz': 0x50, 'i32.wrap_i64': 0xa7 },
  'll>i': {
    'i64.eq': 0x51, 'i64.ne': 0x52, 'i64.lt_s': 0x53, 'i64.lt_u': 0x54, 'i64.gt_s': 0x55, 'i64.gt_u': 0x56,
    'i64.le_s': 0x57, 'i64.le_u': 0x58, 'i64.ge_s': 0x59, 'i64.ge_u': 0x5a,
  },
  'll>l': {
    'i64.add': 0x7c, 'i64.sub': 0x7d, 'i64.mul': 0x7e, 'i64.div_s': 0x7f, 'i64.div_u': 0x80,
    'i64.rem_s': 0x81, 'i64.rem_u': 0x82, 'i64.and': 0x83, 'i64.or': 0x84, 'i64.xor': 0x85,
    'i64.shl': 0x86, 'i64.shr_s': 0x87, 'i64.shr_u': 0x88,
  },
  'ff>i': { 'f32.eq': 0x5b, 'f32.ne': 0x5c, 'f32.lt': 0x5d, 'f32.gt': 0x5e, 'f32.le': 0x5f, 'f32.ge': 0x60 },
  'dd>i': { 'f64.eq': 0x61, 'f64.ne': 0x62, 'f64.lt': 0x63, 'f64.gt': 0x64, 'f64.le': 0x65, 'f64.ge': 0x66 },
  'f>f': {
    'f32.abs': 0x8b, 'f32.neg': 0x8c, 'f32.ceil': 0x8d, 'f32.floor': 0x8e, 'f32.trunc': 0x8f,
    'f32.nearest': 0x90, 'f32.sqrt': 0x91,
  },
  'ff>f': {
    'f32.add': 0x92, 'f32.sub': 0x93, 'f32.mul': 0x94, 'f32.div': 0x95, 'f32.min': 0x96, 'f32.max': 0x97,
    'f32.copysign': 0x98,
  },
  'd>d': {
    'f64.abs': 0x99, 'f64.neg': 0x9a, 'f64.ceil': 0x9b, 'f64.floor': 0x9c, 'f64.trunc': 0x9d,
    'f64.nearest': 0x9e, 'f64.sqrt': 0x9f,
  },
  'dd>d': {
    'f64.add': 0xa0, 'f64.sub': 0xa1, 'f64.mul': 0xa2, 'f64.div': 0xa3, 'f64.min': 0xa4, 'f64.max': 0xa5,
    'f64.copysign': 0xa6,
  },
  'f>i': { 'i32.reinterpret_f32': 0xbc, 'i32.trunc_sat_f32_s': 0xfc0000, 'i32.trunc_sat_f32_u': 0xfc0001 },
  'd>i': { 'i32.trunc_sat_f64_s': 0xfc0002, 'i32.trunc_sat_f64_u': 0xfc0003 },
  'i>l': { 'i64.extend_i32_s': 0xac, 'i64.extend_i32_u': 0xad },
  'f>l': { 'i64.trunc_sat_f32_s': 0xfc0004, 'i64.trunc_sat_f32_u': 0xfc0005 },
  'd>l': { 'i64.reinterpret_f64': 0xbd, 'i64.trunc_sat_f64_s': 0xfc0006, 'i64.trunc_sat_f64_u': 0xfc0007 },
  'i>f': { 'f32.convert_i32_s': 0xb2, 'f32.convert_i32_u': 0xb3, 'f32.reinterpret_i32': 0xbe },
  'l>f': { 'f32.convert_i64_s': 0xb4, 'f32.convert_i64_u': 0xb5 },
  'd>f': { 'f32.demote_f64': 0xb6 },
  'i>d': { 'f64.convert_i32_s': 0xb7, 'f64.convert_i32_u': 0xb8 },
  'l>d': { 'f64.convert_i64_s': 0xb9, 'f64.convert_i64_u': 0xba, 'f64.reinterpret_i64': 0xbf },
  'f>d': { 'f64.promote_f32': 0xbb },
  'iii>': { 'memory.copy': 0xfc000a, 'memory.fill': 0xfc000b },
  '>i': { 'memory.size': 0x3f },
  '>': { unreachable: 0x00, nop: 0x01, 'atomic.fence': 0xfe0003 },
  'i>v': { 'i32x4.splat': 0xfd0011 },
  'l>v': { 'i64x2.splat': 0xfd0012 },
  'f>v': { 'f32x4.splat': 0xfd0013 },
  'd>v': { 'f64x2.splat': 0xfd0014 },
  'v>i': {
    'v128.any_true': 0xfd0053, 'i32x4.all_true': 0xfd00a3, 'i64x2.all_true': 0xfd00c3,
  },
  'v>v': {
    'v128.not': 0xfd004d, 'f32x4.demote_f64x2_zero': 0xfd005e, 'f64x2.promote_low_f32x4': 0xfd005f,
    'f32x4.ceil': 0xfd0067, 'f32x4.floor': 0xfd0068, 'f32x4.trunc': 0xfd0069, 'f32x4.nearest': 0xfd006a,
    'f64x2.ceil': 0xfd0074, 'f64x2.floor': 0xfd0075, 'f64x2.trunc': 0xfd007a, 'f64x2.nearest': 0xfd0094,
    'i16x8.extend_low_i8x16_s': 0xfd0087, 'i16x8.extend_low_i8x16_u': 0xfd0089,
    'i32x4.abs': 0xfd00a0, 'i32x4.neg': 0xfd00a1,
    'i32x4.extend_low_i16x8_s': 0xfd00a7, 'i32x4.extend_high_i16x8_s': 0xfd00a8,
    'i32x4.extend_low_i16x8_u': 0xfd00a9, 'i32x4.extend_high_i16x8_u': 0xfd00aa,
    'i64x2.abs': 0xfd00c0, 'i64x2.neg': 0xfd00c1,
    'i64x2.extend_low_i32x4_s': 0xfd00c7, 'i64x2.extend_high_i32x4_s': 0xfd00c8,
    'i64x2.extend_low_i32x4_u': 0xfd00c9, 'i64x2.extend_high_i32x4_u': 0xfd00ca,
    'f32x4.abs': 0xfd00e0, 'f32x4.neg': 0xfd00e1, 'f32x4.sqrt': 0xfd00e3,
    'f64x2.abs': 0xfd00ec, 'f64x2.neg': 0xfd00ed, 'f64x2.sqrt': 0xfd00ef,
    'i32x4.trunc_sat_f32x4_s': 0xfd00f8, 'i32x4.trunc_sat_f32x4_u': 0xfd00f9,
    'f32x4.convert_i32x4_s': 0xfd00fa, 'f32x4.convert_i32x4_u': 0xfd00fb,
    'i32x4.trunc_sat_f64x2_s_zero': 0xfd00fc, 'i32x4.trunc_sat_f64x2_u_zero': 0xfd00fd,
    'f64x2.convert_low_i32x4_s': 0xfd00fe, 'f64x2.convert_low_i32x4_u': 0xfd00ff,
  },
  'vi>v': {
    'i16x8.shl': 0xfd008b, 'i16x8.shr_s': 0xfd008c, 'i16x8.shr_u': 0xfd008d,
    'i32x4.shl': 0xfd00ab, 'i32x4.shr_s': 0xfd00ac, 'i32x4.shr_u': 0xfd00ad,
    'i64x2.shl': 0xfd00cb, 'i64x2.shr_s': 0xfd00cc, 'i64x2.shr_u': 0xfd00cd,
  },
  'vv>v': {
    'i32x4.eq': 0xfd0037, 'i32x4.ne': 0xfd0038, 'i32x4.lt_s': 0xfd0039, 'i32x4.lt_u': 0xfd003a,
    'i32x4.gt_s': 0xfd003b, 'i32x4.gt_u': 0xfd003c, 'i32x4.le_s': 0xfd003d, 'i32x4.le_u': 0xfd003e,
    'i32x4.ge_s': 0xfd003f, 'i32x4.ge_u': 0xfd0040,
    'f32x4.eq': 0xfd0041, 'f32x4.ne': 0xfd0042, 'f32x4.lt': 0xfd0043, 'f32x4.gt': 0xfd0044,
    'f32x4.le': 0xfd0045, 'f32x4.ge': 0xfd0046,
    'f64x2.eq': 0xfd0047, 'f64x2.ne': 0xfd0048, 'f64x2.lt': 0xfd0049, 'f64x2.gt': 0xfd004a,
    'f64x2.le': 0xfd004b, 'f64x2.ge': 0xfd004c,
    'v128.and': 0xfd004e, 'v128.andnot': 0xfd004f, 'v128.or': 0xfd0050, 'v128.xor': 0xfd0051,
    'i16x8.narrow_i32x4_s': 0xfd0085,
    'i32x4.add': 0xfd00ae, 'i32x4.sub': 0xfd00b1, 'i32x4.mul': 0xfd00b5,
    'i32x4.min_s': 0xfd00b6, 'i32x4.min_u': 0xfd00b7, 'i32x4.max_s': 0xfd00b8, 'i32x4.max_u': 0xfd00b9,
    'i32x4.dot_i16x8_s': 0xfd00ba,
    'i64x2.add': 0xfd00ce, 'i64x2.sub': 0xfd00d1, 'i64x2.mul': 0xfd00d5,
    'i64x2.eq': 0xfd00d6, 'i64x2.ne': 0xfd00d7, 'i64x2.lt_s': 0xfd00d8, 'i64x2.gt_s': 0xfd00d9,
    'i64x2.le_s': 0xfd00da, 'i64x2.ge_s': 0xfd00db,
    'i64x2.extmul_low_i32x4_s': 0xfd00dc, 'i64x2.extmul_high_i32x4_s': 0xfd00dd,
    'i64x2.extmul_low_i32x4_u': 0xfd00de, 'i64x2.extmul_high_i32x4_u': 0xfd00df,
    'f32x4.add': 0xfd00e4, 'f32x4.sub': 0xfd00e5, 'f32x4.mul': 0xfd00e6, 'f32x4.div': 0xfd00e7,
    'f32x4.min': 0xfd00e8, 'f32x4.max': 0xfd00e9, 'f32x4.pmin': 0xfd00ea, 'f32x4.pmax': 0xfd00eb,
    'f64x2.add': 0xfd00f0, 'f64x2.sub': 0xfd00f1, 'f64x2.mul': 0xfd00f2, 'f64x2.div': 0xfd00f3,
    'f64x2.min': 0xfd00f4, 'f64x2.max': 0xfd00f5, 'f64x2.pmin': 0xfd00f6, 'f64x2.pmax': 0xfd00f7,
  },
  /** bitselect(a, b, mask) takes a's bits where mask is 1; relaxed_madd(a, b, c) = a * b + c, nmadd = c - a * b. */
  'vvv>v': {
    'v128.bitselect': 0xfd0052,
    'f32x4.relaxed_madd': 0xfd0105, 'f32x4.relaxed_nmadd': 0xfd0106,
    'f64x2.relaxed_madd': 0xfd0107, 'f64x2.relaxed_nmadd': 0xfd0108,
  },
} as const;

/** Loads, stores and atomics: address first, then operands; with an offset and the access width in bytes. */
// prettier-ignore
export const MEMORY_OPCODES = {
  'i>i': {
    'i32.load': [0x28, 4], 'i32.load8_s': [0x2c, 1], 'i32.load8_u': [0x2d, 1],
    'i32.load16_s': [0x2e, 2], 'i32.load16_u': [0x2f, 2], 'i32.atomic.load': [0xfe0010, 4],
  },
  'i>l': { 'i64.load': [0x29, 8], 'i64.atomic.load': [0xfe0011, 8] },
  'i>f': { 'f32.load': [0x2a, 4] },
  'i>d': { 'f64.load': [0x2b, 8] },
  'i>v': {
    'v128.load': [0xfd0000, 16],
    'v128.load8x8_s': [0xfd0001, 8], 'v128.load8x8_u': [0xfd0002, 8],
    'v128.load16x4_s': [0xfd0003, 8], 'v128.load16x4_u': [0xfd0004, 8],
    'v128.load32_splat': [0xfd0009, 4], 'v128.load64_splat': [0xfd000a, 8],
    'v128.load32_zero': [0xfd005c, 4], 'v128.load64_zero': [0xfd005d, 8],
  },
  'ii>': {
    'i32.store': [0x36, 4], 'i32.store8': [0x3a, 1], 'i32.store16': [0x3b, 2], 'i32.atomic.store': [0xfe0017, 4],
  },
  'il>': { 'i64.store': [0x37, 8], 'i64.atomic.store': [0xfe0018, 8] },
  'if>': { 'f32.store': [0x38, 4] },
  'id>': { 'f64.store': [0x39, 8] },
  'iv>': { 'v128.store': [0xfd000b, 16] },
  'ii>i': {
    'memory.atomic.notify': [0xfe0000, 4],
    'i32.atomic.rmw.add': [0xfe001e, 4],
  },
  'ill>l': { 'i64.atomic.rmw.cmpxchg': [0xfe0049, 8] },
} as const;

/** Loads and stores of one lane: address, vector; with an offset and a lane number. */
// prettier-ignore
export const LANE_MEMORY_OPCODES = {
  'iv>v': {
    'v128.load32_lane': [0xfd0056, 4], 'v128.load64_lane': [0xfd0057, 8],
  },
  'iv>': {
    'v128.store16_lane': [0xfd0059, 2],
    'v128.store32_lane': [0xfd005a, 4], 'v128.store64_lane': [0xfd005b, 8],
  },
} as const;

/** Lane access in registers, with a lane number. */
// prettier-ignore
export const LANE_OPCODES = {
  'v>i': {
    'i32x4.extract_lane': 0xfd001b,
  },
  'v>l': { 'i64x2.extract_lane': 0xfd001d },
  'v>f': { 'f32x4.extract_lane': 0xfd001f },
  'v>d': { 'f64x2.extract_lane': 0xfd0021 },
  'vi>v': { 'i32x4.replace_lane': 0xfd001c },
  'vl>v': { 'i64x2.replace_lane': 0xfd001e },
  'vf>v': { 'f32x4.replace_lane': 0xfd0020 },
  'vd>v': { 'f64x2.replace_lane': 0xfd0022 },
} as const;
