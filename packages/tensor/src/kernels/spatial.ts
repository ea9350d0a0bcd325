/**
 * @file Sizes of sliding windows, shared by convolution and pooling.
 */
import { TesseraError } from '@tessera/shared';
import { formatSizes } from '../shape.js';

/** Length of a windowed dimension: in + 2·pad covered by windows of dilation·(kernel-1)+1, every stride. */
export function windowCount(
  size: number,
  kernel: number,
  stride: number,
  padding: number,
  dilation: number,
  ceil = false,
): number {
  const span = size + 2 * padding - dilation * (kernel - 1) - 1;
  const count = (ceil ? Math.ceil(span / stride) : Math.floor(span / stride)) + 1;
  // The last window must start inside the input or its left padding.
  return ceil && (count - 1) * stride >= size + padding ? count - 1 : count;
}

/** A per-dimension parameter: unless it `isStrict`, one number stands for all. @throws invalid-argument */
export function perDimension(
  op: string,
  name: string,
  value: number | readonly number[],
  rank: number,
  isStrict = false,
): readonly number[] {
  const list = typeof value === 'number' ? [value] : value;
  const isList = Array.isArray(list);
  if (isList && list.length === rank) return list;
  if (isList && list.length === 1 && !isStrict) return Array<number>(rank).fill(list[0]!);
  throw new TesseraError(
    'invalid-argument',
    `${op}: ${name} must be ${isStrict ? '' : 'a number or '}${rank} numbers, not ${isList ? formatSizes(list) : typeof list}`,
    { hints: [`Give one ${name} per spatial dimension.`] },
  );
}

/** How windows lie, by dimension. */
interface WindowLists {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

/** Windows have elements and move, and padding adds. @throws invalid-argument */
export function checkWindows(op: string, { kernel, stride, padding, dilation }: WindowLists): void {
  if (![kernel, dilation, stride].flat().some((n) => n < 1) && !padding.some((n) => n < 0)) return;
  throw new TesseraError(
    'invalid-argument',
    `${op}: kernel size, dilation and stride should be greater than zero and padding not negative, but got kernel_size ${formatSizes(kernel)}, dilation ${formatSizes(dilation)}, padding ${formatSizes(padding)}, stride ${formatSizes(stride)}`,
    { hints: ['Give one number per spatial dimension, or one for all.'] },
  );
}

/** Lists padded in front to three spatial dimensions. */
export function toThree(values: readonly number[], fill: number): [number, number, number] {
  return [values.at(-3) ?? fill, values.at(-2) ?? fill, values.at(-1) ?? fill];
}
