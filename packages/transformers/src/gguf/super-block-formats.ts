/**
 * @file The rounded types of GGUF files whose blocks hold 256 numbers: their groups have scales of their own, which are
 * rounded themselves.
 *
 * @see `ggml-quants.c` of ggml
 */
import { UNEVEN, half } from './block-32-formats.js';
import {
  type RoundedBlock,
  type RoundedFormat,
  f16,
  rounded,
  signed,
  u16,
} from './rounded-formats.js';

/** Number `i` of 256 in the quarters of 64 bytes: of each 32 bytes the lowest quarters are 32 numbers, the next 32 more. */
function quarter(from: Uint8Array, at: number, i: number): number {
  return (from[at + 32 * (i >> 7) + (i & 31)]! >> (2 * ((i >> 5) & 3))) & 3;
}

/** Bit of number `i` of 256 in 32 bytes: the lowest bits are those of the first 32. */
function bit(from: Uint8Array, at: number, i: number): number {
  return (from[at + (i & 31)]! >> (i >> 5)) & 1;
}

/** Number `i` of 256 in the halves of 128 bytes: of each 32 bytes the lower ones are 32 numbers, the upper ones the next. */
function halfOf256(from: Uint8Array, at: number, i: number): number {
  return (from[at + 32 * (i >> 6) + (i & 31)]! >> (4 * ((i >> 5) & 1))) & 15;
}

/** 16 bytes of scale and offset, 256 quarters of bytes, scale, offset. */
export const Q2_K: RoundedFormat = rounded(256, {
  bytes: 84,
  bits: 8,
  group: 16,
  hasOffsets: true,
  read(from, at, { wholes, scales, offsets }) {
    const [scale, offset] = [f16(from, at + 80), f16(from, at + 82)];
    for (let part = 0; part < 16; part++) {
      const pair = from[at + part]!;
      scales[part] = scale * (pair & 15);
      offsets[part] = offset * (pair >> 4);
    }
    for (let i = 0; i < 256; i++) wholes[i] = quarter(from, at + 16, i);
  },
});

/** Scale `part` of 16, 6 bits in 12 bytes: 4 bits in the halves of the first 8 bytes, 2 in the quarters of the last 4. */
function signedSixBits(from: Uint8Array, at: number, part: number): number {
  const low = part < 8 ? from[at + part]! & 15 : from[at + part - 8]! >> 4;
  return (low | (((from[at + 8 + (part & 3)]! >> (2 * (part >> 2))) & 3) << 4)) - 32;
}

/** Third bits, 256 quarters of bytes, 12 bytes of scales, a scale. */
export const Q3_K: RoundedFormat = rounded(256, {
  bytes: 110,
  bits: 8,
  group: 16,
  read(from, at, { wholes, scales }) {
    const scale = f16(from, at + 108);
    for (let part = 0; part < 16; part++) scales[part] = scale * signedSixBits(from, at + 96, part);
    for (let i = 0; i < 256; i++)
      wholes[i] = (quarter(from, at + 32, i) | (bit(from, at, i) << 2)) - 4;
  },
});

/**
 * Scale and offset of part `i` of eight, 6 bits each in 12 bytes: those of the first four in the lower bits of the
 * first 8 bytes; of the others 4 bits in the last 4 bytes, and 2 in the upper bits of the first 8.
 */
function sixBits(from: Uint8Array, at: number, i: number): readonly [number, number] {
  if (i < 4) return [from[at + i]! & 63, from[at + i + 4]! & 63];
  const pair = from[at + i + 4]!;
  return [(pair & 15) | ((from[at + i - 4]! >> 6) << 4), (pair >> 4) | ((from[at + i]! >> 6) << 4)];
}

/** Scale, offset, and those of eight parts in 12 bytes. */
function readGroups(from: Uint8Array, at: number, { scales, offsets }: RoundedBlock): void {
  const [scale, offset] = [f16(from, at), f16(from, at + 2)];
  for (let part = 0; part < 8; part++) {
    const [factor, less] = sixBits(from, at + 4, part);
    scales[part] = scale * factor;
    offsets[part] = offset * less;
  }
}

/** Scale, offset, 12 bytes of parts, 256 halves of bytes: of each 32 bytes the lower ones are a part, the upper ones the next. */
export const Q4_K: RoundedFormat = rounded(256, {
  bytes: 144,
  bits: 4,
  hasOffsets: true,
  read(from, at, block) {
    readGroups(from, at, block);
    for (let i = 0; i < 256; i++) block.wholes[i] = halfOf256(from, at + 16, i);
  },
});

/** As Q4_K, with 32 bytes of fifth bits before the halves. */
export const Q5_K: RoundedFormat = rounded(256, {
  bytes: 176,
  bits: 8,
  hasOffsets: true,
  read(from, at, block) {
    readGroups(from, at, block);
    for (let i = 0; i < 256; i++)
      block.wholes[i] = halfOf256(from, at + 48, i) | (bit(from, at + 16, i) << 4);
  },
});

/** 256 numbers of 6 bits, lower halves and upper quarters apart; 16 scales of bytes, a scale. */
export const Q6_K: RoundedFormat = rounded(256, {
  bytes: 210,
  bits: 8,
  group: 16,
  read(from, at, { wholes, scales }) {
    const scale = f16(from, at + 208);
    for (let i = 0; i < 16; i++) scales[i] = scale * signed(from[at + 192 + i]!);
    for (let i = 0; i < 256; i++) {
      const [half, row, column] = [i >> 7, (i >> 5) & 3, i & 31];
      const low = from[at + 64 * half + 32 * (row & 1) + column]! >> (row > 1 ? 4 : 0);
      const high = from[at + 128 + 32 * half + column]! >> (2 * row);
      wholes[i] = ((low & 15) | ((high & 3) << 4)) - 32;
    }
  },
});

/** A scale, upper quarters and lower halves of the scales of eight parts, 256 halves of bytes that choose an uneven number. */
export const IQ4_XS: RoundedFormat = rounded(256, {
  bytes: 136,
  bits: 8,
  read(from, at, { wholes, scales }) {
    const [scale, high] = [f16(from, at), u16(from, at + 2)];
    for (let part = 0; part < 8; part++) {
      const low = (from[at + 4 + (part >> 1)]! >> (4 * (part & 1))) & 15;
      scales[part] = scale * ((low | (((high >> (2 * part)) & 3) << 4)) - 32);
      for (let i = 0; i < 32; i++)
        wholes[32 * part + i] = UNEVEN[half(from, at + 8 + 16 * part, i)]!;
    }
  },
});
