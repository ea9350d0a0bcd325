/**
 * @file The element types of GGUF files: how many numbers are stored together, and what they are.
 */
import { type BlockFormat, bfloatToNumber } from '@tessera/tensor/internal';
import { IQ4_NL, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 } from './block-32-formats.js';
import { type RoundedFormat, f16, u16 } from './rounded-formats.js';
import { IQ4_XS, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K } from './super-block-formats.js';

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
  decode: (from, out) => new Uint8Array(out.buffer, out.byteOffset, from.byteLength).set(from),
};

/** A type of elements, by its number in files. */
export interface GgufType {
  readonly name: string;
  readonly format: BlockFormat | RoundedFormat;
}

/** See the file header. */
export const GGUF_TYPES: ReadonlyMap<number, GgufType> = new Map([
  [0, { name: 'F32', format: F32 }],
  [1, { name: 'F16', format: blocks(2, 1, (b, at, out, to) => (out[to] = f16(b, at))) }],
  [2, { name: 'Q4_0', format: Q4_0 }],
  [3, { name: 'Q4_1', format: Q4_1 }],
  [6, { name: 'Q5_0', format: Q5_0 }],
  [7, { name: 'Q5_1', format: Q5_1 }],
  [8, { name: 'Q8_0', format: Q8_0 }],
  [10, { name: 'Q2_K', format: Q2_K }],
  [11, { name: 'Q3_K', format: Q3_K }],
  [12, { name: 'Q4_K', format: Q4_K }],
  [13, { name: 'Q5_K', format: Q5_K }],
  [14, { name: 'Q6_K', format: Q6_K }],
  [20, { name: 'IQ4_NL', format: IQ4_NL }],
  [23, { name: 'IQ4_XS', format: IQ4_XS }],
  [
    30,
    {
      name: 'BF16',
      format: blocks(2, 1, (b, at, out, to) => (out[to] = bfloatToNumber(u16(b, at)))),
    },
  ],
]);

/** Names of ggml's types that are not read. */
export const OTHER_TYPES: ReadonlyMap<number, string> = new Map([
  [9, 'Q8_1'],
  [15, 'Q8_K'],
  [16, 'IQ2_XXS'],
  [17, 'IQ2_XS'],
  [18, 'IQ3_XXS'],
  [19, 'IQ1_S'],
  [21, 'IQ3_S'],
  [22, 'IQ2_S'],
  [24, 'I8'],
  [25, 'I16'],
  [26, 'I32'],
  [27, 'I64'],
  [28, 'F64'],
  [29, 'IQ1_M'],
  [34, 'TQ1_0'],
  [35, 'TQ2_0'],
  [39, 'MXFP4'],
  [40, 'NVFP4'],
  [41, 'Q1_0'],
]);
