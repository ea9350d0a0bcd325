/**
 * @file `SampledNumbers`: numbers that a program computes from sizes, known where samples determine them.
 */
import { type Combination, interpolate, valueOf } from './interpolate.js';
import { type Product, SizeSamples, productsAt } from './size-samples.js';

/** A number that varies, and where it is. */
interface Varying {
  readonly places: readonly number[];
  readonly value: Combination;
  readonly isLinear: boolean;
}

/** What samples say of numbers. */
interface Known {
  /** The numbers of the first sample, of which those that vary are other ones. */
  readonly first: readonly number[];
  /** In the order of their first places. */
  readonly varying: readonly Varying[];
  /** What those are made of. */
  readonly products: readonly Product[];
  /** How many numbers there are before one that is not linear in the sizes. */
  readonly linear: number;
}

/** See the file header. Sizes are numbers of symbols and their values, in turns. */
export class SampledNumbers {
  private readonly samples = new SizeSamples();
  private readonly numbers: (readonly number[])[] = [];
  /** Undefined until it is asked for, null if no polynomials have the numbers of all samples. */
  private known: Known | null | undefined;

  /** Notes what the numbers were at sizes; whether that said anything new. */
  add(sizes: readonly number[], numbers: readonly number[]): boolean {
    // What is known already needs no more samples; one that contradicts it leaves nothing that fits all.
    if (this.known === null) return false;
    if (this.at(sizes)?.every((number, i) => number === numbers[i]) === true) return false;
    if (!this.samples.add(sizes)) return false;
    this.numbers.push(numbers);
    this.known = undefined;
    return true;
  }

  /** Whether a number was the same in all samples. */
  isFixed(at: number): boolean {
    return this.numbers.every((numbers) => numbers[at] === this.numbers[0]![at]);
  }

  /** Whether the first so many numbers are linear in the sizes, which are known. */
  areLinear(count: number): boolean {
    return this.known!.linear >= count;
  }

  /**
   * The numbers at sizes; null where the samples do not determine them. A loop over those that vary: it seldom runs, so
   * nothing inlines it.
   *
   * @param count of the first of them; others may be those of another sample
   */
  at(sizes: readonly number[], count: number = Infinity): readonly number[] | null {
    if (!this.samples.determine(sizes)) return null;
    const known = this.known === undefined ? (this.known = this.fit()) : this.known;
    if (known === null) return null;
    const { first, varying, products } = known;
    if (varying.length === 0) return first;
    const values = productsAt(products, sizes);
    const found = first.slice();
    for (let i = 0; i < varying.length; i++) {
      const { places, value } = varying[i]!;
      if (places[0]! >= count) break;
      const number = valueOf(value, values);
      // A quotient that came out even in all samples does not here.
      if (!Number.isInteger(number)) return null;
      for (let k = 0; k < places.length; k++) found[places[k]!] = number;
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
      list.map((sizes) => productsAt(products, sizes)),
      numbers.map((sample) => all.map(([at]) => sample[at!]!)),
    );
    if (found === null) return null;
    const used = new UsedProducts(products);
    const varying = found.map((value, i): Varying => ({
      places: all[i]!,
      value: used.in(value),
      isLinear: value.terms.every((term, k) => k % 2 > 0 || products[term]!.degree < 2),
    }));
    const curved = varying.find(({ isLinear }) => !isLinear);
    return { first, varying, products: used.list, linear: curved?.places[0] ?? Infinity };
  }
}

/** Products that combinations are made of, without those that none needs. */
class UsedProducts {
  readonly list: Product[];
  private readonly places = new Map([[0, 0]]);

  constructor(private readonly all: readonly Product[]) {
    this.list = [all[0]!];
  }

  /** A combination of all products as one of those that are used. */
  in({ terms, divisor }: Combination): Combination {
    return { terms: terms.map((term, i) => (i % 2 > 0 ? term : this.place(term))), divisor };
  }

  private place(product: number): number {
    let found = this.places.get(product);
    if (found === undefined) {
      const { of, ...rest } = this.all[product]!;
      found = this.list.push({ ...rest, of: this.place(of) }) - 1;
      this.places.set(product, found);
    }
    return found;
  }
}
