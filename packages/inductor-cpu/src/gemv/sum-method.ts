/**
 * @file How sums over weights of a format are made: what a row's values are made into, and the function that sums.
 *
 * Products of integers, in fixed point, are as exact as those of floats. They are faster where the processor multiplies
 * pairs of 16-bit integers in one instruction, for 4 bits only without fused multiply-add.
 */
import type { CodeOptions } from '../body/vector-builder.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { COLUMNS, type SumsTarget } from './column-sums.js';
import { exactSums } from './exact-sums.js';
import {
  type DigitCount,
  type FixedPointRow,
  fixedPointBytes,
  fixedPointRow,
} from './fixed-point-row.js';
import { AT_ONCE, fixedPointSums } from './fixed-point-sums.js';
import { HALF_COLUMNS, HALF_FACTOR, bfloatSums, halfSums } from './half-sums.js';
import type { NarrowWeight, PackedWeight } from './narrow-weight.js';
import { rowParts, rowPartsBytes } from './row-parts.js';
import { int4Sums, int8Sums } from './word-sums.js';

/** What a row's values are arranged as, by a function `(row, out)`. */
export interface Arrangement {
  /** Equal for equal arrangements of equal values. */
  readonly key: string;
  readonly bytes: number;
  make(name: string): WasmFunction;
}

type MakeSums = (target: SumsTarget) => WasmFunction;

/** See the file header. Functions that sum are `(args, col, row, out)`. */
export interface SumMethod {
  /** What values are multiplied by. */
  readonly factor: number;
  /** Null where sums read the values as they are. */
  readonly arrangement: Arrangement | null;
  /** Columns of a call. */
  readonly columns: number;
  readonly sums: MakeSums;
  /** For rows with values that are not finite, of values as they are; null where `sums` serves them. */
  readonly notFinite: MakeSums | null;
}

/** Digits of a row in fixed point, or none. */
function digitsFor({ format }: PackedWeight, options: CodeOptions): DigitCount | 0 {
  if (options.rowBits === 16) return 1;
  return options.pairProducts === true && (format === 'int8' || !options.relaxedSimd) ? 2 : 0;
}

/** k that share a power of two where weights have no groups. */
function ownGroup(depth: number): number {
  return [128, 64].find((group) => depth % group === 0) ?? 32;
}

function fixedPoint(weight: PackedWeight, depth: number, digits: DigitCount): SumMethod {
  const group = weight.scales?.group ?? ownGroup(depth);
  const row: FixedPointRow = { digits, depth, group, inParts: weight.format === 'int4' };
  return {
    factor: 1,
    arrangement: {
      key: `${digits} digits of ${row.inParts ? 'parts' : 'bytes'}, ${group}`,
      bytes: fixedPointBytes(row),
      make: (name) => fixedPointRow(name, row),
    },
    columns: AT_ONCE[weight.format],
    sums: (target) => fixedPointSums(target, weight, row),
    notFinite: (target) => exactSums(target, weight, depth),
  };
}

const plain = (sums: MakeSums, factor = 1): SumMethod => ({
  factor,
  arrangement: null,
  columns: COLUMNS,
  sums,
  notFinite: null,
});

function packedMethod(weight: PackedWeight, depth: number, options: CodeOptions): SumMethod {
  const digits = digitsFor(weight, options);
  if (digits > 0) return fixedPoint(weight, depth, digits as DigitCount);
  if (weight.format === 'int8') return plain((target) => int8Sums(target, weight, depth));
  const { group } = weight.scales;
  return {
    factor: 1,
    arrangement: {
      key: `parts, ${group}`,
      bytes: rowPartsBytes(depth, group),
      make: (name) => rowParts(name, depth, group),
    },
    columns: COLUMNS,
    sums: (target) => int4Sums(target, weight, depth),
    notFinite: (target) => exactSums(target, weight, depth),
  };
}

/** See the file header. */
export function sumMethod(weight: NarrowWeight, depth: number, options: CodeOptions): SumMethod {
  switch (weight.format) {
    case 'float16':
      return {
        ...plain((target) => halfSums(target, weight.row, depth), HALF_FACTOR),
        columns: HALF_COLUMNS,
      };
    case 'bfloat16':
      return plain((target) => bfloatSums(target, weight.row, depth));
    default:
      return packedMethod(weight, depth, options);
  }
}
