/**
 * @file The rounded types of GGUF files: small whole numbers beside one scale for a block (Q4_0, Q8_0), or in super-blocks
 * of 256 whose groups have scales of their own, which are rounded themselves (Q4_K, Q6_K).
 *
 * @see `ggml-quants.c` of ggml
 */
import { type BlockFormat, halfToNumber } from '@tessera/tensor/internal';

export const u16 = (bytes: Uint8Array, at: number): number => bytes[at]! | (bytes[at + 1]! << 8);
export const f16 = (bytes: Uint8Array, at: number): number => halfToNumber(u16(bytes, at));
const signed = (byte: number): number => (byte << 24) >> 24;

/** What a block says: whole numbers, and for each group of them a scale and what is taken off. */
export interface RoundedBlock {
  readonly wholes: Int8Array;
  readonly scales: Float32Array;
  readonly offsets: Float32Array;
}

/** See the file header: the number of whole `q` is `(q - center) · scale - offset` of its group. */
export interface RoundedFormat extends BlockFormat {
  /** Of whole numbers. */
  readonly bits: 4 | 8;
  /** Numbers that share a scale. */
  readonly group: number;
  readonly center: number;
  /** Takes the block at byte `at` apart. */
  readonly read: (from: Uint8Array, at: number, block: RoundedBlock) => void;
}

/** Memory for what a block says. */
export function blockOf({ elements, group }: RoundedFormat): RoundedBlock {
  const groups = elements / group;
  return {
    wholes: new Int8Array(elements),
    scales: new Float32Array(groups),
    offsets: new Float32Array(groups),
  };
}

function rounded(format: Omit<RoundedFormat, 'decode'>): RoundedFormat {
  const { bytes, elements, group, center, read } = format;
  const whole: RoundedFormat = {
    ...format,
    decode(from, out) {
      const block = blockOf(whole);
      const { wholes, scales, offsets } = block;
      const count = from.byteLength / bytes;
      for (let b = 0; b < count; b++) {
        read(from, b * bytes, block);
        for (let i = 0; i < elements; i++) {
          const at = Math.floor(i / group);
          out[b * elements + i] = Math.fround(scales[at]! * (wholes[i]! - center)) - offsets[at]!;
        }
      }
    },
  };
  return whole;
}

/** A scale, 32 halves of bytes: the lower ones come first. */
export const Q4_0: RoundedFormat = rounded({
  bytes: 18,
  elements: 32,
  bits: 4,
  group: 32,
  center: 8,
  read(from, at, { wholes, scales }) {
    scales[0] = f16(from, at);
    for (let i = 0; i < 16; i++) {
      const pair = from[at + 2 + i]!;
      wholes[i] = pair & 15;
      wholes[16 + i] = pair >> 4;
    }
  },
});

/** A scale, 32 bytes with sign. */
export const Q8_0: RoundedFormat = rounded({
  bytes: 34,
  elements: 32,
  bits: 8,
  group: 32,
  center: 0,
  read(from, at, { wholes, scales }) {
    scales[0] = f16(from, at);
    for (let i = 0; i < 32; i++) wholes[i] = signed(from[at + 2 + i]!);
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

/** Scale, offset, 12 bytes of parts, 256 halves of bytes: of each 32 bytes the lower ones are a part, the upper ones the next. */
export const Q4_K: RoundedFormat = rounded({
  bytes: 144,
  elements: 256,
  bits: 4,
  group: 32,
  center: 0,
  read(from, at, { wholes, scales, offsets }) {
    const [scale, offset] = [f16(from, at), f16(from, at + 2)];
    for (let part = 0; part < 8; part++) {
      const [factor, less] = sixBits(from, at + 4, part);
      scales[part] = scale * factor;
      offsets[part] = offset * less;
      const pairs = at + 16 + 32 * (part >> 1);
      const shift = 4 * (part & 1);
      for (let i = 0; i < 32; i++) wholes[32 * part + i] = (from[pairs + i]! >> shift) & 15;
    }
  },
});

/** 256 numbers of 6 bits, lower halves and upper quarters apart; 16 scales of bytes, a scale. */
export const Q6_K: RoundedFormat = rounded({
  bytes: 210,
  elements: 256,
  bits: 8,
  group: 16,
  center: 0,
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
