/**
 * @file Datasets: samples by number, or one after another.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import { randomSampler } from './sampler.js';

/** Samples by number. */
export interface Dataset<T> {
  readonly length: number;
  /** Sample `index`, from 0. */
  get(index: number): T | Promise<T>;
}

/** Samples one after another, as they come. */
export type IterableDataset<T> = Iterable<T> | AsyncIterable<T>;

/** A row of each of some tensors. */
type Rows<T extends readonly Tensor[]> = { -readonly [K in keyof T]: Tensor };

/** Rows of tensors: sample `i` is `[a[i], b[i], …]`. @see torch.utils.data.TensorDataset */
export class TensorDataset<T extends readonly Tensor[] = readonly Tensor[]> implements Dataset<
  Rows<T>
> {
  readonly length: number;
  readonly tensors: T;

  /** @throws shape-mismatch unless all have the same first size; invalid-argument for what is no tensor */
  constructor(...tensors: T) {
    if (!tensors.every(isTensor))
      throw new TesseraError('invalid-argument', 'TensorDataset: samples are rows of tensors.', {
        hints: ['Write new TensorDataset(inputs, targets), without brackets.'],
      });
    const length = tensors[0]?.shape[0];
    if (length === undefined || tensors.some((tensor) => tensor.shape[0] !== length)) {
      throw new TesseraError(
        'shape-mismatch',
        `Size mismatch between tensors: ${tensors.map((tensor) => `[${tensor.shape.join(', ')}]`).join(', ') || 'none given'}.`,
        { hints: ['The first size of every tensor is the number of samples.'] },
      );
    }
    this.tensors = tensors;
    this.length = length;
  }

  get(index: number): Rows<T>;
  get(index: number): Tensor[] {
    return this.tensors.map((tensor) => tensor.select(0, index));
  }
}

/** Some samples of a dataset. @see torch.utils.data.Subset @throws invalid-argument without a list of indices */
export class Subset<T> implements Dataset<T> {
  constructor(
    readonly dataset: Dataset<T>,
    readonly indices: readonly number[],
  ) {
    if (!isDataset(dataset) || !Array.isArray(indices))
      throw new TesseraError(
        'invalid-argument',
        'Subset: a dataset and a list of indices expected.',
        {
          hints: ['Write new Subset(dataset, [0, 2, 4]).'],
        },
      );
  }

  get length(): number {
    return this.indices.length;
  }

  get(index: number): T | Promise<T> {
    return this.dataset.get(this.indices[index]!);
  }
}

function isDataset(value: unknown): value is Dataset<unknown> {
  return typeof (value as Dataset<unknown> | null | undefined)?.get === 'function';
}

/** Datasets one behind the other. @see torch.utils.data.ConcatDataset */
export class ConcatDataset<T> implements Dataset<T> {
  /** Where each of them ends. */
  private readonly ends: readonly number[];

  /** @throws invalid-argument unless it is given a list of datasets */
  constructor(readonly datasets: readonly Dataset<T>[]) {
    if (!Array.isArray(datasets) || datasets.length === 0 || !datasets.every(isDataset))
      throw new TesseraError('invalid-argument', 'ConcatDataset: a list of datasets expected.', {
        hints: ['Write new ConcatDataset([first, second]).'],
      });
    let end = 0;
    this.ends = datasets.map(({ length }) => (end += length));
  }

  get length(): number {
    return this.ends.at(-1)!;
  }

  get(index: number): T | Promise<T> {
    const which = this.ends.findIndex((end) => index < end);
    const dataset = this.datasets[which]!;
    return dataset.get(index - (this.ends[which]! - dataset.length));
  }
}

/**
 * Divides a dataset by chance into parts of some lengths, or of shares of it that add up to 1. With a seed the parts are the
 * same in every run; without, they follow `manualSeed`.
 *
 * @example const [train, valid] = randomSplit(dataset, [0.9, 0.1], { seed: 0 });
 * @throws invalid-argument unless the lengths add up to that of the dataset
 * @see torch.utils.data.random_split
 */
export function randomSplit<T, const L extends readonly number[]>(
  dataset: Dataset<T>,
  lengths: L,
  options?: { readonly seed?: number },
): { -readonly [K in keyof L]: Subset<T> };
export function randomSplit<T>(
  dataset: Dataset<T>,
  lengths: readonly number[],
  options: { readonly seed?: number } = {},
): Subset<T>[] {
  checkOptionNames('randomSplit', options, SPLIT);
  if (!Array.isArray(lengths) || typeof dataset?.length !== 'number')
    throw new TesseraError('invalid-argument', 'randomSplit takes a dataset and a list of lengths.', {
      hints: ['Write randomSplit(data, [0.8, 0.2]).'],
    });
  const { length } = dataset;
  const sizes = sum(lengths) === 1 ? sharesOf(length, lengths) : [...lengths];
  if (sum(sizes) !== length || !sizes.every((size) => Number.isInteger(size) && size >= 0))
    throw new TesseraError(
      'invalid-argument',
      `randomSplit: Sum of input lengths does not equal the length of the input dataset! Got [${lengths.join(', ')}] for ${length} samples.`,
      { hints: ['Give whole numbers that add up to its length, or shares that add up to 1.'] },
    );
  const order = Array.from(randomSampler(length, options.seed ?? null)(0), Number);
  let from = 0;
  return sizes.map((size) => new Subset(dataset, order.slice(from, (from += size))));
}

const SPLIT: OptionNames<{ seed?: number }> = { seed: true };

function sum(numbers: readonly number[]): number {
  // Shares such as 0.7, 0.2 and 0.1 do not add up exactly.
  return Number(numbers.reduce((total, each) => total + each, 0).toFixed(9));
}

/** Whole numbers of samples; those that are left over go to the first parts, one to each. */
function sharesOf(length: number, shares: readonly number[]): number[] {
  const sizes = shares.map((share) => Math.floor(length * share));
  const left = length - sum(sizes);
  return sizes.map(
    (size, i) => size + Math.floor(left / sizes.length) + (i < left % sizes.length ? 1 : 0),
  );
}
