/**
 * @file `SampledNumbers`: numbers that a program computes from sizes, known where samples determine them.
 */
import { type Combination, interpolate, valueOf } from './interpolate.js';
import { SizeSamples } from './size-samples.js';

/** See the file header. Sizes are numbers of symbols and their values, in turns. */
export class SampledNumbers {
  private readonly samples = new SizeSamples();
  private readonly numbers: (readonly number[])[] = [];
  /** Undefined until it is asked for, null if no polynomials have the numbers of all samples. */
  private known: readonly Combination[] | null | undefined;

  /** Notes what the numbers were at sizes. */
  add(sizes: readonly number[], numbers: readonly number[]): void {
    // What is known already needs no more samples; one that contradicts it leaves nothing that fits all.
    if (this.known === null) return;
    if (this.at(sizes)?.every((number, i) => number === numbers[i]) === true) return;
    if (!this.samples.add(sizes)) return;
    this.numbers.push(numbers);
    this.known = undefined;
  }

  /** Whether a number was the same in all samples. */
  isFixed(at: number): boolean {
    return this.numbers.every((numbers) => numbers[at] === this.numbers[0]![at]);
  }

  /** The numbers at sizes; null where the samples do not determine them. */
  at(sizes: readonly number[]): readonly number[] | null {
    if (!this.samples.determine(sizes)) return null;
    if (this.known === undefined) this.known = this.fit();
    if (this.known === null) return null;
    const products = this.samples.products(sizes);
    const found: number[] = [];
    for (const combination of this.known) {
      const number = valueOf(combination, products);
      // A quotient that came out even in all samples does not here.
      if (!Number.isInteger(number)) return null;
      found.push(number);
    }
    return found;
  }

  private fit(): readonly Combination[] | null {
    const { list } = this.samples;
    // Most numbers never change, or are those of others.
    const columns = new Map<string, number>();
    const places = this.numbers[0]!.map((_, at) => {
      const key = this.numbers.map((numbers) => numbers[at]!).join();
      if (!columns.has(key)) columns.set(key, at);
      return [...columns.keys()].indexOf(key);
    });
    if (!this.numbers.flat().every(Number.isSafeInteger)) return null;
    const found = interpolate(
      list.map((sizes) => this.samples.products(sizes)),
      this.numbers.map((numbers) => [...columns.values()].map((at) => numbers[at]!)),
    );
    return found && places.map((place) => found[place]!);
  }
}
