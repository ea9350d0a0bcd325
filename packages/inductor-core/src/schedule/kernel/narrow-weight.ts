/**
 * @file Weights of fewer than 32 bits, and how a row lies that is multiplied with them.
 *
 * Element (column n, step k) of an operand is a 16-bit float, or a part of an int32 word: 8 bits with a sign, with or
 * without a scale for each group of k, or 4 bits with a scale and a zero for each group (`_weight_int8pack_mm` and
 * `_weight_int4pack_mm` as they are lowered).
 */
import type { DType } from '@tessera/tensor';

/** A place in a buffer that moves with the column alone, in elements. */
export interface ColumnPlace {
  readonly buf: string;
  readonly constant: number;
  /** From one column to the next. */
  readonly step: number;
}

/** Scales that groups of k share, float32. */
export interface GroupScales {
  /** k of a group. */
  readonly group: number;
  readonly scale: ColumnPlace;
  /** Elements from one group to the next. */
  readonly groupStep: number;
}

/** Parts of words; `row` is where a column's begin. */
export type PackedWeight =
  | { readonly format: 'int8'; readonly row: ColumnPlace; readonly scales: GroupScales | null }
  | {
      readonly format: 'int4';
      readonly row: ColumnPlace;
      readonly scales: GroupScales;
      /** Elements from a scale to the zero that belongs to it. */
      readonly zeroStep: number;
    };

/** See the file header; `row` is where a column's elements begin. */
export type NarrowWeight =
  | PackedWeight
  | { readonly format: 'float16'; readonly row: ColumnPlace }
  | { readonly format: 'bfloat16'; readonly row: ColumnPlace };

/**
 * How values of a row are arranged for weights that are integers, in groups of k. Where one of them is not finite, they
 * are not: products then are of the values themselves.
 *
 * - `digits`: in fixed point, as so many integers of 16 bits each, with what all columns share of a group. `inParts`: in the
 *   order in which bytes of two parts take them.
 * - `parts`: as floats, in the order in which words of eight parts take them, with the sum of each group.
 */
export type RowForm =
  | {
      readonly kind: 'digits';
      readonly digits: 1 | 2;
      readonly group: number;
      readonly inParts: boolean;
    }
  | { readonly kind: 'parts'; readonly group: number };

/** Bytes of a group. */
export function groupBytes(form: RowForm): number {
  const { group } = form;
  if (form.kind === 'parts') return 4 * group + 16;
  const { digits, inParts } = form;
  return 2 * digits * group + 16 * (inParts ? digits + 2 : 1);
}

/** Bytes of the groups of a row. Behind them it says whether a value is not finite. */
export function rowFormBytes(form: RowForm, depth: number): number {
  return (depth / form.group) * groupBytes(form);
}

/** The array of a row that is arranged. */
export function rowFormArray(
  form: RowForm,
  depth: number,
): { readonly dtype: DType; readonly length: number } {
  const bytes = rowFormBytes(form, depth) + 16;
  return form.kind === 'parts'
    ? { dtype: 'float32', length: bytes / 4 }
    : { dtype: 'int16', length: bytes / 2 };
}
