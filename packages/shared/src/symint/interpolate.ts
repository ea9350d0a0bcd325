/**
 * @file Interpolation: numbers as sums of multiples of products of sizes, from as many samples as there are products.
 */

/** `sum(factor[i] * products[i]) / divisor`; products with a factor of 0 are left out. */
export interface Combination {
  /** Numbers of products and their factors, in turns. */
  readonly terms: readonly number[];
  readonly divisor: number;
}

/**
 * Per number, the one combination that has its values; null where one has none, or more than one. Fractions are exact: elimination by
 * Bareiss, E. H., "Sylvester's identity and multistep integer-preserving Gaussian elimination" (1968).
 *
 * @param rows products in the samples
 * @param numbers of the samples; all are safe integers
 */
export function interpolate(
  rows: readonly (readonly number[])[],
  numbers: readonly (readonly number[])[],
): readonly Combination[] | null {
  const width = rows[0]!.length;
  const table = rows.map((row, i) => [...row, ...numbers[i]!].map(BigInt));
  let last = 1n;
  for (let column = 0; column < width; column++) {
    const pivot = table.findIndex((row, i) => i >= column && row[column] !== 0n);
    if (pivot < 0) return null;
    [table[column], table[pivot]] = [table[pivot]!, table[column]!];
    const top = table[column]!;
    const head = top[column]!;
    for (const row of table) {
      if (row === top) continue;
      const factor = row[column]!;
      for (let k = 0; k < row.length; k++) row[k] = (head * row[k]! - factor * top[k]!) / last;
    }
    last = head;
  }
  if (table.slice(width).some((row) => row.some((value) => value !== 0n))) return null;
  const found = numbers[0]!.map((_, i) => combination(table, width, width + i));
  return found.every((each) => each !== null) ? found : null;
}

/** What a column of solutions says, all of which have the same divisor. */
function combination(
  table: readonly (readonly bigint[])[],
  width: number,
  column: number,
): Combination | null {
  const values = table.slice(0, width).map((row) => row[column]!);
  const divisor = table[0]![0]!;
  const common = values.reduce(divisorOf, divisor) * (divisor < 0n ? -1n : 1n);
  const terms = values.flatMap((value, i) => (value === 0n ? [] : [i, Number(value / common)]));
  const reduced = Number(divisor / common);
  return [reduced, ...terms].every(Number.isSafeInteger) ? { terms, divisor: reduced } : null;
}

/** The greatest common divisor. */
function divisorOf(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
}
