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
import type { Combination } from './interpolate.js';
import { type Size, sizeMod } from './size.js';

/** Degree up to which polynomials are determined: batches of tables of scores are b * n * n. */
const DEGREE = 3;
/** Products that polynomials may have, which is how many samples determine them: those of four sizes. */
const MOST_TERMS = 35;
/** Samples after which no more are looked at: sizes that vary in so many ways are never determined. */
const MOST_SAMPLES = 64;
/** Sizes of which products of differences are exact are below it. */
const EXACT = 2 ** 25;
/** Modulus of the rank: products of residues are exact numbers. */
const PRIME = 67_108_859;

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

/** What polynomials of sizes are made of, as lists of numbers: they are read when caches have forgotten them. */
interface Basis {
  /** Sizes that never change, and their values, in turns. */
  readonly fixed: readonly number[];
  /**
   * How sizes go together with others in all samples: `(size - at) * run = (other - otherAt) * slope`, as `size`, `at`,
   * `other`, `otherAt`, `run` and `slope`.
   */
  readonly relations: readonly number[];
  readonly free: readonly FreeSize[];
  readonly products: readonly Product[];
  /** Of each product but the first: which one it is a product of, and the size. */
  readonly factors: readonly number[];
}

/**
 * See the file header. Samples do not change: there is one object for each sequence of them, so that numbers which were
 * seen at the same sizes share what is computed of those.
 */
export class SizeSamples {
  /** Those with one more sample, by its sizes. */
  private readonly further = new Map<string, SizeSamples>();
  /** Undefined until it is asked for, null while the samples determine nothing. */
  private known: Basis | null | undefined;
  /** Polynomials that numbers are, each as its divisor, how many terms it has, and the products and their factors in turns. */
  private readonly polynomials: number[] = [];
  private readonly places = new Map<string, number>();
  /** The sizes that were asked for last, and what they give, for those who would ask again. */
  last: readonly number[] | null = null;
  /** The values of the polynomials at these: NaN where one is no whole number, or not exact; null where nothing is known. */
  values: readonly number[] | null = null;
  private found: readonly number[] | null = null;

  constructor(readonly list: readonly (readonly number[])[] = []) {}

  /** These and one more; null if it is there already, or of another number of sizes, or one too many. */
  with(sizes: readonly number[]): SizeSamples | null {
    const { list } = this;
    if (list.length === MOST_SAMPLES || (list[0] ?? sizes).length !== sizes.length) return null;
    if (list.some((sample) => sample.every((size, i) => size === sizes[i]))) return null;
    const key = sizes.join();
    const known = this.further.get(key);
    if (known !== undefined) return known;
    const more = new SizeSamples([...list, [...sizes]]);
    // Longer sequences are of numbers that are seldom determined: each has its own.
    if (list.length < MOST_TERMS) this.further.set(key, more);
    return more;
  }

  /** The products of sizes that determined polynomials are sums of; none while there are none. */
  get products(): readonly Product[] {
    return this.known?.products ?? [];
  }

  /** Which of the `values` a polynomial is, which is computed from now on: numbers of several lists may be the same one. */
  valueOf({ terms, divisor }: Combination): number {
    const key = `${divisor};${terms.join()}`;
    let place = this.places.get(key);
    if (place === undefined) {
      this.places.set(key, (place = this.places.size));
      this.polynomials.push(divisor, terms.length / 2, ...terms);
      this.last = null;
    }
    return place;
  }

  /**
   * The values of the products at sizes, a list that does not change; null where the samples do not determine polynomials.
   * One function: it seldom runs, so nothing inlines what it calls.
   */
  at(sizes: readonly number[]): readonly number[] | null {
    if (this.last === sizes) return this.found;
    this.last = sizes;
    this.found = this.values = null;
    const basis = this.known === undefined ? (this.known = determined(this.list)) : this.known;
    if (basis === null || sizes.length !== this.list[0]!.length) return null;
    const { fixed, relations, free, factors } = basis;
    for (let i = 0; i < fixed.length; i += 2) if (sizes[fixed[i]!] !== fixed[i + 1]) return null;
    for (let i = 0; i < relations.length; i += 6) {
      const from = sizes[relations[i]!]! - relations[i + 1]!;
      const other = sizes[relations[i + 2]!]! - relations[i + 3]!;
      if (from * relations[i + 4]! !== other * relations[i + 5]!) return null;
    }
    for (let i = 0; i < free.length; i++) {
      const { size, values } = free[i]!;
      if (values !== null && !values.has(sizes[size]!)) return null;
    }
    // Products of differences of such numbers are exact.
    for (let i = 0; i < sizes.length; i++) {
      const size = sizes[i]!;
      if ((size | 0) !== size || size >= EXACT || size <= -EXACT) return null;
    }
    const products = [1];
    for (let i = 0; i < factors.length; i += 2)
      products.push(products[factors[i]!]! * sizes[factors[i + 1]!]!);
    const { polynomials } = this;
    const values: number[] = [];
    for (let i = 0; i < polynomials.length;) {
      const divisor = polynomials[i]!;
      const end = i + 2 + 2 * polynomials[i + 1]!;
      let sum = 0;
      for (i += 2; i < end; i += 2) {
        sum += polynomials[i + 1]! * products[polynomials[i]!]!;
        // It would not be exact.
        if (!(sum <= Number.MAX_SAFE_INTEGER && sum >= -Number.MAX_SAFE_INTEGER)) sum = NaN;
      }
      // A quotient that came out even in all samples may not here.
      if (divisor !== 1) sum = sum % divisor === 0 ? sum / divisor : NaN;
      // See `SizeProgram.run`.
      values.push((sum | 0) === sum ? sum | 0 : sum);
    }
    this.values = values;
    return (this.found = products);
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

/** What polynomials are made of that samples determine; null if they do not. */
function determined(samples: readonly (readonly number[])[]): Basis | null {
  if (samples.length === 0) return null;
  if (!samples.flat().every((size) => Number.isInteger(size) && Math.abs(size) < EXACT))
    return null;
  const fixed: number[] = [];
  const free: FreeSize[] = [];
  const relations: number[] = [];
  for (let size = 0; size < samples[0]!.length; size++) {
    const first = samples[0]![size]!;
    if (samples.every((sample) => sample[size] === first)) {
      fixed.push(size, first);
      continue;
    }
    const before = free.map((other) => other.size);
    const relation = relationOf(samples, size, before);
    if (relation !== null) {
      relations.push(...relation);
      continue;
    }
    const values = new Set(samples.map((sample) => sample[size]!));
    free.push({ size, values: values.size > DEGREE ? null : values });
  }
  const products = productsOf(free);
  if (products.length > Math.min(MOST_TERMS, samples.length)) return null;
  const factors = products.slice(1).flatMap(({ of, size }) => [of, size]);
  const rows = samples.map((sample) => residuesAt(products, sample));
  return hasFullRank(rows) ? { fixed, relations, free, products, factors } : null;
}

/** How a size follows one of those before it, as in `Basis.relations`; null if it does not. */
function relationOf(
  samples: readonly (readonly number[])[],
  size: number,
  before: readonly number[],
): readonly number[] | null {
  const [first, ...others] = samples;
  const at = first[size]!;
  for (const other of before) {
    const otherAt = first[other]!;
    const far = others.find((sample) => sample[other] !== otherAt)!;
    const run = far[other]! - otherAt;
    const slope = far[size]! - at;
    if (others.every((each) => (each[size]! - at) * run === (each[other]! - otherAt) * slope))
      return [size, at, other, otherAt, run, slope];
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

/** Products of sizes, modulo a prime. */
function residuesAt(products: readonly Product[], sizes: readonly number[]): number[] {
  const values = [1];
  for (const { of, size } of products.slice(1))
    values.push((residue(sizes[size]!) * values[of]!) % PRIME);
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
