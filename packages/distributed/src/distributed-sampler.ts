/**
 * @file `distributedSampler`: each rank's share of the samples of an epoch.
 */
import { TesseraError } from '@tessera/shared';
import { randomSampler, type Sampler } from '@tessera/nn';
import { groupNamed } from './process-group.js';

/** Options of `distributedSampler`. */
export interface DistributedSamplerOptions {
  /** Which of `size` shares this is; by default those of the default group. */
  readonly rank?: number;
  readonly size?: number;
  /** A new order every epoch, the same on all ranks (default true). */
  readonly shuffle?: boolean;
  /** Decides the orders; the same on all ranks (default 0). */
  readonly seed?: number;
  /** Leaves out samples that do not divide by the ranks, instead of giving the first ones twice (default false). */
  readonly dropLast?: boolean;
}

/**
 * Every rank gets every `size`-th sample of one order: together each sample once, except for those that make the
 * shares equally long.
 *
 * @throws invalid-argument, distributed-unavailable where rank or size follow from a group that is not there
 * @example new DataLoader(digits, { batchSize: 32, sampler: distributedSampler(digits.length) });
 * @see torch.utils.data.DistributedSampler
 */
export function distributedSampler(
  length: number,
  options: DistributedSamplerOptions = {},
): Sampler {
  if (!Number.isInteger(length) || length < 0)
    throw new TesseraError(
      'invalid-argument',
      `distributedSampler: the number of samples is ${String(length)}.`,
      { hints: ['Pass the length of the dataset.'] },
    );
  const { shuffle = true, seed = 0, dropLast = false } = options;
  const rank = options.rank ?? groupNamed().rank;
  const size = options.size ?? groupNamed().size;
  if (!Number.isInteger(rank) || rank < 0 || rank >= size)
    throw new TesseraError(
      'invalid-argument',
      `distributedSampler: rank ${rank} is none of ${size}.`,
      {
        hints: ['Ranks count from 0.'],
      },
    );
  const share = dropLast ? Math.floor(length / size) : Math.ceil(length / size);
  const order = shuffle ? randomSampler(length, seed) : null;
  return (epoch) => {
    const all = order === null ? Array.from({ length }, (_, i) => i) : [...order(epoch)];
    return length === 0
      ? []
      : Array.from({ length: share }, (_, i) => all[(i * size + rank) % length]!);
  };
}
