/**
 * @file A rounded matrix of a GGUF file as words and scales: what products take, without floats in between.
 *
 * The whole numbers and scales are those of the file; of 4 bits, what is taken off becomes the zero of a group. Numbers of
 * more bits have no zero in products: the types that take something off them (Q2_K, Q5_1, Q5_K) are read as floats.
 */
import type { BlockParts } from '@tessera/tensor/internal';
import type { GgufTensor } from './gguf-header.js';
import { type RoundedFormat, blockOf } from './rounded-formats.js';

/** Names that the matrices of linear maps and tables have in files. */
const MATRIX =
  /^(?:token_embd|output|blk\.\d+\.(?:attn_(?:q|k|v|qkv|output)|ffn_(?:gate|up|down)))\.weight$/;

/** What scales have behind the name of their weight, until they get their own. */
export const SCALES = '.scales';

/** The middle of what 4 bits hold, which products take off. */
const MIDDLE = 8;

/** The words of whole numbers, `bits` each, the first lowest. */
function packWords(words: Int32Array, at: number, wholes: Int8Array, bits: number): void {
  const perWord = 32 / bits;
  const mask = 2 ** bits - 1;
  for (let i = 0; i < wholes.length; i += perWord) {
    let word = 0;
    for (let part = 0; part < perWord; part++) word |= (wholes[i + part]! & mask) << (part * bits);
    words[at + i / perWord] = word;
  }
}

function partsOf(sizes: readonly [number, number], format: RoundedFormat): BlockParts {
  const { bytes, elements, bits, group, center, read } = format;
  const [rows, columns] = sizes;
  const groups = columns / group;
  const block = blockOf(format);
  const { wholes, scales, offsets } = block;
  return {
    parts: [
      { suffix: '', dtype: 'int32', sizes: [rows, (columns * bits) / 32] },
      { suffix: SCALES, dtype: 'float32', sizes: [rows, groups, ...(bits === 4 ? [2] : [])] },
    ],
    write(from, index, [words, steps]) {
      const count = from.byteLength / bytes;
      for (let b = 0; b < count; b++) {
        read(from, b * bytes, block);
        const first = (index + b) * elements;
        packWords(words as Int32Array, (first * bits) / 32, wholes, bits);
        for (let g = 0; g < scales.length; g++) {
          const at = first / group + g;
          if (bits === 8) steps![at] = scales[g]!;
          else {
            steps![2 * at] = scales[g]!;
            steps![2 * at + 1] = (MIDDLE - center) * scales[g]! - offsets[g]!;
          }
        }
      }
    },
  };
}

/** The tensor in parts, if it is a rounded matrix that a layer takes; else as it is. */
export function packedTensor(tensor: GgufTensor): GgufTensor {
  const { name, sizes, format } = tensor;
  if (!('read' in format) || !MATRIX.test(name) || sizes.length !== 2) return tensor;
  const rounded = format as RoundedFormat;
  if (rounded.bits === 8 && rounded.hasOffsets) return tensor;
  return { ...tensor, parts: partsOf(sizes as [number, number], rounded) };
}
