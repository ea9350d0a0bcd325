/**
 * @file How sums over weights of a format are made: how the row lies, what its values are multiplied by, and how many
 * columns are summed at a time.
 *
 * Products of integers, in fixed point, are as exact as those of floats. They are faster where the processor multiplies
 * pairs of 16-bit integers in one instruction, for 4 bits only without fused multiply-add.
 */
import type { NarrowWeight, PackedWeight, RowForm } from '../../kernel/narrow-weight.js';
import type { VectorTarget } from '../../vectors/vector-target.js';

/** A machine with vectors, as far as products with narrow weights must know it. */
export interface GemvTarget extends Pick<VectorTarget, 'scratchBytes'> {
  /** Whether pairs of 16-bit integers are multiplied and added up in one instruction. */
  readonly pairProducts: boolean;
  /** Whether a product is added before it is rounded, in one instruction. */
  readonly fusedMultiplyAdd: boolean;
  /** Bits of a row's values that are wanted. */
  readonly rowBits: 16 | 32;
}

/** See the file header. */
export interface RowMethod {
  /** Absent where sums read the values as they are. */
  readonly form?: RowForm;
  readonly factor: number;
  /** Columns that are summed at a time: their sums fit registers, beside what weights are taken apart with. */
  readonly columns: number;
}

/**
 * What a row is multiplied by for float16: weights are read with their bits moved to where float32 has them, which is too
 * small by 2^112, twice this exponent.
 */
export const HALF_FACTOR: number = 2 ** 56;

/** Columns at a time, unless a method says otherwise. */
const COLUMNS = 4;

/** Digits of a row in fixed point, or none. */
function digitsFor({ format }: PackedWeight, target: GemvTarget): 0 | 1 | 2 {
  if (target.rowBits === 16) return 1;
  return target.pairProducts && (format === 'int8' || !target.fusedMultiplyAdd) ? 2 : 0;
}

/** k that share a power of two where weights have no groups. */
function ownGroup(depth: number): number {
  return [128, 64].find((group) => depth % group === 0) ?? 32;
}

/** See the file header. */
export function rowMethod(weight: NarrowWeight, depth: number, target: GemvTarget): RowMethod {
  if (weight.format === 'float16') return { factor: HALF_FACTOR, columns: 2 };
  if (weight.format === 'bfloat16') return { factor: 1, columns: COLUMNS };
  const inParts = weight.format === 'int4';
  const digits = digitsFor(weight, target);
  const group = weight.scales?.group ?? ownGroup(depth);
  if (digits > 0)
    return {
      form: { kind: 'digits', digits: digits as 1 | 2, group, inParts },
      factor: 1,
      columns: inParts ? 2 : COLUMNS,
    };
  return {
    ...(inParts && { form: { kind: 'parts', group } }),
    factor: 1,
    columns: COLUMNS,
  };
}
