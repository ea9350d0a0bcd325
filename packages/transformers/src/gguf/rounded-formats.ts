/**
 * @file What the rounded types of GGUF files have in common: small whole numbers in groups that share a scale, and in
 * some a value that is taken off.
 */
import { type BlockFormat, halfToNumber } from '@tessera/tensor/internal';

export const u16 = (bytes: Uint8Array, at: number): number => bytes[at]! | (bytes[at + 1]! << 8);
export const f16 = (bytes: Uint8Array, at: number): number => halfToNumber(u16(bytes, at));
export const signed = (byte: number): number => (byte << 24) >> 24;

/** What a block says: whole numbers, and for each group of them a scale and what is taken off. */
export interface RoundedBlock {
  readonly wholes: Int8Array;
  readonly scales: Float32Array;
  readonly offsets: Float32Array;
}

/** See the file header: the number of whole `q` is `(q - center) · scale - offset` of its group. */
export interface RoundedFormat extends BlockFormat {
  /** What whole numbers take in products: those of 4 bits come in groups of 32. */
  readonly bits: 4 | 8;
  /** Numbers that share a scale. */
  readonly group: number;
  readonly center: number;
  /** Whether something is taken off but the center. */
  readonly hasOffsets: boolean;
  /** Takes the block at byte `at` apart. */
  readonly read: (from: Uint8Array, at: number, block: RoundedBlock) => void;
}

/** Memory for what a block says. */
export function blockOf({
  elements,
  group,
}: Pick<RoundedFormat, 'elements' | 'group'>): RoundedBlock {
  const groups = elements / group;
  return {
    wholes: new Int8Array(elements),
    scales: new Float32Array(groups),
    offsets: new Float32Array(groups),
  };
}

/** What differs from format to format; most have nothing to take off. */
export type RoundedBytes = Pick<RoundedFormat, 'bytes' | 'bits' | 'read'> &
  Partial<Pick<RoundedFormat, 'group' | 'center' | 'hasOffsets'>>;

/** A format of so many numbers in a block, with its reader as floats. Groups are of 32 unless it says otherwise. */
export function rounded(elements: number, own: RoundedBytes): RoundedFormat {
  const format = { group: 32, center: 0, hasOffsets: false, ...own, elements };
  const { bytes, group, center, read } = format;
  return {
    ...format,
    decode(from, out) {
      const block = blockOf(format);
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
}
