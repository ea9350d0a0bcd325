/**
 * @file `HostArray`: an input as plain data, before an engine makes its own tensor of it.
 */

/** Values in row-major order; int64 values are held as 32-bit integers. */
export interface HostArray {
  readonly dtype: 'float32' | 'int64';
  readonly data: Float32Array | Int32Array;
  readonly shape: readonly number[];
}

/** Number of elements of a shape. */
export function numelOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** A float32 array. */
export function floats(shape: readonly number[], data: Float32Array): HostArray {
  return { dtype: 'float32', data, shape };
}

/** An int64 array. */
export function integers(shape: readonly number[], data: Int32Array): HostArray {
  return { dtype: 'int64', data, shape };
}

/** The transpose of a matrix. [R, C] → [C, R] */
export function transposed({ data, shape }: HostArray): HostArray {
  const [rows, columns] = shape as [number, number];
  const out = new Float32Array(data.length);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) out[c * rows + r] = data[r * columns + c]!;
  }
  return floats([columns, rows], out);
}
