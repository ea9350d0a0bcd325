/**
 * @file Philox 4×32-10, the counter-based generator behind every random operator.
 *
 * Element `index` of the random op that drew generator offset `offset` under seed `seed` is made from
 * `philox(counter = [index, 0, offset, 0], key = [seed, 0])`, all unsigned 32-bit: so any element can
 * be computed alone, on any device, in any order, and compiled code repeats eager's numbers exactly.
 *
 * - uniform: `(word0 >>> 8) * 2⁻²⁴`, in [0, 1);
 * - normal: `sqrt(-2 ln(u1)) * cos(2π u2)` with `u1 = ((word0 >>> 8) + 1) * 2⁻²⁴` in (0, 1] and
 *   `u2 = (word1 >>> 8) * 2⁻²⁴`.
 *
 * @see Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011
 */

const M0 = 0xd2511f53;
const M1 = 0xcd9e8d57;
const W0 = 0x9e3779b9;
const W1 = 0xbb67ae85;

/** High 32 bits of the unsigned product, from products of halves; 32-bit integers of either sign. */
function mulHigh(a: number, b: number): number {
  const al = a & 0xffff;
  const ah = a >>> 16;
  const bl = b & 0xffff;
  const bh = b >>> 16;
  const mid = (Math.imul(ah, bl) + (Math.imul(al, bl) >>> 16)) | 0;
  const mid2 = (Math.imul(al, bh) + (mid & 0xffff)) | 0;
  return (Math.imul(ah, bh) + (mid >>> 16) + (mid2 >>> 16)) | 0;
}

/** The four output words; `out` receives them as unsigned 32-bit integers. */
export function philox(
  c0: number,
  c1: number,
  c2: number,
  c3: number,
  seed: number,
  out: Uint32Array,
): void {
  let k0 = seed | 0;
  let k1 = 0;
  for (let round = 0; round < 10; round++) {
    const low0 = Math.imul(M0, c0);
    const low1 = Math.imul(M1, c2);
    const high0 = mulHigh(M0, c0);
    c0 = mulHigh(M1, c2) ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + W0) | 0;
    k1 = (k1 + W1) | 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

const words = new Uint32Array(4);

/** Uniform number in [0, 1) for element `index`. */
export function philoxUniform(seed: number, offset: number, index: number): number {
  philox(index >>> 0, 0, offset >>> 0, 0, seed, words);
  return (words[0]! >>> 8) * 2 ** -24;
}

/** Standard normal number for element `index`. */
export function philoxNormal(seed: number, offset: number, index: number): number {
  philox(index >>> 0, 0, offset >>> 0, 0, seed, words);
  const u1 = ((words[0]! >>> 8) + 1) * 2 ** -24;
  const u2 = (words[1]! >>> 8) * 2 ** -24;
  return Math.sqrt(-2 * Math.log(u1)) * Math.cos(2 * Math.PI * u2);
}
