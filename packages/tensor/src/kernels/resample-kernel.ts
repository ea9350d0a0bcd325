/**
 * @file Reference kernel of operators that are linear along each spatial dimension: padding by mirroring
 * or repeating, and resizing. Every output position reads a few input positions with weights.
 */
import { toThree } from './spatial.js';

/** Input positions along one dimension that an output position reads, with their weights. */
export interface Taps {
  readonly at: readonly number[];
  readonly weights: readonly number[];
}

/** Taps of every output position along a dimension. */
export type TapTable = readonly Taps[];

const WHOLE: TapTable = [{ at: [0], weights: [1] }];

/** Calls `visit(output, input, weight)` for every pair of positions in every plane. */
function forEachTap(
  planes: number,
  input: readonly number[],
  tables: readonly TapTable[],
  visit: (output: number, input: number, weight: number) => void,
): void {
  const [depth, height, width] = toThree(input, 1);
  const missing = Array.from({ length: 3 - tables.length }, () => WHOLE);
  const [deep, high, wide] = [...missing, ...tables];
  const plane = depth * height * width;
  let output = 0;
  for (let p = 0; p < planes; p++) {
    for (const z of deep)
      for (const y of high)
        for (const x of wide) {
          for (let i = 0; i < z.at.length; i++)
            for (let j = 0; j < y.at.length; j++) {
              const row = p * plane + (z.at[i]! * height + y.at[j]!) * width;
              const weight = z.weights[i]! * y.weights[j]!;
              for (let k = 0; k < x.at.length; k++)
                visit(output, row + x.at[k]!, weight * x.weights[k]!);
            }
          output++;
        }
  }
}

function countOf(planes: number, tables: readonly TapTable[]): number {
  return tables.reduce((count, table) => count * table.length, planes);
}

/** The output [planes, …] of an input with spatial sizes `input`. */
export function resample(
  x: Float64Array,
  planes: number,
  input: readonly number[],
  tables: readonly TapTable[],
): Float64Array {
  const out = new Float64Array(countOf(planes, tables));
  // A tap without weight takes part all the same: beside what is infinite the result is NaN, as in PyTorch.
  forEachTap(planes, input, tables, (to, from, weight) => (out[to]! += weight * x[from]!));
  return out;
}

/** The transpose: gradient of the input from the gradient of the output. */
export function resampleBackward(
  grad: Float64Array,
  planes: number,
  input: readonly number[],
  tables: readonly TapTable[],
): Float64Array {
  const out = new Float64Array(input.reduce((count, size) => count * size, planes));
  forEachTap(planes, input, tables, (from, to, weight) => (out[to]! += weight * grad[from]!));
  return out;
}
