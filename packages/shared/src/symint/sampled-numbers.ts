/**
 * @file `SampledNumbers`: numbers that a program computes from sizes, known where samples determine them.
 */
import { interpolate } from './interpolate.js';
import { SizeSamples } from './size-samples.js';

/** What samples say of numbers. */
interface Known {
  /** The numbers of the first sample, of which those that vary are other ones. */
  readonly first: readonly number[];
  /**
   * Those that vary, in the order of their first places, each as: the divisor of a combination of products, how many terms
   * it has, the products and their factors in turns, how many places it has, and the places.
   */
  readonly varying: readonly number[];
}

/** See the file header. Sizes are numbers of symbols and their values, in turns. */
export class SampledNumbers {
  private readonly numbers: (readonly number[])[] = [];
  /** Undefined until it is asked for, null if no polynomials have the numbers of all samples. */
  private known: Known | null | undefined;
  /** How many numbers there are before one that is not linear in the sizes; none while they are not known. */
  linear = 0;

  /** @param samples none; numbers that begin with the same ones share what is computed of sizes */
  constructor(private samples: SizeSamples = new SizeSamples()) {}

  /** Notes what the numbers were at sizes; whether that said anything new. */
  add(sizes: readonly number[], numbers: readonly number[]): boolean {
    // What is known already needs no more samples; one that contradicts it leaves nothing that fits all.
    if (this.known === null) return false;
    if (this.at(sizes)?.every((number, i) => number === numbers[i]) === true) return false;
    const samples = this.samples.with(sizes);
    if (samples === null) return false;
    this.samples = samples;
    this.numbers.push(numbers);
    this.known = undefined;
    return true;
  }

  /** Whether a number was the same in all samples. */
  isFixed(at: number): boolean {
    return this.numbers.every((numbers) => numbers[at] === this.numbers[0]![at]);
  }

  /**
   * The numbers at sizes; null where the samples do not determine them. A loop over a list: it seldom runs, so nothing
   * inlines what it calls, and caches have forgotten what it reads.
   *
   * @param count of the first of them; others may be those of another sample
   */
  at(sizes: readonly number[], count: number = Infinity): readonly number[] | null {
    const { samples } = this;
    const products = samples.last === sizes ? samples.found : samples.at(sizes);
    if (products === null) return null;
    const known = this.known === undefined ? (this.known = this.fit()) : this.known;
    if (known === null) return null;
    const { first, varying } = known;
    if (varying.length === 0) return first;
    const found = first.slice();
    for (let i = 0; i < varying.length;) {
      const divisor = varying[i]!;
      const places = i + 2 + 2 * varying[i + 1]!;
      if (varying[places + 1]! >= count) break;
      let sum = 0;
      for (i += 2; i < places; i += 2) {
        sum += varying[i + 1]! * products[varying[i]!]!;
        // It would not be exact.
        if (!(sum <= Number.MAX_SAFE_INTEGER && sum >= -Number.MAX_SAFE_INTEGER)) return null;
      }
      // A quotient that came out even in all samples may not here.
      if (sum % divisor !== 0) return null;
      const end = places + 1 + varying[places]!;
      const quotient = sum / divisor;
      // See `SizeProgram.run`.
      const number = (quotient | 0) === quotient ? quotient | 0 : quotient;
      for (i = places + 1; i < end; i++) found[varying[i]!] = number;
    }
    return found;
  }

  private fit(): Known | null {
    const { list, products } = this.samples;
    const { numbers } = this;
    if (!numbers.flat().every(Number.isSafeInteger)) return null;
    const [first] = numbers;
    // Most numbers never change, or are those of others.
    const columns = new Map<string, number[]>();
    first.forEach((_, at) => {
      if (this.isFixed(at)) return;
      const key = numbers.map((sample) => sample[at]!).join();
      const places = columns.get(key);
      if (places === undefined) columns.set(key, [at]);
      else places.push(at);
    });
    const all = [...columns.values()];
    const found = interpolate(
      list.map((sizes) => this.samples.at(sizes)!),
      numbers.map((sample) => all.map(([at]) => sample[at!]!)),
    );
    if (found === null) return null;
    const curved = found.findIndex(({ terms }) =>
      terms.some((term, k) => k % 2 === 0 && products[term]!.degree > 1),
    );
    const varying = found.flatMap(({ terms, divisor }, i) => {
      const places = all[i]!;
      return [divisor, terms.length / 2, ...terms, places.length, ...places];
    });
    this.linear = all[curved]?.[0] ?? Infinity;
    return { first, varying };
  }
}
