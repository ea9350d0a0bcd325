/**
 * @file Float weights → whole numbers of 8 or 4 bits in words of 32, with the scales that bring them back.
 */
import { type Tensor, fromTypedArray } from '@tessera/tensor';

/**
 * How weights are stored: 8 bits with a scale for each row, or for each group of columns; 4 bits with scale and zero for
 * each group.
 */
export type QuantizeFormat =
  | {
      readonly bits: 8;
      /** Columns that share a scale: 16, 32, 64 or 128; default: the row. */ readonly group?: number;
    }
  | { readonly bits: 4; /** Columns that share a scale: 32, 64 or 128. */ readonly group: number };

/** Whether a value is a format. */
export function isFormat(value: {
  readonly bits: number;
  readonly group?: number | undefined;
}): value is QuantizeFormat {
  const { bits, group } = value;
  if (bits === 4) return [32, 64, 128].includes(group!);
  return bits === 8 && (group === undefined || [16, 32, 64, 128].includes(group));
}

/** A weight [N, K] in words. */
export interface PackedWeight {
  /** int32 [N, ⌈K · bits / 32⌉], see `weightInt8packMm` and `weightInt4packMm`. */
  readonly words: Tensor;
  /** [N] or [K / group, N] for 8 bits; [K / group, N, 2] with scale and zero for 4. */
  readonly scales: Tensor;
  /** ‖W - dequantized‖ / ‖W‖. */
  readonly error: number;
}

/** Numbers of one row being packed, and what they lose. */
class Packer {
  readonly words: Int32Array;
  private readonly width: number;
  private lost = 0;
  private total = 0;

  constructor(
    rows: number,
    columns: number,
    private readonly bits: number,
  ) {
    this.width = Math.ceil((columns * bits) / 32);
    this.words = new Int32Array(rows * this.width);
  }

  /** Stores a whole number for a value that it stands for as `back`. */
  put(row: number, column: number, whole: number, value: number, back: number): void {
    const perWord = 32 / this.bits;
    const at = row * this.width + Math.floor(column / perWord);
    const masked = whole & (2 ** this.bits - 1);
    this.words[at]! |= masked << ((column % perWord) * this.bits);
    this.lost += (value - back) ** 2;
    this.total += value ** 2;
  }

  get error(): number {
    return this.total === 0 ? 0 : Math.sqrt(this.lost / this.total);
  }

  finish(rows: number, scales: Float32Array, sizes: readonly number[]): PackedWeight {
    return {
      words: fromTypedArray(this.words, [rows, this.width]),
      scales: fromTypedArray(scales, sizes),
      error: this.error,
    };
  }
}

/** The largest number of a row, or of a group in it, stands for ±127. */
function toInt8(
  values: ArrayLike<number>,
  rows: number,
  columns: number,
  group: number | undefined,
): PackedWeight {
  const packer = new Packer(rows, columns, 8);
  const width = group ?? columns;
  const groups = columns / width;
  const scales = new Float32Array(groups * rows);
  for (let n = 0; n < rows; n++)
    for (let g = 0; g < groups; g++) {
      const start = n * columns + g * width;
      let largest = 0;
      for (let i = 0; i < width; i++) largest = Math.max(largest, Math.abs(values[start + i]!));
      const scale = (scales[g * rows + n] = Math.fround(largest / 127));
      for (let i = 0; i < width; i++) {
        const value = values[start + i]!;
        const whole = scale === 0 ? 0 : Math.max(-127, Math.min(127, Math.round(value / scale)));
        packer.put(n, g * width + i, whole, value, whole * scale);
      }
    }
  return packer.finish(rows, scales, group === undefined ? [rows] : [groups, rows]);
}

/** The least number of a group stands for 0, the greatest for 15. */
function toInt4(
  values: ArrayLike<number>,
  rows: number,
  columns: number,
  group: number,
): PackedWeight {
  const packer = new Packer(rows, columns, 4);
  const groups = columns / group;
  const scales = new Float32Array(groups * rows * 2);
  for (let n = 0; n < rows; n++)
    for (let g = 0; g < groups; g++) {
      const start = n * columns + g * group;
      let [low, high] = [Infinity, -Infinity];
      for (let i = 0; i < group; i++) {
        low = Math.min(low, values[start + i]!);
        high = Math.max(high, values[start + i]!);
      }
      const at = 2 * (g * rows + n);
      // The zero is what 8 stands for.
      const scale = (scales[at] = Math.fround((high - low) / 15));
      const zero = (scales[at + 1] = Math.fround(low + 8 * scale));
      for (let i = 0; i < group; i++) {
        const value = values[start + i]!;
        const nearest = scale === 0 ? 8 : Math.round((value - zero) / scale) + 8;
        const whole = Math.max(0, Math.min(15, nearest));
        packer.put(n, g * group + i, whole, value, (whole - 8) * scale + zero);
      }
    }
  return packer.finish(rows, scales, [groups, rows, 2]);
}

/** Packs a weight [N, K]; the result is on the CPU. */
export async function packWeight(weight: Tensor, format: QuantizeFormat): Promise<PackedWeight> {
  const [rows, columns] = weight.sizes;
  const values = (await weight.detach().to('float32').contiguous().toTypedArray()) as Float32Array;
  return format.bits === 8
    ? toInt8(values, rows, columns, format.group)
    : toInt4(values, rows, columns, format.group);
}
