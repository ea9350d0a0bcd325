/**
 * @file `SizeSamples`: where numbers that are known for some sizes are known for others.
 *
 * What operators and passes compute from sizes without asking about them is sums and products of them: a polynomial. A
 * polynomial of degree 3 in one size is determined by its values at four sizes, one in two sizes by those at ten that
 * lie in no special way. So two such polynomials that agree on the samples agree wherever the samples determine them.
 *
 * Sizes that went together in all samples (a batch of inputs and of labels), and those that never changed, count as one
 * or none: only choices in which they go together in the same way are determined. A size that had two or three values
 * (the remainder of another one) needs no higher power than those tell apart, and is determined at those alone.
 */
import { type Size, sizeMod } from './size.js';

/** Degree up to which polynomials are determined: batches of tables of scores are b * n * n. */
const DEGREE = 3;
/** Products that polynomials may have, which is how many samples determine them: those of three sizes. */
const MOST_TERMS = 20;
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

/** A size that varies by itself. */
interface FreeSize {
  readonly size: number;
  /** The values that it had, where they are so few that they bound its power; null for any. */
  readonly values: ReadonlySet<number> | null;
}

/** A product of sizes: another one, and one more size. The first one is 1. */
export interface Product {
  readonly of: number;
  readonly size: number;
  readonly degree: number;
}

/** What polynomials of sizes are made of. */
interface Basis {
  /** Sizes that never change, and their values, in turns. */
  readonly fixed: readonly number[];
  readonly relations: readonly Relation[];
  readonly free: readonly FreeSize[];
  readonly products: readonly Product[];
}

/** See the file header. */
export class SizeSamples {
  readonly list: (readonly number[])[] = [];
  private readonly keys = new Set<string>();
  /** Undefined until it is asked for, null while the samples determine nothing. */
  private known: Basis | null | undefined = null;

  /** Adds the sizes of a sample; false if it is there already, or of another number of sizes, or one too many. */
  add(sizes: readonly number[]): boolean {
    if (this.list.length === MOST_SAMPLES) return false;
    const key = sizes.join();
    if (this.keys.has(key) || (this.list[0] ?? sizes).length !== sizes.length) return false;
    this.keys.add(key);
    this.list.push([...sizes]);
    this.known = undefined;
    return true;
  }

  private get basis(): Basis | null {
    if (this.known === undefined) this.known = determined(this.list);
    return this.known;
  }

  /** Whether what is known of the samples determines polynomials for other sizes at all. */
  get suffice(): boolean {
    return this.basis !== null;
  }

  /** The products of sizes that determined polynomials are sums of. */
  get products(): readonly Product[] {
    return this.basis!.products;
  }

  /** Whether the samples determine polynomials at these sizes. Loops: it seldom runs, so nothing inlines it. */
  determine(sizes: readonly number[]): boolean {
    const { basis } = this;
    if (basis === null || sizes.length !== this.list[0]!.length) return false;
    const { fixed, relations, free } = basis;
    for (let i = 0; i < fixed.length; i += 2) if (sizes[fixed[i]!] !== fixed[i + 1]) return false;
    for (let i = 0; i < relations.length; i++) if (!holds(relations[i]!, sizes)) return false;
    for (let i = 0; i < free.length; i++) {
      const { size, values } = free[i]!;
      const value = sizes[size]!;
      if (values === null ? !isExact(value) : !values.has(value)) return false;
    }
    return true;
  }
}

/** Whether an expression, with its remainders, is a polynomial of a degree that samples determine. */
export function isDetermined(size: Size): boolean {
  return degree(size) <= DEGREE;
}

function degree(size: Size): number {
  if (typeof size === 'number') return 0;
  const { kind, args } = size;
  switch (kind) {
    case 'symbol':
      return 1;
    case 'sum':
      return args.reduce<number>((most, arg) => Math.max(most, degree(arg)), 0);
    case 'product':
      return args.reduce<number>((sum, arg) => sum + degree(arg), 0);
    case 'floordiv':
      return typeof args[1] === 'number' ? degree(args[0]!) : Infinity;
    case 'mod':
      return typeof args[1] === 'number' ? 1 : Infinity;
    default:
      return Infinity;
  }
}

/** The remainders with which an expression that is determined is a polynomial: of what it divides by numbers. */
export function remaindersIn(size: Size): readonly Size[] {
  if (typeof size === 'number') return [];
  const below = size.args.flatMap(remaindersIn);
  if (size.kind === 'mod') return [...below, size];
  return size.kind === 'floordiv' ? [...below, sizeMod(size.args[0]!, size.args[1]!)] : below;
}

/** Products of differences of such numbers are exact. */
function isExact(size: number): boolean {
  return Number.isInteger(size) && Math.abs(size) < 2 ** 25;
}

function holds(
  { size, at, other, otherAt, run, slope }: Relation,
  sizes: readonly number[],
): boolean {
  const value = sizes[size]!;
  return isExact(value) && (value - at) * run === (sizes[other]! - otherAt) * slope;
}

/** What polynomials are made of that samples determine; null if they do not. */
function determined(samples: readonly (readonly number[])[]): Basis | null {
  if (!samples.flat().every(isExact)) return null;
  const fixed: number[] = [];
  const free: FreeSize[] = [];
  const relations: Relation[] = [];
  for (let size = 0; size < samples[0]!.length; size++) {
    const first = samples[0]![size]!;
    if (samples.every((sample) => sample[size] === first)) {
      fixed.push(size, first);
      continue;
    }
    const before = free.map((other) => other.size);
    const relation = relationOf(samples, size, before);
    if (relation !== null) {
      relations.push(relation);
      continue;
    }
    const values = new Set(samples.map((sample) => sample[size]!));
    free.push({ size, values: values.size > DEGREE ? null : values });
  }
  const products = productsOf(free);
  if (products.length > Math.min(MOST_TERMS, samples.length)) return null;
  const times = (a: number, b: number): number => (residue(a) * b) % PRIME;
  const rows = samples.map((sample) => productsAt(products, sample, times));
  return hasFullRank(rows) ? { fixed, relations, free, products } : null;
}

/** That a size follows one of those before it; null if it does not. */
function relationOf(
  samples: readonly (readonly number[])[],
  size: number,
  before: readonly number[],
): Relation | null {
  const [first, ...others] = samples;
  const at = first[size]!;
  for (const other of before) {
    const otherAt = first[other]!;
    const far = others.find((sample) => sample[other] !== otherAt)!;
    const relation = {
      size,
      at,
      other,
      otherAt,
      run: far[other]! - otherAt,
      slope: far[size]! - at,
    };
    if (others.every((sample) => holds(relation, sample))) return relation;
  }
  return null;
}

/** All products of at most `DEGREE` of the sizes that are free, each a product before it and one more size. */
function productsOf(free: readonly FreeSize[]): readonly Product[] {
  const all: Product[] = [{ of: -1, size: -1, degree: 0 }];
  for (const { size, values } of free) {
    const most = values === null ? DEGREE : values.size - 1;
    for (let i = 0, before = all.length; i < before; i++) {
      let [of, { degree }] = [i, all[i]!];
      for (let power = 1; power <= most && degree < DEGREE; power++) {
        all.push({ of, size, degree: ++degree });
        of = all.length - 1;
      }
    }
  }
  return all;
}

/** Products of sizes. */
export function productsAt(
  products: readonly Product[],
  sizes: readonly number[],
  times: ((a: number, b: number) => number) | null = null,
): number[] {
  const values = [1];
  for (let i = 1; i < products.length; i++) {
    const { of, size } = products[i]!;
    const a = sizes[size]!;
    const b = values[of]!;
    values.push(times === null ? a * b : times(a, b));
  }
  return values;
}

function residue(value: number): number {
  return ((value % PRIME) + PRIME) % PRIME;
}

/** Whether rows span all columns. A rank that is full modulo a prime is full. */
function hasFullRank(rows: number[][]): boolean {
  const width = rows[0]!.length;
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
