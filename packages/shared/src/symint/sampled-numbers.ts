/**
 * @file `SampledNumbers`: numbers that a program computes from sizes, known where samples determine them.
 */
import { type SizeFunction, compileSize } from './compile-size.js';
import { type FitTerm, SizeFitter } from './fit-size.js';
import { ShapeEnv } from './shape-env.js';
import { SizeSamples, isDetermined } from './size-samples.js';
import type { SymInt } from './sym-int.js';

/** See the file header. Sizes are numbers of symbols and their values, in turns. */
export class SampledNumbers {
  private readonly samples = new SizeSamples();
  private readonly numbers: (readonly number[])[] = [];
  /** Undefined until it is asked for, null if it is not known. */
  private known: readonly (number | SizeFunction)[] | null | undefined = null;

  /** Notes what the numbers were at sizes. */
  add(sizes: readonly number[], numbers: readonly number[]): void {
    if (this.samples.determine(sizes)) {
      // What is known already needs no more samples; one that contradicts it leaves nothing that fits all.
      const known = this.at(sizes);
      if (known?.every((number, i) => numberAt(number, sizes) === numbers[i]) !== false) return;
    }
    if (!this.samples.add(sizes)) return;
    this.numbers.push(numbers);
    this.known = undefined;
  }

  /** The numbers, or functions of the sizes that they are; null where the samples do not determine them. */
  at(sizes: readonly number[]): readonly (number | SizeFunction)[] | null {
    if (!this.samples.determine(sizes)) return null;
    if (this.known === undefined) this.known = this.fit();
    return this.known;
  }

  private fit(): readonly (number | SizeFunction)[] | null {
    const { list } = this.samples;
    const env = new ShapeEnv({ duckShape: false, specializeZeroOne: false });
    const places = new Map<SymInt, number>();
    const terms: FitTerm[] = [];
    for (let at = 1; at < list[0]!.length; at += 2) {
      const size = env.createSymbol(list[0]![at]!, {
        source: `${at}`,
        min: Number.MIN_SAFE_INTEGER,
      }) as SymInt;
      places.set(size, at);
      terms.push({ size, at: list.map((sizes) => sizes[at]!) });
    }
    const fitter = new SizeFitter(terms);
    const found: (number | SizeFunction)[] = [];
    for (const at of this.numbers[0]!.keys()) {
      const size = fitter.fit(this.numbers.map((numbers) => numbers[at]!));
      if (size === null || !isDetermined(size)) return null;
      found.push(
        typeof size === 'number' ? size : compileSize(size, (symbol) => places.get(symbol)!),
      );
    }
    return found;
  }
}

function numberAt(number: number | SizeFunction, sizes: readonly number[]): number {
  return typeof number === 'number' ? number : number(sizes);
}
