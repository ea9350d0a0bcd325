/**
 * @file Weights of few bits as peers store them: whole numbers in blocks with one scale each, zero in the middle.
 */

/** Whole numbers of a weight's blocks, row by row, from 0 to 2^bits - 1, and the blocks' scales. */
export interface WeightBlocks {
  readonly wholes: Uint8Array;
  readonly scales: Float32Array;
}

/** Rounds blocks of `size` values. What is farthest from zero stands for the lowest number. */
export function toBlocks(values: Float32Array, bits: 4 | 8, size: number): WeightBlocks {
  const middle = 2 ** (bits - 1);
  const wholes = new Uint8Array(values.length);
  const scales = new Float32Array(values.length / size);
  for (let block = 0; block < scales.length; block++) {
    const begin = block * size;
    let farthest = 0;
    for (let i = begin; i < begin + size; i++)
      if (Math.abs(values[i]!) > Math.abs(farthest)) farthest = values[i]!;
    const scale = (scales[block] = farthest / -middle);
    const perScale = scale === 0 ? 0 : 1 / scale;
    for (let i = begin; i < begin + size; i++) {
      const whole = Math.round(values[i]! * perScale) + middle;
      wholes[i] = Math.max(0, Math.min(2 * middle - 1, whole));
    }
  }
  return { wholes, scales };
}

/** Two numbers of four bits to a byte, neighbours together, the first in the low bits. */
export function inPairs(wholes: Uint8Array): Uint8Array {
  return Uint8Array.from(
    { length: wholes.length / 2 },
    (_, i) => wholes[2 * i]! | (wholes[2 * i + 1]! << 4),
  );
}
