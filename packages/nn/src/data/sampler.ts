/**
 * @file In which order samples are read.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { multinomial, randperm, tensor } from '@tessera/tensor';
import { philoxUniform } from '@tessera/tensor/internal';
import { checkList } from '../module/check-child.js';

/** Sample numbers of one epoch; called once per epoch, counted from 0. */
export interface Sampler {
  (epoch: number): Iterable<number>;
  /** How many it gives, where those are not all samples of the dataset once. */
  readonly numSamples?: number;
}

/** 0, 1, 2, … */
export function sequentialSampler(length: number): Sampler {
  return () => Array.from({ length }, (_, i) => i);
}

/**
 * Every sample once, shuffled. With a seed, an epoch's order follows from seed and epoch alone; without,
 * from the global generator (`manualSeed`).
 */
export function randomSampler(length: number, seed: number | null): Sampler {
  if (seed === null) return () => randperm(length).toTypedArray() as Iterable<number>;
  return (epoch) => {
    const order = Array.from({ length }, (_, i) => i);
    for (let i = length - 1; i > 0; i--) {
      const j = Math.floor(philoxUniform(seed, epoch, i) * (i + 1));
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    return order;
  };
}

/** Options of `weightedRandomSampler`. */
export interface WeightedSamplerOptions {
  /** Whether a sample may come more than once in an epoch (default true). */
  readonly replacement?: boolean;
  /** Makes the draws repeatable by themselves; otherwise they follow `manualSeed`. */
  readonly seed?: number;
}

const WEIGHTED: OptionNames<WeightedSamplerOptions> = { replacement: true, seed: true };

/**
 * Draws `numSamples` samples an epoch, each with a probability that its weight says: rare classes come as often as others.
 *
 * @throws invalid-argument for weights that are no list of numbers from 0 on with a positive sum, and where more samples are
 *   wanted without replacement than have weights above 0
 * @see torch.utils.data.WeightedRandomSampler
 */
export function weightedRandomSampler(
  weights: ArrayLike<number>,
  numSamples: number,
  options: WeightedSamplerOptions = {},
): Sampler {
  checkOptionNames('weightedRandomSampler', options, WEIGHTED);
  checkList('weightedRandomSampler', weights, '[1, 2], 2');
  const { replacement = true, seed } = options;
  const given = Float64Array.from(weights);
  const drawable = given.filter((weight) => weight > 0).length;
  if (drawable === 0 || !given.every((weight) => weight >= 0 && weight < Infinity))
    throw new TesseraError(
      'invalid-argument',
      'weightedRandomSampler: weights are finite numbers from 0 on, some of them above it.',
      { hints: ['One weight per sample of the dataset, e.g. one over the size of its class.'] },
    );
  const most = replacement ? Infinity : drawable;
  if (!Number.isInteger(numSamples) || numSamples < 1 || numSamples > most)
    throw new TesseraError(
      'invalid-argument',
      `weightedRandomSampler: numSamples must be a whole number from 1${replacement ? '' : ` to ${drawable}, the weights above 0`}, not ${numSamples}.`,
      { hints: ['With replacement any number of samples can be drawn.'] },
    );
  const draw =
    seed === undefined
      ? () =>
          multinomial(tensor(given), numSamples, { replacement }).toTypedArray() as Iterable<number>
      : (epoch: number) =>
          drawn(given, numSamples, replacement, (i) => philoxUniform(seed, epoch, i));
  return Object.assign(draw, { numSamples });
}

/** Numbers drawn by weights, from uniform numbers in (0, 1]. */
function drawn(
  weights: Float64Array,
  count: number,
  replacement: boolean,
  uniform: (i: number) => number,
): number[] {
  if (!replacement) {
    // The first of races whose times are exponential with the weights as rates come in such an order.
    const times = weights.map((weight, i) => -Math.log(1 - uniform(i)) / weight);
    const order = Array.from(weights, (_, i) => i).filter((i) => weights[i]! > 0);
    return order.sort((a, b) => times[a]! - times[b]!).slice(0, count);
  }
  let total = 0;
  const sums = weights.map((weight) => (total += weight));
  return Array.from({ length: count }, (_, i) => {
    const at = uniform(i) * total;
    let [low, high] = [0, sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! > at) high = middle;
      else low = middle + 1;
    }
    return low;
  });
}
