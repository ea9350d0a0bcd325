/**
 * @file Philox 4×32-10: the numbers of `@tessera/tensor`'s generator for the same seed, offset and element.
 *
 * @see Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011
 */
import type { FunctionTable } from './program.js';

/** The rounds: of a counter `c0` … `c3` they make four random words. */
export const PHILOX_ROUNDS = `var k0 = seed;
  var k1 = 0u;
  var round = 0u;
  while (round < 10u) {
    let high0 = @mul_high(0xd2511f53u, c0);
    let high1 = @mul_high(0xcd9e8d57u, c2);
    let low0 = 0xd2511f53u * c0;
    c0 = high1 ^ c1 ^ k0;
    c1 = 0xcd9e8d57u * c2;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
    round += 1u;
  }`;

/** See the file header. */
export const PHILOX: FunctionTable = {
  philox: {
    text: `fn philox(seed: u32, offset: u32, index: u32) -> pair {
  var c0 = index;
  var c1 = 0u;
  var c2 = offset;
  var c3 = 0u;
  ${PHILOX_ROUNDS}
  return pair(c0, c1);
}`,
  },
  uniform: {
    text: `fn uniform(seed: u32, offset: u32, index: u32) -> f32 {
  return f32(@philox(seed, offset, index).x >> 8u) * 5.9604644775390625e-8;
}`,
  },
  normal: {
    text: `fn normal(seed: u32, offset: u32, index: u32) -> f32 {
  let words = @philox(seed, offset, index);
  let u1 = f32((words.x >> 8u) + 1u) * 5.9604644775390625e-8;
  let turn = f32(words.y >> 8u) * 5.9604644775390625e-8;
  return sqrt(-2.0 * @log(u1)) * @near_turned(6.28318531 * turn, 1);
}`,
  },
};
