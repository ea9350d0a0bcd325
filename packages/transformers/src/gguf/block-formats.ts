/**
 * @file The element types of GGUF files: how many numbers are stored together, and what they are.
 *
 * Rounded types hold small whole numbers beside one scale for a block (Q4_0, Q8_0), or in super-blocks of 256 whose
 * parts have scales of their own, which are rounded themselves (Q4_K, Q6_K). @see `ggml-quants.c` of ggml
 */
import { type BlockFormat, bfloatToNumber, halfToNumber } from '@tessera/tensor/internal';

const u16 = (bytes: Uint8Array, at: number): number => bytes[at]! | (bytes[at + 1]! << 8);
const f16 = (bytes: Uint8Array, at: number): number => halfToNumber(u16(bytes, at));
const signed = (byte: number): number => (byte << 24) >> 24;

/** A format from what one block means. */
function blocks(
  bytes: number,
  elements: number,
  one: (from: Uint8Array, at: number, out: Float32Array, to: number) => void,
): BlockFormat {
  return {
    bytes,
    elements,
    decode(from, out) {
      const count = from.byteLength / bytes;
      for (let i = 0; i < count; i++) one(from, i * bytes, out, i * elements);
    },
  };
}

const F32: BlockFormat = {
  bytes: 4,
  elements: 1,
  decode: (from, out) =>
    new Uint8Array(out.buffer as ArrayBuffer, out.byteOffset, from.byteLength).set(from),
};

/** A scale, 32 halves of bytes: the lower ones come first. */
const Q4_0 = blocks(18, 32, (from, at, out, to) => {
  const scale = f16(from, at);
  for (let i = 0; i < 16; i++) {
    const pair = from[at + 2 + i]!;
    out[to + i] = ((pair & 15) - 8) * scale;
    out[to + 16 + i] = ((pair >> 4) - 8) * scale;
  }
});

/** A scale, 32 bytes with sign. */
const Q8_0 = blocks(34, 32, (from, at, out, to) => {
  const scale = f16(from, at);
  for (let i = 0; i < 32; i++) out[to + i] = signed(from[at + 2 + i]!) * scale;
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
const Q4_K = blocks(144, 256, (from, at, out, to) => {
  const [scale, offset] = [f16(from, at), f16(from, at + 2)];
  for (let part = 0; part < 8; part++) {
    const [factor, less] = sixBits(from, at + 4, part);
    const d = Math.fround(scale * factor);
    const m = Math.fround(offset * less);
    const words = at + 16 + 32 * (part >> 1);
    const shift = 4 * (part & 1);
    for (let i = 0; i < 32; i++)
      out[to + 32 * part + i] = Math.fround(d * ((from[words + i]! >> shift) & 15)) - m;
  }
});

/** 256 numbers of 6 bits, lower halves and upper quarters apart; 16 scales of bytes, a scale. */
const Q6_K = blocks(210, 256, (from, at, out, to) => {
  const scale = f16(from, at + 208);
  for (let i = 0; i < 256; i++) {
    const [half, row, column] = [i >> 7, (i >> 5) & 3, i & 31];
    const low = from[at + 64 * half + 32 * (row & 1) + column]! >> (row > 1 ? 4 : 0);
    const high = from[at + 128 + 32 * half + column]! >> (2 * row);
    const word = ((low & 15) | ((high & 3) << 4)) - 32;
    out[to + i] = Math.fround(scale * signed(from[at + 192 + (i >> 4)]!)) * word;
  }
});

/** A type of elements, by its number in files. */
export interface GgufType {
  readonly name: string;
  readonly format: BlockFormat;
}

/** See the file header. */
export const GGUF_TYPES: ReadonlyMap<number, GgufType> = new Map([
  [0, { name: 'F32', format: F32 }],
  [1, { name: 'F16', format: blocks(2, 1, (b, at, out, to) => (out[to] = f16(b, at))) }],
  [2, { name: 'Q4_0', format: Q4_0 }],
  [8, { name: 'Q8_0', format: Q8_0 }],
  [12, { name: 'Q4_K', format: Q4_K }],
  [14, { name: 'Q6_K', format: Q6_K }],
  [
    30,
    {
      name: 'BF16',
      format: blocks(2, 1, (b, at, out, to) => (out[to] = bfloatToNumber(u16(b, at)))),
    },
  ],
]);
