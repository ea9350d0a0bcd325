/**
 * @file Order within rows of numbers: stable sorting, the best few, the k-th smallest, the median, the most common.
 *
 * NaN is the largest number, and equal to itself; 0 and -0 are equal. Rows are sorted by the bits of their numbers, a
 * byte at a time from the last one: bytes that all numbers share cost nothing.
 * Which of several equal elements is named matters to callers, so kthvalue and mode follow PyTorch's own procedures
 * (median-of-three quickselect, first longest run); the others name the first in order of position.
 */

/** Rows of numbers; those of float32 are ordered where they lie. */
export type RowValues = Float32Array | Float64Array;

/** Rows up to this long are sorted by insertion. */
const SHORT = 64;

/** Whether `a` comes after `b`. */
function after(a: number, b: number): boolean {
  return a > b || (a !== a && b === b);
}

/** Orders rows that lie one after the other in `values`, which stay as they are; its memory serves row after row. */
export class RowOrder {
  /** Positions in the row that was ordered last. */
  readonly order: Int32Array;
  private readonly spare: Int32Array;
  private readonly words: Int32Array;
  private readonly spareWords: Int32Array;
  private readonly taken: Float64Array;
  private readonly counts = new Int32Array(4 << 8);
  private keys: readonly Int32Array[] = [];
  /** How many elements that equal the one selected last came before it. */
  private passed = 0;

  constructor(
    private readonly values: RowValues,
    private readonly length: number,
  ) {
    this.order = new Int32Array(length);
    this.spare = new Int32Array(length);
    this.words = new Int32Array(length);
    this.spareWords = new Int32Array(length);
    this.taken = new Float64Array(length);
  }

  /** The elements of a row, until the next one is read. */
  row(start: number): Float64Array {
    const { taken, values, length } = this;
    for (let i = 0; i < length; i++) taken[i] = values[start + i]!;
    return taken;
  }

  /** Positions in ascending or descending order; of equal elements, in order of position. */
  sort(start: number, descending = false): Int32Array {
    const { order, length } = this;
    for (let i = 0; i < length; i++) order[i] = i;
    this.sortFirst(length, start, descending);
    return order;
  }

  /** Positions of the first `count` of the sorted row come first. */
  sortBest(start: number, count: number, descending: boolean): Int32Array {
    const { order, values, length } = this;
    // Candidates are collected behind the best so far, and all sorted when there are as many again.
    const most = Math.min(length, 2 * count + 8);
    let found = 0;
    let limit = NaN;
    for (let i = 0; i < length && count > 0; i++) {
      const value = values[start + i]!;
      if (descending ? value <= limit : value >= limit) continue;
      order[found++] = i;
      if (found < most) continue;
      this.sortFirst(found, start, descending);
      found = count;
      limit = values[start + order[count - 1]!]!;
    }
    this.sortFirst(found, start, descending);
    return order;
  }

  /** Sorts the first `count` positions of `order` by their elements. */
  private sortFirst(count: number, start: number, descending: boolean): void {
    if (count > SHORT) {
      if (this.keys.length === 0) this.keys = keysOf(this.values);
      for (const words of this.keys) this.sortByWord(words, count, start, descending ? -1 : 0);
      return;
    }
    const { order, values } = this;
    for (let i = 1; i < count; i++) {
      const position = order[i]!;
      const value = values[start + position]!;
      let to = i;
      for (; to > 0; to--) {
        const other = values[start + order[to - 1]!]!;
        if (!(descending ? after(value, other) : after(other, value))) break;
        order[to] = order[to - 1]!;
      }
      order[to] = position;
    }
  }

  /** Sorts by unsigned integers, with all bits turned if `flip` is -1. */
  private sortByWord(keys: Int32Array, count: number, start: number, flip: number): void {
    const { counts } = this;
    let from = this.order;
    let to = this.spare;
    let words = this.words;
    let moved = this.spareWords;
    counts.fill(0);
    for (let i = 0; i < count; i++) {
      const word = keys[start + from[i]!]! ^ flip;
      words[i] = word;
      counts[word & 255]!++;
      counts[256 + ((word >>> 8) & 255)]!++;
      counts[512 + ((word >>> 16) & 255)]!++;
      counts[768 + (word >>> 24)]!++;
    }
    for (let digit = 0; digit < 4; digit++) {
      const shift = digit << 3;
      const base = digit << 8;
      if (counts[base + ((words[0]! >>> shift) & 255)] === count) continue;
      for (let i = base, sum = 0; i < base + 256; i++) {
        const here = counts[i]!;
        counts[i] = sum;
        sum += here;
      }
      for (let i = 0; i < count; i++) {
        const word = words[i]!;
        const place = counts[base + ((word >>> shift) & 255)]!++;
        moved[place] = word;
        to[place] = from[i]!;
      }
      [from, to, words, moved] = [to, from, moved, words];
    }
    if (from !== this.order) for (let i = 0; i < count; i++) to[i] = from[i]!;
  }

  /** Position of the k-th smallest element (k from 0), by quickselect with the median of three as pivot. */
  select(start: number, k: number): number {
    const { order, length } = this;
    const keys = this.row(start);
    if (hasNan(keys)) keys.set(ranks(keys, this.sort(start)));
    for (let i = 0; i < length; i++) order[i] = i;
    quickselect(keys, order, k);
    this.passed = 0;
    for (let i = 0; i < k; i++) if (keys[i] === keys[k]) this.passed++;
    return order[k]!;
  }

  /** Position of the lower median: of the first NaN if there is one, unless those are left out. */
  median(start: number, skipNan: boolean): number {
    const { values, length } = this;
    let nans = 0;
    let firstNan = 0;
    for (let i = length - 1; i >= 0; i--)
      if (values[start + i] !== values[start + i]) {
        nans++;
        firstNan = i;
      }
    if (nans === length || (nans > 0 && !skipNan)) return firstNan;
    const value = values[start + this.select(start, (length - nans - 1) >> 1)]!;
    // Of equal elements the one that a stable sort puts there.
    let at = -1;
    for (let left = this.passed; left >= 0;) if (values[start + ++at] === value) left--;
    return at;
  }

  /** Position of the most common value, the smallest of several; the last of its occurrences. */
  mode(start: number): number {
    const { values, length } = this;
    const order = this.sort(start);
    let best = 0;
    let longest = 0;
    for (let first = 0, i = 1; i <= length; i++) {
      // A NaN equals nothing here, itself included.
      if (i < length && values[start + order[i]!] === values[start + order[i - 1]!]) continue;
      if (i - first > longest) {
        best = order[i - 1]!;
        longest = i - first;
      }
      first = i;
    }
    return best;
  }
}

function hasNan(row: Float64Array): boolean {
  for (let i = 0; i < row.length; i++) if (row[i] !== row[i]) return true;
  return false;
}

/**
 * Unsigned integers in the order of the numbers, the last ones first: one for each number that float32 holds, else two,
 * for the halves of float64. Of the bits of negative numbers all are turned, of others the sign.
 */
function keysOf(values: RowValues): Int32Array[] {
  const floats = values instanceof Float32Array ? values : new Float32Array(values);
  let isSingle = true;
  if (floats !== values)
    for (let i = 0; isSingle && i < floats.length; i++)
      isSingle = floats[i] === values[i] || values[i] !== values[i];
  const { buffer, byteOffset, length } = isSingle ? floats : values;
  const step = isSingle ? 1 : 2;
  const bits = new Int32Array(buffer, byteOffset, step * length);
  const low = new Int32Array(length);
  const high = isSingle ? low : new Int32Array(length);
  for (let i = 0; i < length; i++) {
    const value = values[i]!;
    const top = bits[step * i + step - 1]!;
    const sign = top >> 31;
    const isNan = value !== value;
    if (!isSingle) low[i] = isNan ? -1 : value === 0 ? 0 : bits[2 * i]! ^ sign;
    high[i] = isNan ? -1 : value === 0 ? 1 << 31 : top ^ (sign | (1 << 31));
  }
  return isSingle ? [high] : [low, high];
}

/** For each element the number of smaller values in the row: numbers in the same order, none of them NaN. */
function ranks(row: Float64Array, order: Int32Array): Float64Array {
  const found = new Float64Array(row.length);
  for (let i = 1, rank = 0; i < row.length; i++) {
    if (after(row[order[i]!]!, row[order[i - 1]!]!)) rank++;
    found[order[i]!] = rank;
  }
  return found;
}

/** Exchanges keys, and with them `order`, until the k-th smallest is in its place: step by step as PyTorch does. */
function quickselect(keys: Float64Array, order: Int32Array, k: number): void {
  const swap = (i: number, j: number): void => {
    const key = keys[i]!;
    keys[i] = keys[j]!;
    keys[j] = key;
    const position = order[i]!;
    order[i] = order[j]!;
    order[j] = position;
  };
  const swapIfAfter = (i: number, j: number): void => {
    if (keys[i]! > keys[j]!) swap(i, j);
  };
  let left = 0;
  let right = keys.length - 1;
  while (right > left) {
    if (right === left + 1) {
      swapIfAfter(left, right);
      break;
    }
    swap((left + right) >>> 1, left + 1);
    swapIfAfter(left + 1, right);
    swapIfAfter(left, right);
    swapIfAfter(left + 1, left);
    const pivot = keys[left]!;
    let i = left + 1;
    let j = right;
    for (;;) {
      do i++;
      while (pivot > keys[i]!);
      do j--;
      while (keys[j]! > pivot);
      if (j < i) break;
      swap(i, j);
    }
    swap(left, j);
    if (j <= k) left = i;
    if (j >= k) right = j - 1;
  }
}
