/**
 * @file `SizeSamples`: where numbers that are known for some sizes are known for others.
 *
 * What operators and passes compute from sizes without asking about them is sums and products of them: a polynomial. A
 * polynomial of degree 3 in one size is determined by its values at four sizes, one in two sizes by those at ten that
 * lie in no special way. So two such polynomials that agree on the samples agree wherever the samples determine them.
 *
 * Sizes that went together in all samples (a batch of inputs and of labels), and those that never changed, count as one
 * or none: only choices in which they go together in the same way are determined.
 */
import { type Size } from './size.js';

/** Degree up to which polynomials are determined: batches of tables of scores are b * n * n. */
const DEGREE = 3;
/** Sizes that may vary independently of each other; more would need 35 samples. */
const MOST_FREE = 3;
/** Samples after which no more are looked at: sizes that vary in so many ways are never determined. */
const MOST_SAMPLES = 64;
/** Modulus of the rank: products of residues are exact numbers. */
const PRIME = 67_108_859;

/** How a size goes together with another one in all samples: `(size - at) * run = (other - otherAt) * slope`. */
interface Relation {
  readonly size: number;
  readonly at: number;
  readonly other: number;
  readonly otherAt: number;
  readonly run: number;
  readonly slope: number;
}

/** See the file header. */
export class SizeSamples {
  readonly list: (readonly number[])[] = [];
  private readonly keys = new Set<string>();
  /** Null while the samples determine nothing. */
  private relations: readonly Relation[] | null = null;

  /** Adds the sizes of a sample; false if it is there already, or of another number of sizes, or one too many. */
  add(sizes: readonly number[]): boolean {
    if (this.list.length === MOST_SAMPLES) return false;
    const key = sizes.join();
    if (this.keys.has(key) || (this.list[0] ?? sizes).length !== sizes.length) return false;
    this.keys.add(key);
    this.list.push([...sizes]);
    this.relations = determined(this.list);
    return true;
  }

  /** Whether what is known of the samples determines polynomials for other sizes at all. */
  get suffice(): boolean {
    return this.relations !== null;
  }

  /** Whether the samples determine polynomials at these sizes. */
  determine(sizes: readonly number[]): boolean {
    return (
      this.relations !== null &&
      sizes.length === this.list[0]!.length &&
      sizes.every(isExact) &&
      this.relations.every((relation) => holds(relation, sizes))
    );
  }
}

/** Whether an expression is a polynomial of a degree that samples determine. */
export function isDetermined(size: Size): boolean {
  return degree(size) <= DEGREE;
}

function degree(size: Size): number {
  if (typeof size === 'number') return 0;
  const { kind, args } = size;
  if (kind === 'symbol') return 1;
  if (kind === 'sum') return args.reduce<number>((most, arg) => Math.max(most, degree(arg)), 0);
  if (kind === 'product') return args.reduce<number>((sum, arg) => sum + degree(arg), 0);
  return Infinity;
}

/** Products of differences of such numbers are exact. */
function isExact(size: number): boolean {
  return Number.isInteger(size) && Math.abs(size) < 2 ** 25;
}

function holds(
  { size, at, other, otherAt, run, slope }: Relation,
  sizes: readonly number[],
): boolean {
  return (sizes[size]! - at) * run === ((sizes[other] ?? 0) - otherAt) * slope;
}

/** How sizes go together in samples that determine polynomials of the rest; null if they do not. */
function determined(samples: readonly (readonly number[])[]): readonly Relation[] | null {
  if (!samples.flat().every(isExact)) return null;
  const free: number[] = [];
  const relations: Relation[] = [];
  for (let size = 0; size < samples[0]!.length; size++) {
    const relation = relationOf(samples, size, free);
    if (relation === null) free.push(size);
    else relations.push(relation);
  }
  if (free.length > MOST_FREE) return null;
  const rows = samples.map((sample) => monomials(free.map((size) => sample[size]!)));
  return hasFullRank(rows) ? relations : null;
}

/** That a size never changes, or follows one of those before it; null if it does neither. */
function relationOf(
  samples: readonly (readonly number[])[],
  size: number,
  before: readonly number[],
): Relation | null {
  const [first, ...others] = samples as [readonly number[], ...(readonly number[])[]];
  const at = first[size]!;
  // A size that is not there is 0: what follows it never changes.
  for (const other of [-1, ...before]) {
    const otherAt = first[other] ?? 0;
    const far = others.find((sample) => (sample[other] ?? 0) !== otherAt);
    const run = far === undefined ? 1 : far[other]! - otherAt;
    const slope = far === undefined ? 0 : far[size]! - at;
    const relation = { size, at, other, otherAt, run, slope };
    if (others.every((sample) => holds(relation, sample))) return relation;
  }
  return null;
}

/** All products of at most `DEGREE` of the values. */
function monomials(values: readonly number[], from = 0, degree = DEGREE): number[] {
  const all = [1];
  if (degree === 0) return all;
  for (let i = from; i < values.length; i++)
    for (const rest of monomials(values, i, degree - 1))
      all.push((residue(values[i]!) * rest) % PRIME);
  return all;
}

function residue(value: number): number {
  return ((value % PRIME) + PRIME) % PRIME;
}

/** Whether rows span all columns. A rank that is full modulo a prime is full. */
function hasFullRank(rows: number[][]): boolean {
  const width = rows[0]!.length;
  if (rows.length < width) return false;
  for (let column = 0; column < width; column++) {
    const pivot = rows.findIndex((row, i) => i >= column && row[column] !== 0);
    if (pivot < 0) return false;
    [rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!];
    const top = rows[column]!;
    for (const row of rows.slice(column + 1)) {
      const factor = row[column]!;
      for (let k = column; k < width; k++)
        row[k] = residue(((row[k]! * top[column]!) % PRIME) - ((top[k]! * factor) % PRIME));
    }
  }
  return true;
}
