/**
 * @file The p-norm of a row of numbers.
 */

/** (Σ |x|^p)^(1/p); ±Infinity: largest or smallest magnitude; 0: how many are not 0. */
export function normOf(values: Iterable<number>, p: number): number {
  let total = 0;
  if (p === Infinity) {
    for (const value of values) total = Math.max(total, Math.abs(value));
    return total;
  }
  if (p === -Infinity) {
    let least = Infinity;
    for (const value of values) least = Math.min(least, Math.abs(value));
    return least;
  }
  for (const value of values)
    total += p === 0 ? Number(value !== 0) : p === 2 ? value * value : Math.abs(value) ** p;
  return p === 0 || p === 1 ? total : p === 2 ? Math.sqrt(total) : total ** (1 / p);
}
