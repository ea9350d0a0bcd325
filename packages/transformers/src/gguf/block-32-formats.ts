/**
 * @file The rounded types of GGUF files with one scale for 32 numbers.
 *
 * @see `ggml-quants.c` of ggml
 */
import { type RoundedFormat, f16, rounded, signed } from './rounded-formats.js';

/** Number `i` of 32 in the halves of 16 bytes: the lower halves come first. */
export function half(from: Uint8Array, at: number, i: number): number {
  return i < 16 ? from[at + i]! & 15 : from[at + i - 16]! >> 4;
}

/** The fifth bits of 32 numbers lie in 4 bytes of their own. */
function fiveBits(from: Uint8Array, bits: number, halves: number, i: number): number {
  return half(from, halves, i) | (((from[bits + (i >> 3)]! >> (i & 7)) & 1) << 4);
}

/** What 4 bits stand for in the types IQ4: numbers that lie closer together around zero. */
export const UNEVEN = [
  -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
] as const;

/** A scale, 32 halves of bytes: the lower ones come first. */
export const Q4_0: RoundedFormat = rounded(32, {
  bytes: 18,
  bits: 4,
  center: 8,
  read(from, at, { wholes, scales }) {
    scales[0] = f16(from, at);
    for (let i = 0; i < 32; i++) wholes[i] = half(from, at + 2, i);
  },
});

/** A scale, 32 bytes with sign. */
export const Q8_0: RoundedFormat = rounded(32, {
  bytes: 34,
  bits: 8,
  read(from, at, { wholes, scales }) {
    scales[0] = f16(from, at);
    for (let i = 0; i < 32; i++) wholes[i] = signed(from[at + 2 + i]!);
  },
});

/** A scale, what is added, 32 halves of bytes. */
export const Q4_1: RoundedFormat = rounded(32, {
  bytes: 20,
  bits: 4,
  hasOffsets: true,
  read(from, at, { wholes, scales, offsets }) {
    scales[0] = f16(from, at);
    offsets[0] = -f16(from, at + 2);
    for (let i = 0; i < 32; i++) wholes[i] = half(from, at + 4, i);
  },
});

/** A scale, fifth bits, 32 halves of bytes. */
export const Q5_0: RoundedFormat = rounded(32, {
  bytes: 22,
  bits: 8,
  read(from, at, { wholes, scales }) {
    scales[0] = f16(from, at);
    for (let i = 0; i < 32; i++) wholes[i] = fiveBits(from, at + 2, at + 6, i) - 16;
  },
});

/** A scale, what is added, fifth bits, 32 halves of bytes. */
export const Q5_1: RoundedFormat = rounded(32, {
  bytes: 24,
  bits: 8,
  hasOffsets: true,
  read(from, at, { wholes, scales, offsets }) {
    scales[0] = f16(from, at);
    offsets[0] = -f16(from, at + 2);
    for (let i = 0; i < 32; i++) wholes[i] = fiveBits(from, at + 4, at + 8, i);
  },
});

/** A scale, 32 halves of bytes that choose an uneven number. */
export const IQ4_NL: RoundedFormat = rounded(32, {
  bytes: 18,
  bits: 8,
  read(from, at, { wholes, scales }) {
    scales[0] = f16(from, at);
    for (let i = 0; i < 32; i++) wholes[i] = UNEVEN[half(from, at + 2, i)]!;
  },
});
