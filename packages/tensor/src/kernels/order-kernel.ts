/**
 * @file Choosing by order: the k-th smallest element of a row, the median, the most common value.
 *
 * Which of several equal elements is named matters to callers, so these follow PyTorch's own procedures
 * (median-of-three quickselect, order by value then position, first longest run).
 */

/** Whether `a` comes after `b`: NaN counts as the largest value. */
function after(a: number, b: number): boolean {
  return (Number.isNaN(a) && !Number.isNaN(b)) || a > b;
}

/** Position of the k-th smallest element (k from 0), by quickselect with the median of three as pivot. */
export function selectPosition(row: Float64Array, k: number): number {
  const values = Float64Array.from(row);
  const order = Int32Array.from(row, (_, i) => i);
  const swap = (i: number, j: number): void => {
    [values[i], values[j]] = [values[j]!, values[i]!];
    [order[i], order[j]] = [order[j]!, order[i]!];
  };
  const swapIfAfter = (i: number, j: number): void => {
    if (after(values[i]!, values[j]!)) swap(i, j);
  };
  let left = 0;
  let right = row.length - 1;
  while (right > left) {
    if (right === left + 1) {
      swapIfAfter(left, right);
      break;
    }
    swap(left + Math.floor((right - left) / 2), left + 1);
    swapIfAfter(left + 1, right);
    swapIfAfter(left, right);
    swapIfAfter(left + 1, left);
    const pivot = values[left]!;
    let i = left + 1;
    let j = right;
    for (;;) {
      do i++;
      while (after(pivot, values[i]!));
      do j--;
      while (after(values[j]!, pivot));
      if (j < i) break;
      swap(i, j);
    }
    swap(left, j);
    if (j <= k) left = i;
    if (j >= k) right = j - 1;
  }
  return order[k]!;
}

/** Positions in ascending order, NaN last, equal elements in order of position. */
export function ascending(row: Float64Array): number[] {
  return Array.from(row, (_, i) => i).sort((i, j) =>
    after(row[i]!, row[j]!) ? 1 : after(row[j]!, row[i]!) ? -1 : i - j,
  );
}

/** Position of the lower median: of the first NaN if there is one, unless those are left out. */
export function medianPosition(row: Float64Array, skipNan: boolean): number {
  const nans = row.reduce((count, value) => count + (Number.isNaN(value) ? 1 : 0), 0);
  if (nans > 0 && !skipNan) return row.findIndex((value) => Number.isNaN(value));
  const known = row.length - nans;
  return ascending(row)[Math.max(0, Math.floor((known - 1) / 2))]!;
}

/** Position of the most common value, the smallest of several; the last of its occurrences. */
export function modePosition(row: Float64Array): number {
  const order = ascending(row);
  let best = 0;
  let longest = 0;
  let length = 0;
  order.forEach((position, i) => {
    length++;
    const next = order[i + 1];
    if (next !== undefined && row[next] === row[position]) return;
    if (length > longest) {
      best = position;
      longest = length;
    }
    length = 0;
  });
  return best;
}
