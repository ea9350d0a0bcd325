/**
 * @file A weight [N, K] of 8 or 4 bits: how large its words and scales are, products with it, and rows of it.
 */
import { type DeviceType, type Tensor, empty } from '@tessera/tensor';
import {
  dequantizeInt4,
  dequantizeInt8,
  weightInt4packMm,
  weightInt8packMm,
} from '@tessera/tensor/internal';
import type { QuantizeFormat } from './pack-weight.js';

/** See the file header. */
export interface PackedMatrix {
  readonly format: QuantizeFormat;
  /** N and K. */
  readonly sizes: readonly [number, number];
  /** int32 [N, ⌈K · bits / 32⌉] */
  readonly weight: Tensor;
  /** float32: [N] or [K / group, N] for 8 bits, [K / group, N, 2] for 4. */
  readonly scales: Tensor;
}

/** Words and scales with nothing in them. */
export function emptyPacked(
  [rows, columns]: PackedMatrix['sizes'],
  format: QuantizeFormat,
  device: DeviceType,
): { readonly words: Tensor; readonly scales: Tensor } {
  const groups = format.group === undefined ? [] : [columns / format.group];
  const sizes = [...groups, rows, ...(format.bits === 4 ? [2] : [])];
  return {
    words: empty([rows, Math.ceil((columns * format.bits) / 32)], { dtype: 'int32', device }),
    scales: empty(sizes, { device }),
  };
}

/** Bytes of words and scales. */
export function packedBytes({ weight, scales }: PackedMatrix): number {
  return 4 * (weight.numel + scales.numel);
}

/** The format in a few words, for a module's description. */
export function formatRepr({ bits, group }: QuantizeFormat): string {
  return `bits=${bits}${group === undefined ? '' : `, group=${group}`}`;
}

/** […, K] → […, N] */
export function packedProduct(input: Tensor, matrix: PackedMatrix): Tensor {
  const { format, weight, scales, sizes } = matrix;
  const rows = input.reshape([-1, sizes[1]]);
  const product =
    format.bits === 8
      ? weightInt8packMm(rows, weight, scales)
      : weightInt4packMm(rows, weight, format.group, scales);
  return product.reshape([...input.sizes.slice(0, -1), sizes[0]]);
}

/** Rows by index as float32, […] → […, K]. */
export function packedRows(ids: Tensor, matrix: PackedMatrix): Tensor {
  const { format, weight, scales, sizes } = matrix;
  const flat = ids.reshape([-1]);
  const words = weight.indexSelect(0, flat);
  const own = scales.indexSelect(scales.ndim === 1 ? 0 : 1, flat);
  const rows =
    format.bits === 8
      ? dequantizeInt8(words, own, sizes[1])
      : dequantizeInt4(words, format.group, own);
  return rows.reshape([...ids.sizes, sizes[1]]);
}
