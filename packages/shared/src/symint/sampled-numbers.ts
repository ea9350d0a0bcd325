/**
 * @file `SampledNumbers`: numbers that a program computes from sizes, known where samples determine them.
 */
import { interpolate } from './interpolate.js';
import { SizeSamples } from './size-samples.js';

/** See the file header. Sizes are numbers of symbols and their values, in turns. */
export class SampledNumbers {
  private readonly numbers: (readonly number[])[] = [];
  /** `varying`; undefined until it is asked for. */
  private known: readonly number[] | null | undefined;
  /** How many numbers there are before one that is not linear in the sizes; none while they are not known. */
  linear = 0;

  /** @param samples none; numbers that begin with the same ones share what is computed of sizes */
  constructor(public samples: SizeSamples = new SizeSamples()) {}

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
  private isFixed(at: number): boolean {
    return this.numbers.every((numbers) => numbers[at] === this.numbers[0]![at]);
  }

  /**
   * Which numbers vary, and which of the `values` of the samples they are, in turns; null where no polynomials have those of
   * all samples. Asked where the samples determine something.
   */
  get varying(): readonly number[] | null {
    if (this.known === undefined) this.known = this.fit();
    return this.known;
  }

  /**
   * The numbers at sizes; null where the samples do not determine them. A loop over a list: it seldom runs, so nothing
   * inlines what it calls, and caches have forgotten what it reads.
   */
  at(sizes: readonly number[]): readonly number[] | null {
    const { samples } = this;
    if (samples.last !== sizes) samples.at(sizes);
    if (samples.values === null) return null;
    const varying = this.known === undefined ? this.varying : this.known;
    if (varying === null) return null;
    const [first] = this.numbers;
    if (varying.length === 0) return first!;
    if (samples.last !== sizes) samples.at(sizes);
    const { values } = samples;
    const found = first!.slice();
    for (let i = 0; i < varying.length; i += 2) {
      const number = values[varying[i + 1]!]!;
      // NaN.
      if (number !== number) return null;
      found[varying[i]!] = number;
    }
    return found;
  }

  private fit(): readonly number[] | null {
    const { samples, numbers } = this;
    if (!numbers.flat().every(Number.isSafeInteger)) return null;
    const [first] = numbers;
    // Most numbers never change, or are those of others.
    const columns = new Map<string, number[]>();
    first!.forEach((_, at) => {
      if (this.isFixed(at)) return;
      const key = numbers.map((sample) => sample[at]!).join();
      const places = columns.get(key);
      if (places === undefined) columns.set(key, [at]);
      else places.push(at);
    });
    const all = [...columns.values()];
    const found = interpolate(
      samples.list.map((sizes) => samples.at(sizes)!),
      numbers.map((sample) => all.map(([at]) => sample[at!]!)),
    );
    if (found === null) return null;
    const curved = found.findIndex(({ terms }) =>
      terms.some((term, k) => k % 2 === 0 && samples.products[term]!.degree > 1),
    );
    this.linear = all[curved]?.[0] ?? Infinity;
    return found.flatMap((polynomial, i) => {
      const value = samples.valueOf(polynomial);
      return all[i]!.flatMap((place) => [place, value]);
    });
  }
}
