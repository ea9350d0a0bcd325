/**
 * @file References of functions that work row by row: the last row is kept, as elements are asked for in
 * runs.
 */

/** A function of an element's index in a matrix, from one that computes a whole row. */
export function rowReference(
  data: Float32Array,
  columns: number,
  rowOf: (row: Float32Array) => Float64Array,
): (index: number) => number {
  let current = -1;
  let values: Float64Array = new Float64Array(0);
  return (index) => {
    const row = Math.floor(index / columns);
    if (row !== current) {
      current = row;
      values = rowOf(data.subarray(row * columns, (row + 1) * columns));
    }
    return values[index - row * columns]!;
  };
}
