/**
 * @file Resizing of 8-bit images in integers, one dimension after the other: PyTorch's fixed-point path.
 *
 * Weights are integers of as many bits as keep the largest below 2¹⁵; each pass rounds and saturates.
 * @see separable_upsample_generic_Nd_kernel_impl
 */
import type { TapTable } from './resample-kernel.js';
import { numelOf } from '../shape.js';

const MOST_BITS = 22;

function bitsFor(table: TapTable): number {
  const largest = Math.max(...table.flatMap(({ weights }) => weights));
  let bits = 0;
  while (bits < MOST_BITS && Math.trunc(0.5 + largest * 2 ** (bits + 1)) < 2 ** 15) bits++;
  return bits;
}

/** Resizes one dimension of [outer, size, inner]. */
function pass(
  x: Float64Array,
  outer: number,
  size: number,
  inner: number,
  table: TapTable,
): Float64Array {
  const bits = bitsFor(table);
  const weights = table.map((taps) =>
    taps.weights.map((w) => Math.trunc(w * 2 ** bits + (w < 0 ? -0.5 : 0.5))),
  );
  const out = new Float64Array(outer * table.length * inner);
  for (let i = 0; i < out.length; i++) {
    const o = Math.floor(i / inner) % table.length;
    const base = Math.floor(i / inner / table.length) * size * inner + (i % inner);
    let total = 2 ** (bits - 1);
    table[o]!.at.forEach((at, t) => (total += weights[o]![t]! * x[base + at * inner]!));
    out[i] = Math.min(Math.max(Math.floor(total / 2 ** bits), 0), 255);
  }
  return out;
}

/** The output [planes, …] of an input with spatial sizes `input`. */
export function resampleBytes(
  x: Float64Array,
  planes: number,
  input: readonly number[],
  tables: readonly TapTable[],
): Float64Array {
  let result = x;
  const sizes = [...input];
  for (let d = input.length - 1; d >= 0; d--) {
    const before = sizes.slice(0, d).reduce((a, b) => a * b, planes);
    const after = numelOf(sizes.slice(d + 1));
    if (tables[d]!.length !== sizes[d] || tables[d]!.some(({ at }) => at.length > 1))
      result = pass(result, before, sizes[d]!, after, tables[d]!);
    sizes[d] = tables[d]!.length;
  }
  return result;
}
