/**
 * @file `SampledResults`: the results of a step at sizes that were not met, where samples determine their numbers.
 *
 * Results that exist already are as they were: nothing is asked of their numbers.
 */
import { SampledNumbers, type SizeSamples } from '@tessera/shared';
import type { OutSpec } from '../trace/step.js';

/** What a step makes. */
export type Results = readonly (OutSpec | null)[];

/** A result with numbers that vary. */
interface VaryingResult {
  readonly position: number;
  readonly spec: OutSpec;
  /** Dimensions of which the size varies, and the stride, and which of the samples' `values` that is, in turns. */
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  /** Which of the values its offset is; -1 where it does not vary. */
  readonly offset: number;
}

/** See the file header. */
export class SampledResults {
  private readonly numbers: SampledNumbers;
  /** Those of which something varies, null if no polynomials do as they did; undefined until they are found. */
  private varying: readonly VaryingResult[] | null | undefined;

  /**
   * @param example of one sample; those of others differ in numbers
   * @param samples none; see `SampledNumbers`
   */
  constructor(
    private readonly example: Results,
    samples?: SizeSamples,
  ) {
    this.numbers = new SampledNumbers(samples);
  }

  /** Notes what the results were at sizes. */
  add(sizes: readonly number[], outs: Results): void {
    if (this.numbers.add(sizes, numbersOf(outs))) this.varying = undefined;
  }

  /**
   * What they are at sizes: the example where nothing of them varies. Null if it is not known, or if a size that varies
   * is below 2, which is another case. One function: it seldom runs, so nothing inlines what it calls.
   */
  at(sizes: readonly number[]): Results | null {
    const { samples } = this.numbers;
    if (samples.last !== sizes) samples.at(sizes);
    if (samples.values === null) return null;
    if (this.varying === undefined) this.varying = this.find();
    const { varying, example } = this;
    if (varying === null || varying.length === 0) return varying && example;
    // What was found may be values that were not computed yet.
    if (samples.last !== sizes) samples.at(sizes);
    const { values } = samples;
    const outs = example.slice();
    for (let r = 0; r < varying.length; r++) {
      const { position, spec, sizes, strides, offset } = varying[r]!;
      const at = offset < 0 ? spec.offset : values[offset]!;
      // NaN: no number.
      if (at !== at) return null;
      const shape = sizes.length === 0 ? spec.sizes : spec.sizes.slice();
      for (let k = 0; k < sizes.length; k += 2) {
        const size = values[sizes[k + 1]!]!;
        if (!(size >= 2)) return null;
        (shape as number[])[sizes[k]!] = size;
      }
      const steps = strides.length === 0 ? spec.strides : spec.strides.slice();
      for (let k = 0; k < strides.length; k += 2) {
        const stride = values[strides[k + 1]!]!;
        if (stride !== stride) return null;
        (steps as number[])[strides[k]!] = stride;
      }
      // Every field by name: copies of objects are slow where they are seldom made.
      outs[position] = {
        slot: spec.slot,
        same: spec.same,
        dtype: spec.dtype,
        device: spec.device,
        sizes: shape,
        strides: steps,
        offset: at,
        requiresGrad: spec.requiresGrad,
      };
    }
    return outs;
  }

  private find(): readonly VaryingResult[] | null {
    const { varying } = this.numbers;
    if (varying === null) return null;
    const values = new Map<number, number>();
    for (let i = 0; i < varying.length; i += 2) values.set(varying[i]!, varying[i + 1]!);
    let next = 0;
    const take = (count: number): number[] => {
      const from = next;
      next += count;
      return Array.from({ length: count }, (_, d) => d).flatMap((d) => {
        const value = values.get(from + d);
        return value === undefined ? [] : [d, value];
      });
    };
    return this.example.flatMap((spec, position) => {
      if (spec === null || spec.same) return [];
      const [sizes, strides] = [take(spec.sizes.length), take(spec.sizes.length)];
      const [, offset = -1] = take(1);
      const varies = sizes.length > 0 || strides.length > 0 || offset >= 0;
      return varies ? [{ position, spec, sizes, strides, offset }] : [];
    });
  }
}

function numbersOf(outs: Results): number[] {
  return outs.flatMap((spec) =>
    spec === null || spec.same ? [] : [...spec.sizes, ...spec.strides, spec.offset],
  );
}
