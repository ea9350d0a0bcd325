/**
 * @file In which order samples are read.
 */
import { randperm } from '@tessera/tensor';
import { philoxUniform } from '@tessera/tensor/internal';

/** Sample numbers of one epoch; called once per epoch, counted from 0. */
export type Sampler = (epoch: number) => Iterable<number>;

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
