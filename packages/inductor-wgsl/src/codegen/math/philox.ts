/**
 * @file Philox 4×32-10 in WGSL: the same numbers as `@tessera/tensor`'s generator for the same seed.
 *
 * @see Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011
 */
import type { HelperTable } from './helper-source.js';

/** See the file header. Arguments are unsigned 32-bit seed, offset and element index. */
export const PHILOX: HelperTable = {
  /** High word of the unsigned 64-bit product. */
  mul_high: {
    type: 'u32',
    text: `fn @mul_high(a: U, b: U) -> U {
  let al = a & U(0xffffu);
  let ah = a >> U(16u);
  let bl = b & U(0xffffu);
  let bh = b >> U(16u);
  let middle = ah * bl + ((al * bl) >> U(16u));
  return ah * bh + (middle >> U(16u)) + ((al * bh + (middle & U(0xffffu))) >> U(16u));
}`,
  },
  philox: {
    type: 'u32',
    lanewise: true,
    text: `fn @philox(seed: u32, offset: u32, index: u32) -> vec2u {
  var c = vec4u(index, 0u, offset, 0u);
  var key = vec2u(seed, 0u);
  for (var round = 0u; round < 10u; round++) {
    let high0 = @mul_high(0xd2511f53u, c.x);
    let high1 = @mul_high(0xcd9e8d57u, c.z);
    c = vec4u(high1 ^ c.y ^ key.x, 0xcd9e8d57u * c.z, high0 ^ c.w ^ key.y, 0xd2511f53u * c.x);
    key += vec2u(0x9e3779b9u, 0xbb67ae85u);
  }
  return c.xy;
}`,
  },
  uniform: {
    type: 'f32',
    lanewise: true,
    text: `fn @uniform(seed: u32, offset: u32, index: u32) -> f32 {
  return f32(@philox(seed, offset, index).x >> 8u) * 5.9604644775390625e-8;
}`,
  },
  normal: {
    type: 'f32',
    lanewise: true,
    text: `fn @normal(seed: u32, offset: u32, index: u32) -> f32 {
  let words = @philox(seed, offset, index);
  let u1 = f32((words.x >> 8u) + 1u) * 5.9604644775390625e-8;
  let turn = f32(words.y >> 8u) * 5.9604644775390625e-8;
  return sqrt(-2.0 * @log(u1)) * @cos(6.28318531 * turn);
}`,
  },
};
