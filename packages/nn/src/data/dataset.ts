/**
 * @file Datasets: samples by number, or one after another.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';

/** Samples by number. */
export interface Dataset<T> {
  readonly length: number;
  /** Sample `index`, from 0. */
  get(index: number): T | Promise<T>;
}

/** Samples one after another, as they come. */
export type IterableDataset<T> = Iterable<T> | AsyncIterable<T>;

/** Rows of tensors: sample `i` is `[a[i], b[i], …]`. @see torch.utils.data.TensorDataset */
export class TensorDataset implements Dataset<Tensor[]> {
  readonly length: number;
  readonly tensors: readonly Tensor[];

  /** @throws shape-mismatch unless all have the same first size; invalid-argument for what is no tensor */
  constructor(...tensors: readonly Tensor[]) {
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

  get(index: number): Tensor[] {
    return this.tensors.map((tensor) => tensor.select(0, index));
  }
}

/** Some samples of a dataset. @see torch.utils.data.Subset */
export class Subset<T> implements Dataset<T> {
  constructor(
    readonly dataset: Dataset<T>,
    readonly indices: readonly number[],
  ) {
    if (typeof dataset?.get !== 'function' || !Array.isArray(indices))
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
