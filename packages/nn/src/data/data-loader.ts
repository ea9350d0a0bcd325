/**
 * @file `DataLoader`: batches of a dataset, in order or shuffled, decoded ahead of time.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Collated, defaultCollate } from './collate.js';
import type { Dataset, IterableDataset } from './dataset.js';
import { type Sampler, randomSampler, sequentialSampler } from './sampler.js';
import { WorkerPool, type WorkerOptions, checkWorkers } from './worker-pool.js';

/** Options of `DataLoader`. */
export interface DataLoaderOptions<T, B> {
  /** Samples per batch (default 1). */
  readonly batchSize?: number;
  /** A new order every epoch (default false). */
  readonly shuffle?: boolean;
  /** Makes the orders repeatable by themselves; otherwise they follow `manualSeed`. */
  readonly seed?: number;
  /** The order, instead of `shuffle`. */
  readonly sampler?: Sampler;
  /** Leaves out a last batch that is not full (default false). */
  readonly dropLast?: boolean;
  /** Makes a batch of samples (default `defaultCollate`). */
  readonly collate?: (samples: readonly T[]) => B;
  /** Threads that decode samples before they are batched. */
  readonly workers?: WorkerOptions;
  /** Batches made ahead of the one in use when iterating asynchronously (default 2). */
  readonly prefetch?: number;
}

const DATA_LOADER: OptionNames<DataLoaderOptions<unknown, unknown>> = {
  batchSize: true,
  shuffle: true,
  seed: true,
  sampler: true,
  dropLast: true,
  collate: true,
  workers: true,
  prefetch: true,
};

function refuse(message: string, hint: string): never {
  throw new TesseraError('invalid-argument', `DataLoader: ${message}.`, { hints: [hint] });
}

function isIndexed<T>(dataset: Dataset<T> | IterableDataset<T>): dataset is Dataset<T> {
  return 'get' in dataset && typeof dataset.get === 'function' && 'length' in dataset;
}

/**
 * Iterate with `for…of` where samples are there at once, and with `for await…of` where they are loaded,
 * decoded by workers, or come from an async iterable.
 *
 * @example for (const [x, y] of new DataLoader(new TensorDataset(images, labels), { batchSize: 32, shuffle: true })) step(x, y);
 * @see torch.utils.data.DataLoader
 */
export class DataLoader<T, B = Collated<T>> {
  /** Epochs begun so far; set it to resume with the order of a later epoch. */
  epoch = 0;
  readonly batchSize: number;
  private readonly sampler: Sampler | null;
  private readonly collate: (samples: readonly T[]) => B;

  /** @throws invalid-argument */
  constructor(
    readonly dataset: Dataset<T> | IterableDataset<T>,
    private readonly options: DataLoaderOptions<T, B> = {},
  ) {
    checkOptionNames('DataLoader', options, DATA_LOADER);
    if (options.workers !== undefined) checkWorkers(options.workers);
    if (typeof dataset !== 'object' || dataset === null)
      refuse(
        `a dataset is an object, not ${String(dataset)}`,
        'Pass one with get(index) and length, or an iterable.',
      );
    this.batchSize = options.batchSize ?? 1;
    if (!Number.isInteger(this.batchSize) || this.batchSize < 1)
      refuse(
        `batchSize must be a positive whole number, not ${this.batchSize}`,
        'Leave it out for 1.',
      );
    const { shuffle = false, sampler } = options;
    if (shuffle && sampler !== undefined)
      refuse('both shuffle and a sampler were given', 'The sampler decides the order.');
    if (isIndexed(dataset)) {
      this.sampler =
        sampler ??
        (shuffle
          ? randomSampler(dataset.length, options.seed ?? null)
          : sequentialSampler(dataset.length));
    } else {
      if (shuffle || sampler !== undefined)
        refuse('an iterable dataset has an order of its own', 'Shuffle what it iterates over.');
      this.sampler = null;
    }
    this.collate = options.collate ?? (defaultCollate as (samples: readonly T[]) => B);
  }

  /** Batches per epoch. @throws invalid-argument for an iterable dataset */
  get length(): number {
    if (!isIndexed(this.dataset))
      refuse('an iterable dataset has no length', 'Count the batches while iterating.');
    const samples = this.sampler?.numSamples ?? this.dataset.length;
    const batches = samples / this.batchSize;
    return this.options.dropLast === true ? Math.floor(batches) : Math.ceil(batches);
  }

  /** Sample numbers of the next epoch, batch by batch. */
  private *indexBatches(): Generator<number[]> {
    let batch: number[] = [];
    for (const index of this.sampler!(this.epoch++)) {
      batch.push(Number(index));
      if (batch.length < this.batchSize) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0 && this.options.dropLast !== true) yield batch;
  }

  /** Batches of an epoch. @throws invalid-argument if samples are not there at once */
  *[Symbol.iterator](): Generator<B, void, undefined> {
    if (this.options.workers !== undefined) this.needsAwait('samples are decoded by workers');
    const { dataset } = this;
    if (isIndexed(dataset)) {
      for (const indices of this.indexBatches())
        yield this.collate(indices.map((index) => this.now(dataset, index)));
      return;
    }
    if (!(Symbol.iterator in this.dataset)) this.needsAwait('the dataset is an async iterable');
    let samples: T[] = [];
    for (const sample of this.dataset) {
      samples.push(sample);
      if (samples.length < this.batchSize) continue;
      yield this.collate(samples);
      samples = [];
    }
    if (samples.length > 0 && this.options.dropLast !== true) yield this.collate(samples);
  }

  private now(dataset: Dataset<T>, index: number): T {
    const sample = dataset.get(index);
    if (sample instanceof Promise) {
      // Nobody will wait for it.
      sample.catch(() => {});
      this.needsAwait('the dataset loads samples asynchronously');
    }
    return sample;
  }

  private needsAwait(why: string): never {
    refuse(why, 'Iterate with for await (const batch of loader).');
  }

  /** Batches of an epoch, a few of them made ahead. */
  async *[Symbol.asyncIterator](): AsyncGenerator<B, void, undefined> {
    const { workers, prefetch = 2 } = this.options;
    const pool = workers === undefined ? null : new WorkerPool(workers);
    const decode = async (sample: T | Promise<T>): Promise<T> =>
      pool === null ? sample : ((await pool.run(await sample)) as T);
    const pending: Promise<T[]>[] = [];
    try {
      for await (const { samples } of this.sampleBatches(decode)) {
        // Failures are met when the batch's turn comes.
        samples.catch(() => {});
        pending.push(samples);
        if (pending.length > prefetch) yield this.collate(await pending.shift()!);
      }
      while (pending.length > 0) yield this.collate(await pending.shift()!);
    } finally {
      pool?.stop();
    }
  }

  /** Batches whose samples are on their way; in a box, because a generator awaits what it yields. */
  private async *sampleBatches(
    decode: (sample: T | Promise<T>) => Promise<T>,
  ): AsyncGenerator<{ readonly samples: Promise<T[]> }> {
    if (isIndexed(this.dataset)) {
      const { dataset } = this;
      for (const indices of this.indexBatches())
        yield { samples: Promise.all(indices.map((index) => decode(dataset.get(index)))) };
      return;
    }
    let samples: Promise<T>[] = [];
    for await (const sample of this.dataset) {
      samples.push(decode(sample));
      if (samples.length < this.batchSize) continue;
      yield { samples: Promise.all(samples) };
      samples = [];
    }
    if (samples.length > 0 && this.options.dropLast !== true)
      yield { samples: Promise.all(samples) };
  }
}
